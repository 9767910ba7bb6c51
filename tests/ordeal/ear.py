"""An ear at an engine: it hears in the moment that something is told, as no reader would."""

from __future__ import annotations

from collections.abc import Callable

from petra.engine.feed import Sink
from petra.engine.news import News
from petra.errors import PetraError


class Ear(Sink):
    """Hears what an engine tells, in the moment it tells it."""

    def __init__(
        self,
        taken: Callable[[News], None] = lambda _: None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._taken = taken
        self._ended = ended

    def take(self, message: News) -> None:
        """Take a message."""
        self._taken(message)

    def end(self, why: PetraError) -> None:  # noqa: ARG002 - the engine has it
        """Hear that there will be no more."""
        self._ended()
