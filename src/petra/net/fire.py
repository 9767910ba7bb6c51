"""Firing: how a net moves.

Rule 1: whatever fails, fails as a whole: the configuration there was still stands.
Rule 2: what fires is the least enabled firing of the strategy. A fire function that aborts has done
nothing; the next firing is tried. If all abort, nothing has changed and nothing is recorded.
Rule 3: inputs are taken, then resets empty their places, then outputs are produced.
Rule 4: a firing produces exactly what its arcs say, so that what was proved of the net holds.
Rule 5: an exception in a guard or a fire function is a failure, never rest: it passes through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from msgspec import Struct

from petra.errors import NetError
from petra.net.agenda import Agenda
from petra.net.configuration import Configuration
from petra.net.marking import PLAIN, Marking, encode_data
from petra.net.modes import Abort, Mode
from petra.net.net import Net, Transition
from petra.net.play import Payloads, Play, encode_tokens
from petra.net.receipt import GENESIS, Receipt, Timestamp, act_id, firing_id
from petra.net.select import ByName, Fifo, Firing, Priority, Strategy
from petra.net.suggest import unknown

_FIFO = Fifo()


class Aborted(Struct, frozen=True):
    """A firing that was tried, and declined by its fire function."""

    transition: str
    reason: str


class Stepped(Struct, frozen=True):
    """What one step did. Without a receipt nothing fired: all aborted, or nothing was enabled."""

    configuration: Configuration
    receipt: Receipt | None
    aborts: tuple[Aborted, ...] = ()

    @property
    def marking(self) -> Marking:
        """The marking after the step."""
        return self.configuration.marking


class Drained(Struct, frozen=True):
    """What a drain did, and whether it was the limit that stopped it."""

    configuration: Configuration
    receipts: tuple[Receipt, ...]
    limited: bool
    aborts: tuple[Aborted, ...] = ()

    @property
    def marking(self) -> Marking:
        """The marking after the drain."""
        return self.configuration.marking


def start(
    net: Net,
    tokens: Mapping[str, Iterable[object]] | None = None,
    *,
    strategy: Strategy = _FIFO,
    run: str = "run",
    ts: Timestamp = None,
) -> Configuration:
    """Put the net's plain tokens into their places, and behind them tokens with data.

    Raises:
        NetError: a place is unknown, or data is not a JSON value.
    """
    payloads = {place: [PLAIN] * count for place, count in net.initial.items() if count}
    for place, added in encode_tokens(net, tokens or {}, where="start").items():
        payloads[place] = [*payloads.get(place, []), *added]
    empty = Configuration(
        net=net,
        marking=Marking.new(net.places),
        strategy=strategy,
        run=run,
        k=0,
        last=GENESIS,
        net_hash=net.digest(),
    )
    play = Play(empty, ts)
    play.record("start", "", produced=play.put(act_id("start", 0), payloads))
    return play.freeze()


def step(configuration: Configuration, *, ts: Timestamp = None) -> Stepped:
    """Fire the first firing of the strategy that does not abort, if there is one."""
    drained = drain(configuration, max_steps=1, ts=ts)
    receipt = drained.receipts[0] if drained.receipts else None
    return Stepped(drained.configuration, receipt, drained.aborts)


def drain(
    configuration: Configuration, max_steps: int = 10_000, *, ts: Timestamp = None
) -> Drained:
    """Fire until nothing more can, or ``max_steps`` times.

    ``limited`` is true when something was still enabled at the limit. ``aborts`` are those
    of the last step.
    """
    play = Play(configuration, ts)
    mover = _Mover(play)
    aborts: list[Aborted] = []
    while len(play.receipts) < max_steps:
        aborts = []
        if not mover.move(aborts):
            break
    receipts = tuple(play.receipts)
    limited = len(receipts) >= max_steps and mover.enabled()
    return Drained(play.freeze(), receipts, limited, tuple(aborts))


def enabled(configuration: Configuration) -> Iterator[Firing]:
    """Yield the enabled firings lazily, in the order in which they would be tried."""
    return configuration.strategy.order(
        configuration.net, configuration.marking.tokens, run=configuration.run, k=configuration.k
    )


def is_quiescent(configuration: Configuration) -> bool:
    """Say whether no firing is enabled. Fires nothing and asks no fire function."""
    return next(enabled(configuration), None) is None


class _Mover:
    """Fires on a play; a strategy with ranks is served by an agenda, the others look at all."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._net = play.configuration.net
        strategy = play.configuration.strategy
        self._agenda = (
            Agenda(self._net, strategy, play.board.places)
            if isinstance(strategy, Fifo | Priority | ByName)
            else None
        )

    def enabled(self) -> bool:
        """Say whether anything is enabled."""
        if self._agenda is not None:
            return self._agenda.first() is not None
        return next(self._order(), None) is not None

    def move(self, aborts: list[Aborted]) -> bool:
        """Fire the first firing that does not abort; note those that do."""
        for firing in self._candidates():
            payloads = _produce(firing.transition, firing.mode)
            if not isinstance(payloads, Abort):
                self._fire(firing, payloads, attempt=len(aborts))
                return True
            aborts.append(Aborted(firing.transition.name, payloads.reason))
        return False

    def _candidates(self) -> Iterator[Firing]:
        if self._agenda is None:
            yield from self._order()
            return
        first = self._agenda.first()
        if first is not None:
            yield first
            yield from islice(self._order(), 1, None)

    def _order(self) -> Iterator[Firing]:
        configuration = self._play.configuration
        return configuration.strategy.order(
            self._net, self._play.board.places, run=configuration.run, k=self._play.k
        )

    def _fire(self, firing: Firing, payloads: Payloads, *, attempt: int) -> None:
        transition, mode = firing
        play = self._play
        consumed = {place: [token.id for token in tokens] for place, tokens in mode.taken.items()}
        read = {place: token.id for place, token in mode.read.items()}
        ordinal = 0
        if not consumed:
            ordinal = play.springs.get(transition.name, 0)
            play.springs[transition.name] = ordinal + 1
        play.take(consumed)
        reset = {place: play.empty(place) for place in dict.fromkeys(transition.resets)}
        origin = firing_id(transition.name, consumed, read, ordinal=ordinal)
        produced = play.put(origin, payloads)
        play.record(
            "fire",
            transition.name,
            attempt=attempt,
            consumed=consumed,
            read=read,
            reset=reset,
            produced=produced,
        )
        if self._agenda is not None:
            lost = {place: [*reset.get(place, []), *ids] for place, ids in consumed.items()}
            self._agenda.update({**reset, **lost}, produced)


def _produce(transition: Transition, mode: Mode) -> Payloads | Abort:
    """Return the payloads of the tokens to produce.

    Without a fire function the data of a single token travels on; several tokens have no
    data in common, and what they become is plain.

    Raises:
        NetError: the fire function produced something else than the arcs say.
    """
    if transition.fire is None:
        taken = [token for tokens in mode.taken.values() for token in tokens]
        payload = taken[0].payload if len(taken) == 1 else PLAIN
        return {place: [payload] * weight for place, weight in transition.outputs.items()}
    production = transition.fire(mode)
    if isinstance(production, Abort):
        return production
    where = f"transition {transition.name!r}"
    for place in production:
        if place not in transition.outputs:
            raise unknown("output place", place, transition.outputs, where=where)
    payloads = {}
    for place, weight in transition.outputs.items():
        produced = production.get(place, ())
        if not isinstance(produced, list | tuple):
            raise NetError(f"{where}: fire must give place {place!r} a list, one value per token")
        payloads[place] = [encode_data(one, where=where) for one in produced]
        if len(payloads[place]) != weight:
            raise NetError(
                f"{where}: fire produced {len(payloads[place])} tokens for place {place!r}, "
                f"but its arc says {weight}"
            )
    return payloads
