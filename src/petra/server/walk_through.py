"""Walking through a playbook in virtual time, by dice or by choices; done in another process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from petra.kernel.human import actions_of
from petra.kernel.waiting import Awaited, WorkItem
from petra.playbook import read
from petra.server.benches import Simulated
from petra.server.workbench import NAME, log_frames, placed_problems
from petra.testing.scripts import Scripted
from petra.testing.walk import Chance, EndOfWalkError, Walk, WalkReply, failure, ok

STEPS_MAX: Final = 5_000


class _Choices:
    """Choices that somebody made, one after the other; at the next one the walk stops and asks."""

    asks_again = True

    def __init__(self, choices: Sequence[dict[str, Any]]) -> None:
        self._left = list(choices)
        self.question: dict[str, Any] | None = None

    def _next(self, about: dict[str, Any]) -> dict[str, Any]:
        if not self._left:
            self.question = about
            raise EndOfWalkError("a choice is to be made")
        return self._left.pop(0)

    def outcome(self, step: str, task: str, what: str) -> Scripted:
        """Take the next choice as the outcome of a task."""
        about = {
            "kind": "outcome",
            "step": step,
            "task": task,
            "what": what,
            "options": ["ok", "error"],
        }
        choice = self._next(about)
        if "error" in choice:
            return Scripted(failure(str(choice["error"] or "unknown")))
        return Scripted(ok(choice.get("ok")))

    def act(self, item: WorkItem) -> WalkReply:
        """Take the next choice as what is done about a work item."""
        actions = [str(action) for action in actions_of(item)]
        about = {
            "kind": "work-item", "step": item.step, "what": item.spec.get("title") or item.step,
            "options": actions, "form": item.spec.get("form"), "proposal": item.spec.get("proposal"),
        }  # fmt: skip
        choice = self._next(about)
        action = str(choice.get("action") or actions[0])
        return WalkReply(action, choice.get("data", item.spec.get("proposal")))

    def signal(self, step: str, wait: Awaited) -> WalkReply:
        """Take the next choice as whether a signal comes."""
        about = {"kind": "signal", "step": step, "what": wait.name, "options": ["send", "wait"]}
        choice = self._next(about)
        return (
            WalkReply(after_s=3600.0)
            if choice.get("wait")
            else WalkReply("send", choice.get("payload"))
        )


def walk_through(wanted: Simulated) -> dict[str, Any]:
    """Walk through a playbook; say what happened, and what is to be chosen next, if anything."""
    reading = read(wanted.text, NAME)
    if reading.playbook is None or not reading.ok:
        return {"ok": False, "problems": placed_problems(wanted.text, reading.problems)}
    seen: list[dict[str, Any]] = []
    choices = _Choices(wanted.choices) if wanted.choices is not None else None
    walk = Walk(
        reading.playbook,
        choices if choices is not None else Chance(reading.playbook, wanted.seed),
        seed=wanted.seed,
        firings_max=max(1, min(wanted.steps, STEPS_MAX)),
        see=lambda sight: seen.append(sight.as_data()),
        note=lambda _at, _words: None,
    )
    stopped = walk.go(wanted.workload)
    status, reason = walk.status()
    return {
        "ok": True, "problems": [], "seed": wanted.seed, "records": seen, "firings": walk.firings, "status": status,
        "waiting_on": reason or None, "stopped": stopped or None, "refused": walk.root.refused or None,
        "elapsed_s": walk.elapsed_s, "output": walk.output, "ctx": walk.ctx,
        "frames": log_frames(walk.root.log) if walk.root.log else None,
        "next": choices.question if choices is not None else None,
    }  # fmt: skip
