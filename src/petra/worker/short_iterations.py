"""Strides: short iterations of a chunk, one after the other, in one go of a thread.

To hand work to a thread and back costs more than most code that runs there. So a chunk whose tasks all hold a
thread (``python``) goes through several iterations before it comes back to the loop.

Rule 1: a stride ends after ``STRIDE_S``, so that other threads, the heart among them, get the interpreter.
Rule 2: what needs the loop (a wait before a try, a reference to load, a large result) ends it too: the loop goes on
with that iteration from where it stands.
Rule 3: a stride decides nothing. Its iterations go through the same machine, and the same scrubber.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from petra.clock import Clock
from petra.errors import UnreadableError
from petra.pipeline import Finished, Machine, NextAttempt
from petra.pipeline.machine import Next
from petra.playbook.origins import WrittenAt
from petra.references import NeededError
from petra.tools.base import Blocking, ToolContext, call
from petra.wire import Iteration, Outcome, Report

STRIDE_S: Final = 0.001
STRIDE_MAX: Final = 64
"""Iterations that a stride goes through at most."""


class Stride(Struct):
    """One go: what has ended, and where it stands."""

    left: deque[Iteration]
    ended: list[tuple[Iteration, Report, int]] = field(default_factory=list)
    at: Iteration | None = None
    machine: Machine | None = None
    move: Next | None = None


class Strider(Struct, frozen=True, kw_only=True):
    """Goes through the iterations of one chunk, in a thread."""

    tools: dict[str, Blocking]
    clock: Clock
    make: Callable[[Iteration], Machine]
    take: Callable[[NextAttempt], NextAttempt]
    """Returns a try with the data that its tool takes by name, if it is at hand."""
    clean: Callable[[Outcome], Outcome]
    scrub: Callable[[str], str]
    part: Callable[[str], tuple[str, str]]
    say: Callable[[NextAttempt, str, str], None]
    """Takes what a task says: the try, the text, the stream; from any thread."""
    written: Mapping[str, Mapping[str, WrittenAt]] = field(default_factory=dict)
    measure: Callable[[Report], int | None]
    """Returns the size of a report that may leave as it is, None of one that the loop must see to."""
    goes_on: Callable[[Report], bool]
    """Takes what an iteration came to; False: nothing more may start."""
    stopped: Callable[[], bool]

    def go(self, stride: Stride) -> None:
        """Go on until the time is up, nothing is left, or something needs the loop."""
        until = self.clock.monotonic() + STRIDE_S
        while stride.left and not self.stopped():
            stride.at = stride.left.popleft()
            stride.machine = self.make(stride.at)
            stride.move = self._drive(stride.machine, until)
            if not isinstance(stride.move, Finished):
                return
            report = stride.move.report
            size = self.measure(report)
            if size is None:
                return
            stride.ended.append((stride.at, report, size))
            stride.at = stride.machine = stride.move = None
            if not self.goes_on(report) or self.clock.monotonic() >= until:
                return

    def _drive(self, machine: Machine, until: float) -> Next:
        """Make one try after the other; one that has to wait, or comes when the time is up, is the loop's."""
        move, tried = machine.start(), False
        while isinstance(move, NextAttempt) and move.after_s <= 0:
            tool = self.tools[move.task.kind]
            late = tried and self.clock.monotonic() >= until
            if late or self.stopped() or not tool.blocks(move.spec):
                break
            try:
                move = self.take(move)
            except (NeededError, UnreadableError):
                break
            tried = True
            began = self.clock.monotonic()
            outcome = self.clean(call(tool, move.fields, self._context(move)))
            move = machine.advance(outcome, (self.clock.monotonic() - began) * 1000)
        return move

    def _context(self, run: NextAttempt) -> ToolContext:
        return ToolContext(
            args=run.args, scope=run.scope, spec=run.spec, scrub=self.scrub, part=self.part,
            log=lambda text, stream="log": self.say(run, text, stream),
            written=self.written.get(run.task.name, {}), cause=run.cause,
        )  # fmt: skip


def tools_of(tools: object, kinds: Sequence[str]) -> dict[str, Blocking] | None:
    """Return the tools of a pipeline by kind, if every one of them holds a thread; None if one does not."""
    ask = getattr(tools, "blocking", None)
    if ask is None:
        return None
    blocking: dict[str, Blocking] = {}
    for kind in kinds:
        tool = ask(kind)
        if tool is None:
            return None
        blocking[kind] = tool
    return blocking or None
