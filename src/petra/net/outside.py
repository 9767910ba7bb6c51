"""The world outside: tokens that come, go, are exchanged or cancelled by no transition.

Each act is one atomic change and leaves one receipt, as a firing does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.net.play import Play, encode_tokens
from petra.net.receipt import act_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from petra.net.configuration import Configuration
    from petra.net.receipt import Kind, Timestamp


def inject(
    configuration: Configuration, place: str, *data: object, reason: str = "", ts: Timestamp = None
) -> Configuration:
    """Put tokens into a place from outside: one for each value, or one plain token.

    Raises:
        NetError: the place is unknown, or data is not a JSON value.
    """
    tokens = {place: data or (None,)}
    return _act(configuration, "inject", withdrawn={}, injected=tokens, reason=reason, ts=ts)


def withdraw(
    configuration: Configuration, place: str, *ids: str, reason: str = "", ts: Timestamp = None
) -> Configuration:
    """Take tokens out of a place from outside.

    Raises:
        NetError: the place is unknown, or one of the tokens is not in it.
    """
    return _act(
        configuration, "withdraw", withdrawn={place: ids}, injected={}, reason=reason, ts=ts
    )


def exchange(
    configuration: Configuration,
    withdrawn: Mapping[str, Iterable[str]],
    injected: Mapping[str, Iterable[object]],
    *,
    reason: str = "",
    ts: Timestamp = None,
) -> Configuration:
    """Take tokens (by id) and put others (by data) in one act from outside.

    Raises:
        NetError: a place is unknown, a token is not there, or data is not a JSON value.
    """
    return _act(
        configuration, "exchange", withdrawn=withdrawn, injected=injected, reason=reason, ts=ts
    )


def cancel_region(
    configuration: Configuration, places: Iterable[str], *, reason: str = "", ts: Timestamp = None
) -> Configuration:
    """Empty the places of a region from outside, and record what was in them.

    Raises:
        NetError: a place is unknown.
    """
    play = Play(configuration, ts)
    reset = {place: play.empty(place) for place in dict.fromkeys(places)}
    play.record("cancel", reason, reset=reset)
    return play.freeze()


def _act(  # noqa: PLR0913  every part of the act has a name
    configuration: Configuration,
    kind: Kind,
    *,
    withdrawn: Mapping[str, Iterable[str]],
    injected: Mapping[str, Iterable[object]],
    reason: str,
    ts: Timestamp,
) -> Configuration:
    payloads = encode_tokens(configuration.net, injected, where=kind)
    play = Play(configuration, ts)
    consumed = {place: list(ids) for place, ids in withdrawn.items()}
    play.take(consumed)
    produced = play.put(act_id(kind, configuration.acts + 1), payloads)
    play.record(kind, reason, consumed=consumed, produced=produced)
    return play.freeze()
