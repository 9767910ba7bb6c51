"""Resources of a server: documents that say how much there is of something that executions share (S15).

The struct is the grammar, as for playbooks. The resource ``executions`` is taken by every execution of its namespace that is
no sub-playbook: it is the quota of the namespace.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, field

from petra.kinds import says
from petra.playbook.concurrency import LIMIT_MAX
from petra.playbook.model import Metadata, Part
from petra.playbook.write import to_plain
from petra.values import canonical

RATE_MAX: Final = 1_000
PER_MAX_S: Final = 31 * 86_400.0


class Rate(Part, frozen=True):
    """How often something may be begun."""

    count: Annotated[int, Meta(ge=1, le=RATE_MAX, description="So many units begin …")]
    per_s: Annotated[float, Meta(gt=0, le=PER_MAX_S, description="… in so many seconds.")]


class SharedResource(Part, frozen=True, kw_only=True):
    """A resource of a server: how many units of it there are, and how often some may be taken."""

    api_version: Annotated[Literal["petra/v1"], says("The header.")] = field(name="apiVersion")
    kind: Annotated[Literal["Resource"], says("What the file holds.")]
    metadata: Metadata
    units: Annotated[
        Annotated[int, Meta(ge=0, le=LIMIT_MAX)] | None,
        says("How many at once, for each key; 0: nobody for now."),
    ] = None
    rate: Annotated[Rate | None, says("How many in a time, for each key.")] = None

    @property
    def name(self) -> str:
        """What it is known by."""
        return self.metadata.name

    @property
    def digest(self) -> str:
        """What tells one text of it from another."""
        return hashlib.sha256(canonical(to_plain(self))).hexdigest()


def resource_schema() -> dict[str, Any]:
    """Return the JSON Schema of a resource."""
    from petra.playbook.schema import schema_of  # noqa: PLC0415 - only for whoever asks

    return schema_of(SharedResource, "Petra resource")
