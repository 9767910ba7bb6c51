"""Small changes of how branches part and meet, one of which may make a net sound: to be tried, by somebody who can prove.

Rule 1: a change touches one word, or adds one key; nothing else of the text moves.
Rule 2: joins come first, in the order of the text: most nets get stuck at one.
"""

from __future__ import annotations

from collections.abc import Iterator

from petra.editor.entry import Entry
from petra.editor.fixes import Edit
from petra.editor.names import Text

_MODES = ("all", "any", "or")
_OTHER = {"exclusive": "inclusive", "inclusive": "exclusive"}


def repairs(text: Text) -> Iterator[Edit]:
    """Yield the changes that can be tried, each of the text as it is."""
    for step in text.workflow:
        yield from _of_join(text.text, step)
    for step in text.workflow:
        yield from _of_router(text.text, step)


def _of_join(text: str, step: Entry) -> Iterator[Edit]:
    spec = step.find("spec")
    join = spec.find("join") if spec is not None else None
    if join is None:
        return
    now = join.text("mode") or "all"
    changes = [("mode", mode) for mode in _MODES if mode != now]
    for key, value in [*changes, ("on_unreachable", "proceed")]:
        edit = _set(text, join, key, value, f"the join '{step.text('step')}'")
        if edit is not None and join.text(key) != value:
            yield edit


def _of_router(text: str, step: Entry) -> Iterator[Edit]:
    router = step.find("next")
    arcs = router.find("arcs") if router is not None else None
    if router is None or arcs is None or len(arcs.entries) < 2:
        return
    where = f"the way out of '{step.text('step')}'"
    spec = router.find("spec")
    if spec is None:
        edit = _set(text, router, "spec", "{mode: inclusive}", where)
    else:
        edit = _set(text, spec, "mode", _OTHER.get(spec.text("mode"), "inclusive"), where)
    if edit is not None:
        yield edit


def _set(text: str, entry: Entry, key: str, value: str, where: str) -> Edit | None:
    """Write a value under a key; nothing where something stands there that is more than a word."""
    title = f"{key}: {value} for {where}"
    known = entry.find(key)
    if known is not None:
        if known.style not in ("plain", "quoted"):
            return None
        return Edit(title, known.value_start, known.value_end, value)
    if not entry.entries:
        return None
    first = entry.entries[0].start
    if any(around.style == "flow" for around in entry.ancestors):
        return Edit(title, first, first, f"{key}: {value}, ")
    indent = " " * (first - text.rfind("\n", 0, first) - 1)
    return Edit(title, first, first, f"{key}: {value}\n{indent}")
