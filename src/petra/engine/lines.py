"""Lines: who is let in next by a limit, decided from the line as it stands. Pure (S15).

Rule 1: in order of rank. Whoever does not fit holds up all behind them, so that nobody who wants much is passed for ever.
Rule 2: at the limit ``queue`` waits, ``cancel_new`` and ``reject`` are turned away, and ``cancel_running`` has the
oldest end, until no more are left than may be: those who run are told to stop, those who wait are turned away.
Rule 3: of a rate, no more begin in any stretch of its length than it says.
Rule 4: whoever waits for those who wait for it would wait for ever, and is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from petra.kernel.permit_state import QUOTA
from petra.playbook.shared import Rate
from petra.store.rows import LineRow, PermitRow

Recent = list[tuple[float, int]]
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Recent).decode
_TURNED_AWAY: Final = frozenset({"cancel_new", "reject"})


class Allowance(msgspec.Struct, frozen=True):
    """What the server's configuration allows in a line; None: as much as anybody likes."""

    units: int | None = None
    rate: Rate | None = None


class LineVerdict(msgspec.Struct):
    """What is decided about a line; ``again`` is when a rate lets the next one in."""

    given: list[PermitRow] = []
    refused: list[tuple[PermitRow, str, str]] = []
    """Who is turned away, why, and the kind of error that is."""
    stopped: list[PermitRow] = []
    recent: bytes | None = None
    again: float | None = None

    @property
    def moves(self) -> bool:
        """Whether anything is decided."""
        return bool(self.given or self.refused or self.stopped)


def judge(
    line: LineRow,
    allowance: Allowance | None,
    now: float,
    *,
    ancestors: Mapping[str, Collection[str]] | None = None,
    acts_for: Callable[[PermitRow], bool] = lambda _: True,
) -> LineVerdict:
    """Decide who is let in. Without ``allowance`` a limit that only the server knows lets nobody in.

    ``ancestors`` are, by permit, the executions that wait for the one that asks; ``acts_for`` leaves out who is not there.
    """
    verdict, used, blocked = LineVerdict(), line.used, False
    window = _Window(line.recent, allowance.rate if allowance is not None else None, now)
    for row in line.queue:
        if not acts_for(row):
            continue
        most = row.most or _units(allowance)
        if (in_all := _in_all(most, allowance)) is not None and row.units > in_all > 0:
            verdict.refused.append((row, _too_much(row, in_all), "limit"))
        elif why := _in_circle(row, most, line, (ancestors or {}).get(row.id, ())):
            verdict.refused.append((row, why, "deadlock"))
        elif blocked or (most is not None and used + row.units > most):
            if row.on_limit in _TURNED_AWAY:
                verdict.refused.append((row, _full(row), "limit"))
            elif row.on_limit == "cancel_running" and not blocked:
                _make_room(line, row, used, verdict)
            blocked = blocked or row.on_limit not in _TURNED_AWAY
        elif (free := window.free_at(row.units)) > now:
            verdict.again, blocked = free, True
        else:
            window.take(row.units)
            used += row.units
            verdict.given.append(row)
    verdict.recent = window.written() if verdict.given else None
    return verdict


def _units(allowance: Allowance | None) -> int | None:
    """Return how many units the server has; one that nobody configured has none."""
    return 0 if allowance is None else allowance.units


def _in_all(most: int | None, allowance: Allowance | None) -> int | None:
    """Return how many units one may have at most, by number and by rate; None: as many as they like."""
    rate = allowance.rate if allowance is not None else None
    both = [
        bound for bound in (most, rate.count if rate is not None else None) if bound is not None
    ]
    return min(both, default=None)


def _make_room(line: LineRow, row: PermitRow, used: int, verdict: LineVerdict) -> None:
    """Have the oldest end: those who run are told to, those who wait have no turn any more."""
    gone = {permit.id for permit, _, _ in verdict.refused}
    waiting = [
        permit for permit in line.queue if permit.id not in gone and permit not in verdict.given
    ]
    running = [permit for permit in line.holders if permit.state == "held"]
    running += verdict.given
    live = sorted([*running, *waiting], key=lambda permit: (permit.asked, permit.id))
    excess = used + line.waiting - len(verdict.given) - len(verdict.refused) - row.most
    leaving = sum(permit.state == "leaving" for permit in line.holders)
    for waiter in live[: max(0, excess - leaving)]:
        if waiter in waiting:
            words = f"a newer execution took its place ({_name(row)})"
            verdict.refused.append((waiter, words, "cancelled"))
        elif waiter not in verdict.given:
            verdict.stopped.append(waiter)


def _in_circle(row: PermitRow, most: int | None, line: LineRow, ancestors: Collection[str]) -> str:
    """Say why somebody would wait for ever: what is left beside those who wait for it does not suffice."""
    if most is None or not ancestors:
        return ""
    theirs = [holder for holder in line.holders if holder.execution in ancestors]
    if most - sum(holder.units for holder in theirs) >= row.units or not theirs:
        return ""
    names = ", ".join(dict.fromkeys(holder.execution for holder in theirs))
    return (
        f"{_name(row)} is held by {names}, which waits for this execution: it would wait for ever;"
        " give the sub-playbook another key, or a higher limit"
    )


def _name(row: PermitRow) -> str:
    if row.limit == QUOTA:
        return f"the quota of namespace '{row.namespace}'"
    kind, _, name = row.limit.partition(" ")
    key = f" with key '{row.key}'" if row.key else ""
    return f"{'resource' if kind == 'resource' else 'limit'} '{name}'{key}"


def _full(row: PermitRow) -> str:
    return f"{_name(row)} is reached: there are {row.most} at once already"


def _too_much(row: PermitRow, most: int) -> str:
    return f"{_name(row)} has {most} in all, and {row.units} are wanted at once"


class _Window:
    """What was begun in the stretch of a rate that ends now."""

    def __init__(self, stored: bytes, rate: Rate | None, now: float) -> None:
        self._rate = rate
        self._now = now
        self._begun: Recent = []
        if rate is not None and stored:
            since = now - rate.per_s
            # of a clock that was set back, what lies ahead counts as of now
            self._begun = [(min(at, now), n) for at, n in _decode(stored) if at > since]

    def free_at(self, units: int) -> float:
        """Return when so many may begin."""
        if self._rate is None:
            return self._now
        excess = sum(n for _, n in self._begun) + units - self._rate.count
        for at, n in self._begun:
            if excess <= 0:
                break
            excess -= n
            if excess <= 0:
                return at + self._rate.per_s
        return self._now if excess <= 0 else self._now + self._rate.per_s

    def take(self, units: int) -> None:
        """Note that some begin."""
        if self._rate is not None:
            self._begun.append((self._now, units))

    def written(self) -> bytes | None:
        """Return what is to be kept of it, if anything."""
        return _encode(self._begun) if self._rate is not None else None
