"""Cancellation: emptying the places of a region.

Inside a net a transition does it with ``resets``, after it took its inputs and before it
produces. From outside, ``cancel_region`` does it to a configuration and leaves a receipt. Here is the
function of markings that both amount to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from petra.errors import NetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from petra.net.marking import Marking
    from petra.net.net import Net


class Region(Struct, frozen=True):
    """Places that are emptied together."""

    name: str
    places: tuple[str, ...]

    @classmethod
    def of(cls, net: Net, name: str, places: str | Iterable[str]) -> Region:
        """Make a region of a net; ``places`` may be one string of names.

        Raises:
            NetError: the region is empty, or names an unknown place.
        """
        names = tuple(places.split() if isinstance(places, str) else places)
        if not names:
            raise NetError(f"region {name!r} has no places")
        for place in names:
            net.require(place, where=f"region {name!r}")
        return cls(name, names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)


def cancel(marking: Marking, places: Iterable[str]) -> Marking:
    """Return the marking with these places empty.

    Raises:
        NetError: a place is unknown; nothing is cancelled then.
    """
    return marking.take({place: marking.get(place) for place in places})
