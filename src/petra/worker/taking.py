"""What a tool takes from args and scope beside its fields, with large values in place of their references (S18).

The fields of a tool are rendered, so they are data. What it finds by name, as ``python`` does, is looked through here,
before it runs: a tool never sees a reference that nobody asked for with ``ref(x)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from petra.pipeline import NextAttempt
from petra.references import Follow, references_in, resolved


def taken(run: NextAttempt, names: frozenset[str] | None) -> NextAttempt:
    """Return a try with the data under these names in its args and its scope; None: under all of them.

    Raises:
        NeededError: some of it was not brought.
        UnreadableError: some of it cannot be had.
    """
    if run.follow is None or takes_nothing(run, names):
        return run
    args = _whole(run.follow, run.args, None if names is None or "args" in names else names)
    scope = _whole(run.follow, run.scope, names, but="args")
    if args is run.args and scope is run.scope:
        return run
    return structs.replace(run, args=args, scope={**scope, "args": args})


def takes_nothing(run: NextAttempt, names: frozenset[str] | None) -> bool:
    """Tell at a glance that a tool finds nothing under these names."""
    return names is not None and names.isdisjoint(run.scope) and names.isdisjoint(run.args)


def _whole(
    follow: Follow, values: dict[str, Any], names: frozenset[str] | None, but: str | None = None
) -> dict[str, Any]:
    wanted = values.keys() if names is None else names & values.keys()
    large = [name for name in wanted if name != but and _is_large(values[name])]
    if not large:
        return values
    filled: Mapping[str, Any] = resolved(follow, {name: values[name] for name in large})
    return {**values, **filled}


def _is_large(value: Any) -> bool:
    return type(value) in (dict, list) and references_in(value)[0]
