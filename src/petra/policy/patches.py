"""Patches: what a policy sets, applied to what later templates of the same run read (S5, S9, S10).

Rule 1: a ctx key is a plain name; ``a.b`` is the key ``a.b`` and no path.
Rule 2: a write passes through the reducer of its key here as it will on the server; the report carries the
value as written, so that the server reduces it over the ctx of that moment.
Rule 3: a reducer that looks at values looks through references (S18); the others keep them.
Rule 4: inside a loop ``iter.index`` and ``iter.parent`` belong to the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from petra.reduce import ADDING, Reducer, reduce_value
from petra.references import Follow, followed_all, is_spliced, resolved
from petra.wire import Write

KEEPING = frozenset({"last", "first"})
"""Reducers that take a value as it is, whatever it is."""
LOOP_KEYS = frozenset({"index", "parent"})
"""What a loop puts into ``iter`` beside the item."""


def patch_ctx(
    ctx: Mapping[str, Any],
    writes: Iterable[Write],
    reducers: Mapping[str, Reducer],
    follow: Follow | None = None,
) -> dict[str, Any]:
    """Return ctx after these writes, in their order.

    Raises:
        ValueError: a reducer refuses a value; the message names the key.
        NeededError: a reducer looks through references that were not brought.
    """
    patched = dict(ctx)
    for write in writes:
        key = write.key
        reducer = reducers.get(key)
        if reducer is None:
            patched[key] = write.value
            continue
        old, new, present = patched.get(key), write.value, key in patched
        if follow is not None and reducer not in KEEPING:
            if reducer not in ADDING or not is_spliced(old):
                old = _seen(follow, reducer, old)
            new = new if reducer == "append" else _seen(follow, reducer, new)
        try:
            patched[key] = reduce_value(reducer, old, new, present=present)
        except ValueError as error:
            raise ValueError(f"ctx.{key}: {error}") from None
    return patched


def _seen(follow: Follow, reducer: Reducer, value: Any) -> Any:
    """Return a value as a reducer sees it: ``union`` compares what is in it, the others take it as a whole."""
    return resolved(follow, value) if reducer == "union" else followed_all(follow, (value,))[0]


def patch_iter(
    current: Mapping[str, Any], patch: Mapping[str, Any], *, in_loop: bool
) -> dict[str, Any]:
    """Return iter after a patch.

    Raises:
        ValueError: the patch would change what belongs to the loop.
    """
    if in_loop and (taken := sorted(LOOP_KEYS & patch.keys())):
        raise ValueError(f"iter.{taken[0]} belongs to the loop; choose another name")
    return {**current, **patch}
