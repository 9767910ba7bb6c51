"""Time zones by name, from the package ``tzdata``: its version says what they mean, whatever the machine has.

A date in a zone has the offset that holds at that moment, fixed; so dates of one zone are compared and subtracted as points in
time, also over the night when the clocks change. Whoever moves one asks the zone again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING

from petra.errors import ExpressionError
from petra.expr.frame import Value, wrong_type

if TYPE_CHECKING:  # most expressions name no zone
    from zoneinfo import ZoneInfo


class Local(tzinfo):
    """What the clocks of a zone say at one moment."""

    __slots__ = ("_name", "_offset", "zone")

    def __init__(self, zone: ZoneInfo, offset: timedelta, name: str) -> None:
        self.zone = zone
        self._offset = offset
        self._name = name

    def utcoffset(self, _at: datetime | None) -> timedelta:
        """Return how far these clocks are from UTC."""
        return self._offset

    def tzname(self, _at: datetime | None) -> str:
        """Return what the time is called there."""
        return self._name

    def dst(self, _at: datetime | None) -> None:
        """Return nothing: the offset says it all."""


def in_zone(at: datetime, zone: ZoneInfo) -> datetime:
    """Return the same point in time by the clocks of a zone."""
    local = at.astimezone(UTC).astimezone(zone)
    return local.replace(
        tzinfo=_local(zone, local.utcoffset() or timedelta(), local.tzname() or ""), fold=0
    )


def of_zone(at: datetime, zone: ZoneInfo) -> datetime:
    """Return the point in time at which the clocks of a zone show what a date without a zone says.

    When they show it twice, the first time; when they jump over it, as long after the jump.
    """
    return in_zone(at.replace(tzinfo=zone, fold=0), zone)


def still_in(zone: tzinfo | None, at: datetime) -> datetime:
    """Return a date that was moved by the clocks of the zone that it had, which may have changed since."""
    return in_zone(at, zone.zone) if isinstance(zone, Local) else at


def zone_of(name: Value) -> ZoneInfo:
    """Return a zone by its name.

    Raises:
        ExpressionError: there is none of that name.
    """
    if type(name) is not str:
        raise wrong_type("a time zone is a name such as 'Europe/Berlin'", name)
    return _zone(name[:100])


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    known = zones()
    if name not in known:
        from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

        near = get_close_matches(name, known, n=1, cutoff=0.7)
        hint = f"did you mean '{near[0]}'?" if near else "write it as 'Europe/Berlin', or 'UTC'"
        raise ExpressionError(f"there is no time zone {name!r}", kind="unknown_zone", hint=hint)
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - see above

    data = _of_package(f"zoneinfo/{name}")
    return ZoneInfo.from_file(BytesIO(data), key=name)


@lru_cache(maxsize=1)
def zones() -> frozenset[str]:
    """Return the names of all zones."""
    return frozenset(_of_package("zones").decode("ascii").split())


def _of_package(name: str) -> bytes:
    import pkgutil  # noqa: PLC0415 - see above

    data = pkgutil.get_data("tzdata", name)
    assert data is not None, "a dependency of this package, and what it lists is there"
    return data


@lru_cache(maxsize=4096)
def _local(zone: ZoneInfo, offset: timedelta, name: str) -> Local:
    return Local(zone, offset, name)
