"""Who waits for what: the indexes over runs and chunks that a server task set up (S14, S15, S16).

A place is a run, or a chunk of one: ``run`` or ``run/chunk``. An address is the name of a signal, with the key as
text where there is one: 17 and "17" are one key.
"""

from __future__ import annotations

from typing import Any

from petra.kernel.state import Chunk, State, StepRun
from petra.kernel.waiting import Awaited, Signal
from petra.values import canonical


def place_of(run: str, chunk: str) -> str:
    """Name a run, or a chunk of one."""
    return f"{run}/{chunk}" if chunk else run


def address(name: str, key: Any) -> str:
    """Name a signal as somebody waits for it; without a key any will do."""
    return name if key is None else f"{name}\0{key_text(key)}"


def key_text(key: Any) -> str:
    """Write a key as the text it is compared by."""
    return key if isinstance(key, str) else canonical(key).decode()


def serves(wait: Awaited, name: str, key: Any) -> bool:
    """Whether a signal is what somebody waits for."""
    if wait.kind != "signal" or wait.name != name:
        return False
    return wait.key is None or address(name, wait.key) == address(name, key)


def wait_for(state: State, place: str, holder: StepRun | Chunk) -> None:
    """Note what a run or chunk waits for from now on."""
    if holder.child:
        state.waiting.setdefault("child", {})[place] = None
    for wait in holder.waits:
        state.waiting.setdefault(wait.kind, {})[place] = None
        if wait.kind == "signal":
            state.listening.setdefault(address(wait.name, wait.key), {}).setdefault(
                place, state.arrive()
            )


def wait_to_retry(state: State, place: str) -> None:
    """Note that there will be another attempt."""
    state.waiting.setdefault("timer", {})[place] = None


def stop_waiting(state: State, run: StepRun, *chunks: Chunk) -> None:
    """Note that a run and some of its chunks wait no more."""
    leave(state, run.id, run)
    for chunk in chunks:
        leave(state, place_of(run.id, chunk.id), chunk)


def leave(state: State, place: str, holder: StepRun | Chunk) -> None:
    """Note that a run or chunk waits no more."""
    for reason in [reason for reason, places in state.waiting.items() if place in places]:
        _drop(state.waiting, reason, place)
    for wait in holder.waits:
        if wait.kind == "signal":
            _drop(state.listening, address(wait.name, wait.key), place)


def _drop(index: dict[str, dict[str, Any]], key: str, place: str) -> None:
    places = index.get(key)
    if places is not None and places.pop(place, _MISSING) is not _MISSING and not places:
        del index[key]


_MISSING: Any = object()


def who_waits(state: State, name: str, key: Any) -> str | None:
    """Return the place that has waited longest for a signal."""
    wanted = {name: None, address(name, key): None}
    first = [next(iter(places.items())) for one in wanted if (places := state.listening.get(one))]
    return min(first, key=lambda pair: pair[1])[0] if first else None


def keep(state: State, signal: Signal) -> None:
    """Put a signal into the mailbox."""
    number, where = state.arrive(), address(signal.name, signal.key)
    state.mailbox.setdefault(where, {})[number] = signal
    state.mail_of.setdefault(signal.name, {})[number] = where


def kept_for(state: State, name: str, key: Any) -> Signal | None:
    """Return the signal that was kept longest and serves a wait; one without a key takes any."""
    if key is not None:
        signals = state.mailbox.get(address(name, key))
        return next(iter(signals.values())) if signals else None
    mail = state.mail_of.get(name)
    if not mail:
        return None
    number, where = next(iter(mail.items()))
    return state.mailbox[where][number]


def take_out(state: State, name: str, key: Any, payload: Any) -> None:
    """Take a signal out of the mailbox, if it lies there."""
    where = address(name, key)
    for number, kept in state.mailbox.get(where, {}).items():
        if kept.payload == payload and kept.key == key:
            _drop(state.mailbox, where, number)  # type: ignore[arg-type]
            _drop(state.mail_of, name, number)  # type: ignore[arg-type]
            return
