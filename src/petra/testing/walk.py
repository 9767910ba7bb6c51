"""A walk through a playbook: the real kernel in virtual time, with outcomes that somebody chooses.

Rule 1: no tool runs, and no sub-playbook: each comes to an outcome that is chosen, by dice or by a person.
Rule 2: every record of the log is shown with the marking it leads to; firings are counted.
Rule 3: the same playbook, workload and choices give the same walk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from petra.kernel import Record, State, evolve
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel import events as e
from petra.kernel.decide import Decision
from petra.kernel.explain import explain
from petra.kernel.human import ANY_ROLE, actions_of
from petra.kernel.state import Chunk, StepRun
from petra.kernel.waiting import Awaited, WorkItem
from petra.library import Gathered
from petra.pipeline import NextAttempt
from petra.playbook import Playbook
from petra.testing.guess import Dice, Guess, fill
from petra.testing.scripts import Scripted, ScriptError, Scripts
from petra.testing.simulation import EPOCH, TIMER, WORK, Execution, Simulation
from petra.testing.story import event_in_words, value
from petra.wire import Error, Outcome

ASK = TIMER + 1
"""At one moment, people are asked after everything else has happened."""
HOUR_S = 3600.0
_KINDS = ("connection", "timeout", "rate_limit", "not_found", "server_error")


@dataclass(frozen=True, slots=True)
class Sight:
    """One record of the walk: what happened, and the marking afterwards. ``firing`` is 0 for no firing."""

    firing: int
    at_s: float
    words: str
    ready: dict[str, int]
    running: dict[str, int]
    ctx: dict[str, Any]
    waits: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """Return it for a program."""
        return {
            "firing": self.firing or None,
            "at_s": self.at_s,
            "event": self.words,
            "ready": self.ready,
            "running": self.running,
            "ctx": self.ctx,
            "waits": self.waits,
        }


@dataclass(frozen=True, slots=True)
class WalkReply:
    """What a person or the outside world does: ``action`` is empty for nothing; then time passes."""

    action: str = ""
    data: Any = None
    after_s: float = 0.0


class Choices(Protocol):
    """Who decides what things come to; ``asks_again`` after an act that was refused."""

    asks_again: bool

    def outcome(self, step: str, task: str, what: str) -> Scripted:
        """Choose what a task, or a sub-playbook, comes to; ``what`` names it in words."""

    def act(self, item: WorkItem) -> WalkReply:
        """Choose what is done about an open work item."""

    def signal(self, step: str, wait: Awaited) -> WalkReply:
        """Choose whether a signal that is waited for is sent."""


class EndOfWalkError(Exception):
    """The walk was long enough, or somebody had enough of it."""


# By dice


class Chance:
    """Choices by dice: three of four tasks succeed, most people answer within hours."""

    asks_again = False

    def __init__(self, playbook: Playbook, seed: int) -> None:
        self.dice = Dice(seed)
        self.guess = Guess(playbook)

    def outcome(self, step: str, task: str, what: str) -> Scripted:  # noqa: ARG002 - dice need no words
        """Throw for how long it takes, then for success."""
        after_s = float(self.dice.below(10))
        if self.dice.below(4):
            return Scripted(ok(self.guess.result_of(step, task).make(self.dice)), after_s)
        return Scripted(failure(self.dice.pick(_KINDS)), after_s)

    def act(self, item: WorkItem) -> WalkReply:
        """Throw for an action; one of eight items is left to time."""
        if not self.dice.below(8):
            return WalkReply()
        after_s = 60.0 * (1 + self.dice.below(240))
        data = item.spec.get("proposal")
        if isinstance(form := item.spec.get("form"), dict):
            data = fill(form, data, self.dice)
        return WalkReply(self.dice.pick(actions_of(item)), data, after_s)

    def signal(self, step: str, wait: Awaited) -> WalkReply:  # noqa: ARG002 - all signals are alike to dice
        """Throw for the signal; one of eight never comes."""
        if not self.dice.below(8):
            return WalkReply()
        payload = self.guess.result_of(step).at(("payload",)).make(self.dice)
        return WalkReply("send", payload, 60.0 * (1 + self.dice.below(240)))


def ok(result: Any) -> Outcome:
    """A success."""
    return Outcome(status="ok", result=result)


def failure(kind: str) -> Outcome:
    """A failure that nobody meant."""
    return Outcome(status="error", error=Error(kind=kind, message="made up"))


class _Chosen(Scripts):
    """Scripts whose every line is chosen when it is needed."""

    def __init__(self, choices: Choices, show: Callable[[str], None]) -> None:
        super().__init__({})
        self._choices = choices
        self._show = show

    def play(
        self,
        names: Iterable[str],  # noqa: ARG002 - a walk asks a person, who knows
        step: str,
        run: NextAttempt,
        *,
        compensates: bool = False,
    ) -> Scripted:
        """Choose what this try comes to."""
        alone = run.task.name == f"{step}_task"
        task = "/compensate" if compensates else "" if alone else f"/{run.task.name}"
        what = f"{step}{task} ({run.task.kind})"
        scripted = self._choices.outcome(step, run.task.name, what)
        self._show(f"{what}: {_came_to(scripted)}")
        return scripted


def _came_to(scripted: Scripted) -> str:
    assert scripted.outcome is not None
    error = scripted.outcome.error
    words = f"error {error.kind}" if error is not None else f"ok {value(scripted.outcome.result)}"
    return words + (f" after {scripted.after_s:g} s" if scripted.after_s else "")


class Walk(Simulation):
    """One walk: the simulation, and what is seen of it."""

    def __init__(
        self,
        playbook: Playbook,
        choices: Choices,
        *,
        seed: int,
        firings_max: int,
        see: Callable[[Sight], None],
        note: Callable[[float, str], None],
        beside: Gathered | None = None,
    ) -> None:
        super().__init__(playbook, beside=beside, seed=seed, watch=self._watched)
        self.scripts = _Chosen(choices, lambda words: note(self.elapsed_s, words))
        self.firings = 0
        self._firings_max = firings_max
        self._choices = choices
        self._see = see
        self._note = note
        self._shadow = State(id=self.root.id)
        self._asked: set[str] = set()
        self._told: set[str] = set()

    def go(self, workload: dict[str, Any]) -> str:
        """Walk to the end; the return says why it stopped early, if it did."""
        try:
            self.start(workload)
            self.run()
        except EndOfWalkError as end:
            return str(end)
        except ScriptError as error:
            return str(error)
        return ""

    # Seeing

    def _watched(self, execution: Execution, decision: Decision) -> None:
        records = execution.log[len(execution.log) - len(decision.events) :]
        for record in records:
            self._look(execution, record, last=record is records[-1])
        self._ask(execution)

    def _look(self, execution: Execution, record: Record, *, last: bool) -> None:
        if record.receipt.transition and self.firings >= self._firings_max:
            raise EndOfWalkError(f"stopped after {self.firings} firings; '--steps' allows more")
        before = self._shadow.ctx
        evolve(self._shadow, record.event, seq=record.seq, at=record.at)
        self.firings += bool(record.receipt.transition)
        self._see(
            Sight(
                self.firings if record.receipt.transition else 0,
                record.at - EPOCH,
                event_in_words(record.event, ctx=False),
                dict(sorted(Counter(token.step for token in self._shadow.ready.values()).items())),
                dict(sorted(Counter(run.step for run in self._shadow.runs.values()).items())),
                _changed(before, self._shadow.ctx),
                self._waits(execution) if last else [],
            )
        )

    def _waits(self, execution: Execution) -> list[str]:
        """Return what waits now and was not told before."""
        sentences = [
            waiting.sentence
            for waiting in explain(execution.program, execution.state).waiting
            if waiting.reason not in ("ready", "worker")
        ]
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._told]
        self._told = set(sentences)
        return new

    # Asking

    def _ask(self, execution: Execution) -> None:
        """Have somebody asked about work items and signals that were not there before."""
        for run in execution.state.runs.values():
            for holder in _holders(run):
                for wait in holder.waits:
                    key = wait.item or f"{run.id}/{wait.which}/{holder.attempt}"
                    if wait.kind != "timer" and key not in self._asked:
                        self._asked.add(key)
                        self.at(self.now, ASK, partial(self._reply, run.id, run.step, wait))

    def _reply(self, run: str, step: str, wait: Awaited) -> None:
        if not self._is_wanted(run, wait):
            return
        if wait.item:
            reply = self._choices.act(self.root.state.items[wait.item])
        else:
            reply = self._choices.signal(step, wait)
        if reply.action:
            self.at(self.now + reply.after_s, WORK, partial(self._answer, run, step, wait, reply))
        elif reply.after_s:
            self.at(self.now + reply.after_s, ASK, partial(self._reply, run, step, wait))

    def _answer(self, run: str, step: str, wait: Awaited, reply: WalkReply) -> None:
        if not self._is_wanted(run, wait):
            return
        if not wait.item:
            self.send(
                self.root,
                c.SendSignal(now=self.now, name=wait.name, key=wait.key, payload=reply.data),
            )
            return
        self._note(self.elapsed_s, f"work item of {step}: {reply.action}")
        act = c.Act(
            now=self.now, item=wait.item, act="complete", actor="somebody", roles=[ANY_ROLE], admin=True,
            action=reply.action, data=reply.data,
        )  # fmt: skip
        decision = self.send(self.root, act)
        refused = any(isinstance(event, e.ActRefused) for event in decision.events)
        if refused and self._choices.asks_again:
            self.at(self.now, ASK, partial(self._reply, run, step, wait))

    def _is_wanted(self, run: str, wait: Awaited) -> bool:
        if wait.item:
            item = self.root.state.items.get(wait.item)
            return item is not None and item.is_open
        begun = self.root.state.runs.get(run)
        holders = _holders(begun) if begun is not None else []
        return any(other is wait for holder in holders for other in holder.waits)

    def _start_child(self, parent: Execution, effect: f.StartChild) -> None:
        """A sub-playbook comes to an outcome like a tool."""
        run = next(
            run
            for run in parent.state.runs.values()
            if effect.child in (run.child, *(chunk.child for chunk in run.chunks.values()))
        )
        scripted = self._choices.outcome(run.step, "", f"{run.step} (playbook {effect.path})")
        self._note(self.elapsed_s, f"{run.step} (playbook {effect.path}): {_came_to(scripted)}")
        assert scripted.outcome is not None
        status = "failed" if scripted.outcome.error is not None else "completed"
        ended = partial(
            c.ChildEnded,
            child=effect.child, status=status, output=scripted.outcome.result, error=scripted.outcome.error,
        )  # fmt: skip
        self.at(self.now + scripted.after_s, WORK, lambda: self._child_over(parent, ended))

    def _child_over(self, parent: Execution, ended: Callable[..., c.ChildEnded]) -> None:
        if not parent.state.terminal:
            self.send(parent, ended(now=self.now))

    def _cancel_child(self, effect: f.CancelChild) -> None:
        """There is no child to cancel: it is only an outcome on its way."""


def _holders(run: StepRun) -> list[StepRun | Chunk]:
    """Return what may wait: a run, or the iterations it handed out."""
    return [run, *run.chunks.values()]


def _changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    if before is after:
        return {}
    missing = object()
    return {key: item for key, item in after.items() if before.get(key, missing) != item}
