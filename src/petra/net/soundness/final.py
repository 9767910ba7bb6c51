"""Where a net is meant to end.

A workflow net ends with one token in its sink. Other nets are told their final markings: as a list
of markings, or as places of which any may be marked while every other place is empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from petra.errors import NetError
from petra.net.net import Net


class FinalMarkings(Struct, frozen=True):
    """Exactly these markings are final; a place that is not mentioned is empty."""

    markings: tuple[Mapping[str, int], ...]


class FinalAnyOf(Struct, frozen=True):
    """At least one of these places is marked, and every other place is empty.

    The places may be marked together. A net with this ending must be safe (never two tokens in a
    place) and keep the option to complete; transitions that can never fire are allowed.
    """

    places: frozenset[str]


Final: TypeAlias = FinalMarkings | FinalAnyOf


def as_final(net: Net, final: Final | Sequence[Mapping[str, int]]) -> Final:
    """Return the final markings in their typed form, checked against the places of the net.

    Raises:
        NetError: a place is unknown, a count is negative, or nothing is final.
    """
    spec = final if isinstance(final, FinalMarkings | FinalAnyOf) else FinalMarkings(tuple(final))
    if isinstance(spec, FinalAnyOf):
        named = list(spec.places)
    else:
        named = [place for marking in spec.markings for place in marking]
        for marking in spec.markings:
            for place, count in marking.items():
                if count < 0:
                    raise NetError(f"final marking: place {place!r} cannot hold {count} tokens")
    for place in sorted(named):
        net.require(place, where="final marking")
    if not named:
        raise NetError("no final marking is given; name at least one place with a token")
    return spec


def read_final(text: str | bytes) -> Final:
    """Read final markings from JSON.

    Three forms: ``{"final_any_of": ["p", ...]}``, ``{"final": [{"p": 1}, ...]}`` and a bare list of
    markings.

    Raises:
        NetError: the text is not JSON, or has none of these forms.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NetError(f"final markings: not JSON: {error}") from error
    if isinstance(parsed, dict) and "final_any_of" in parsed:
        places = parsed["final_any_of"]
        if isinstance(places, list) and all(isinstance(place, str) for place in places):
            return FinalAnyOf(frozenset(places))
    listed = parsed.get("final") if isinstance(parsed, dict) else parsed
    if isinstance(listed, list) and all(_is_marking(marking) for marking in listed):
        return FinalMarkings(tuple(listed))
    raise NetError(
        'final markings: write {"final_any_of": ["place", ...]} or {"final": [{"place": 1}, ...]}'
    )


def _is_marking(value: object) -> bool:
    return isinstance(value, dict) and all(type(count) is int for count in value.values())
