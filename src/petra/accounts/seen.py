"""Whether something is still as whoever changes it saw it."""

from __future__ import annotations

from petra.engine.catalogue import StaleError


def must_be(what: str, now: str, seen: str | None) -> None:
    """Refuse a change of something that is not as it was seen: None is anything, ``*`` whatever is there, empty that nothing is.

    Raises:
        StaleError: it is another one by now.
    """
    if seen is None or seen == now or (seen == "*" and now):
        return
    raise StaleError(f"{what} is at {now} now" if now else f"{what} is not there")
