"""Whose fault it is that a join cannot complete, and the words for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from petra.net.contexts import Context, Contexts
from petra.net.joins import needed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from petra.net.compile import Compiled

#: A way with more steps than this is shortened in the middle.
STEPS_SHOWN = 7


class Blame(Struct, frozen=True):
    """A join, and the step because of which it waits."""

    join: str
    why: Literal["ended", "elsewhere", "missing", "withdrawn", "few", "unknown"]
    step: str = ""
    words: str = ""

    def sentence(self, line: Callable[[str], int]) -> str:
        """Say why, with the line of the step; line 0 is none."""
        number = line(self.step) if self.step else 0
        at = f" (line {number})" if number else ""
        match self.why:
            case "ended":
                return f"a branch can end at '{self.step}'{at} without reaching it"
            case "elsewhere":
                return f"a branch of the same group waits at '{self.step}'{at}"
            case "missing":
                return f"no token comes from '{self.step}'{at}"
            case "withdrawn":
                return f"'{self.step}'{at} withdraws a branch that it waits for"
            case "few":
                return self.words
            case "unknown":
                return "not all that it waits for can come"


def names(steps: Sequence[str]) -> str:
    """Show a way by its steps."""
    listed = list(steps)
    if len(listed) > STEPS_SHOWN:
        listed = [*listed[:2], "…", *listed[-4:]]
    return " → ".join(listed)


def path_of(compiled: Compiled, firings: Sequence[str]) -> str:
    """Say which steps were through, in order."""
    origins = [compiled.origin[name] for name in firings]
    steps = [
        origin.step if origin.kind == "done" else f"{origin.step} fails"
        for origin in origins
        if origin.kind in ("done", "failed")
    ]
    through = [step for n, step in enumerate(steps) if not n or step != steps[n - 1]]
    return f"after {names(through)} " if through else ""


def blame(compiled: Compiled, firings: Sequence[str], marking: Mapping[str, int]) -> Blame | None:
    """Find the innermost join that waits in a marking at rest, and why."""
    contexts = compiled.contexts
    waiting: list[tuple[int, str, Context]] = []
    for place in marking:
        origin = compiled.origin[place]
        if origin.kind in ("open", "lost"):
            join = _join_of(contexts, compiled, origin.context, marking)
            waiting.append((len(origin.context), join, origin.context))
        elif origin.kind.startswith("ready from"):
            waiting.append((len(origin.context), origin.step, ()))
    if not waiting:
        return None
    _, join, group = max(waiting, key=lambda wait: (bool(not wait[2]), wait[0]))
    if not group:
        return _missing(compiled, join, marking)
    return _short(compiled, join, group, firings, marking)


def _join_of(
    contexts: Contexts, compiled: Compiled, inside: Context, marking: Mapping[str, int]
) -> str:
    """Return the join of a group at which a branch waits, or else its first."""
    joins = contexts.groups[inside].joins
    held = {
        compiled.origin[place].step for place in marking if compiled.origin[place].kind == "ready"
    }
    return next((join for join in joins if join in held), joins[0])


def _missing(compiled: Compiled, join: str, marking: Mapping[str, int]) -> Blame:
    """Name the arc of a Petri join that brought nothing."""
    here = {compiled.origin[place].kind for place in marking if compiled.origin[place].step == join}
    for source, number in compiled.contexts.incoming[join]:
        if f"ready from {source}#{number}" not in here:
            return Blame(join, "missing", source)
    return Blame(join, "unknown")


def _short(
    compiled: Compiled,
    join: str,
    inside: Context,
    firings: Sequence[str],
    marking: Mapping[str, int],
) -> Blame:
    """Say what became of the branch that a group lacks."""
    group = compiled.contexts.groups[inside]
    depth = len(inside)
    for name in reversed(firings):
        origin = compiled.origin[name]
        if origin.ends and origin.context[:depth] == inside:
            return Blame(join, "ended", origin.step)
    for place in marking:
        origin = compiled.origin[place]
        waits = origin.kind.startswith("ready") and origin.context[:depth] == inside
        if waits and origin.step != join:
            return Blame(join, "elsewhere", origin.step)
    for name in reversed(firings):
        resets = compiled.net.transitions[name].resets
        if any(compiled.origin[place].context[:depth] == inside for place in resets):
            return Blame(join, "withdrawn", compiled.origin[name].step)
    spec = compiled.contexts.steps[join].spec.join
    enough = needed(spec, group) if spec is not None else None
    if enough is not None:
        arrived = sum(
            n
            for place, n in marking.items()
            if compiled.origin[place].kind == "ready" and compiled.origin[place].step == join
        )
        most = f"makes {group.slots}" if enough > group.slots else f"made {arrived} that reach it"
        words = f"it needs {enough} branches, and '{group.step}' {most}"
        return Blame(join, "few", group.step, words)
    return Blame(join, "unknown")
