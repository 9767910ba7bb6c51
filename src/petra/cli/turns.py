"""What an execution waits for in lines of limits, as its records tell (S15)."""

from __future__ import annotations

from collections import Counter

from petra.kernel import events as e
from petra.kernel.permit_events import NewPermit, PermitGiven, PermitRefused, PermitsAsked
from petra.kernel.permit_state import limit_in_words


class Turns:
    """The permits that were asked for and not given."""

    def __init__(self) -> None:
        self._waiting: dict[str, NewPermit] = {}

    def take(self, event: e.AnyEvent) -> None:
        """Move on by one event."""
        match event:
            case PermitsAsked():
                if event.anew:
                    self._waiting.clear()
                self._waiting.update((permit.id, permit) for permit in event.permits)
            case PermitGiven() | PermitRefused():
                self._waiting.pop(event.id, None)
            case e.Withdrawn():
                gone = {*event.tokens}
                for permit in [permit for permit in self._waiting.values() if permit.token in gone]:
                    del self._waiting[permit.id]
            case e.ExecutionEnded():
                self._waiting.clear()
            case _:
                pass

    @property
    def held_back(self) -> bool:
        """Whether the execution as a whole waits."""
        return any(not permit.step for permit in self._waiting.values())

    def words(self) -> str:
        """Say who waits for what; nothing where nobody does."""
        first = next(iter(self._waiting.values()), None)
        if first is None:
            return ""
        runs = {
            permit.run or permit.token: permit.step
            for permit in self._waiting.values()
            if permit.step
        }
        names = ", ".join(
            f"{step} ×{number}" if number > 1 else step for step, number in Counter(runs.values()).items()
        )  # fmt: skip
        if len(runs) > 1:
            return f"{names} wait for their turn, first at {limit_in_words(first)}"
        return f"{names} waits for its turn at {limit_in_words(first)}".lstrip()
