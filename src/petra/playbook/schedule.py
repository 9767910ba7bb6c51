"""Schedules: documents that say when a playbook is started (S24). The struct is the grammar, as for playbooks."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from petra.calendar import Rhythm
from petra.kinds import says
from petra.playbook.model import Metadata, Name, Part
from petra.playbook.schema import schema_of
from petra.playbook.write import to_plain
from petra.values import canonical

CATCH_UP_S = 86_400.0
JITTER_MAX_S = 86_400.0
EVERY_MAX_S = 366 * 86_400.0

Overlap = Literal["skip", "queue", "cancel_running", "allow"]


class Schedule(Part, frozen=True, kw_only=True):
    """A schedule: which playbook is started, and when."""

    api_version: Annotated[Literal["petra/v1"], says("The header.")] = field(name="apiVersion")
    kind: Annotated[Literal["Schedule"], says("What the file holds.")]
    metadata: Metadata
    playbook: Annotated[Name, says("The path of the playbook to start, else its name.")]
    version: Annotated[
        str | int | float | None, says("Which version of it; the current one when absent.")
    ] = None
    workload: Annotated[dict[str, Any], says("What it is started with.")] = field(
        default_factory=dict
    )
    cron: Annotated[
        Name | None,
        says("Five fields: minute, hour, day of month, month, day of week; or `@daily`."),
    ] = None
    every_s: Annotated[
        Annotated[float, Meta(ge=1, le=EVERY_MAX_S)] | None,
        says("An interval in seconds, counted from 1970."),
    ] = None
    at: Annotated[Name | list[str] | None, says("A date, or several: `2026-12-24T18:00`.")] = None
    timezone: Annotated[Name, says("By whose clocks.")] = "UTC"
    overlap: Annotated[
        Overlap, says("What happens while the execution started before is still going on.")
    ] = "skip"
    catch_up_s: Annotated[
        Annotated[float, Meta(ge=0)],
        says("How late a time may be started that passed while nobody was there."),
    ] = CATCH_UP_S
    jitter_s: Annotated[
        Annotated[float, Meta(ge=0, le=JITTER_MAX_S)],
        says("Up to so many seconds each start is put off, to spread the load."),
    ] = 0.0
    paused: Annotated[bool, says("Whether it begins paused.")] = False

    @property
    def name(self) -> str:
        """What it is known by."""
        return self.metadata.name

    @property
    def rhythm(self) -> Rhythm:
        """When it is due."""
        at = [self.at] if isinstance(self.at, str) else self.at or []
        return Rhythm(self.cron or "", self.every_s or 0.0, tuple(at), self.timezone)

    @property
    def digest(self) -> str:
        """What tells one text of it from another."""
        return hashlib.sha256(canonical(to_plain(self))).hexdigest()


def schedule_schema() -> dict[str, Any]:
    """Return the JSON Schema of a schedule."""
    return schema_of(Schedule, "Petra schedule")
