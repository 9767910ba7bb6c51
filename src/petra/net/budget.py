"""How much work a proof may be: counted, not timed, so that the same playbook gets the same answer on every machine.

A unit is about a microsecond of this program on a machine of 2024. Whoever has a clock may stop earlier (``over``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.errors import NetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from petra.net.soundness.stubborn import Stubborn

WORK_PER_S = 1_000_000

#: What a proof may take when nobody says otherwise: about two seconds.
EFFORT_S = 2.0

#: So many units go by before the clock is asked again.
_ASK_EVERY = 20_000


class SpentError(NetError):
    """The budget was used up before there was anything to say."""


class Budget:
    """Work that is left."""

    def __init__(self, seconds: float = EFFORT_S, over: Callable[[], bool] | None = None) -> None:
        """Allow about as much work as that many seconds hold; ``over`` may end it before."""
        self.left = int(seconds * WORK_PER_S)
        self._over = over
        self._ask_at = self.left - _ASK_EVERY

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        if self._over is not None and self.left < self._ask_at:
            self._ask_at = self.left - _ASK_EVERY
            if self._over():
                self.left = -1
        return self.left < 0

    def ends_at(self, enabled: int, chooser: Stubborn | None) -> bool:
        """Count the work of a marking, and what choosing firings took; tell whether the search ends there."""
        chosen = 0
        if chooser is not None:
            chosen, chooser.work = chooser.work // 3, 0
        self.left -= 10 + enabled + chosen
        return self.is_spent

    def spend(self, work: int) -> None:
        """Use some up.

        Raises:
            SpentError: nothing is left.
        """
        self.left -= work
        if self.is_spent:
            raise SpentError("the proof was given up: it takes more work than it may")
