"""Workers in an ordeal: the real worker, with a heart and tools that live in virtual time.

Rule 1: a tool writes down what it does at the moment it does it, under the run and the delivery it works for.
Rule 2: what a try comes to depends on the seed and on which try it is, not on when it happens.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from random import Random  # noqa: TID251 - seeded, and only in tests
from typing import Any

from ordeal import oddities
from ordeal.chance import chance_of
from ordeal.evidence import Effect, Evidence
from ordeal.objects import Disk
from ordeal.plan import Plan
from ordeal.scenes import ROWS, Scene
from petra.clock import Clock
from petra.keychain import Keychain
from petra.kinds import KINDS, Fields
from petra.tools.base import ToolContext
from petra.wire import Assignment, Error, Outcome
from petra.worker import Offer, Worker
from petra.worker.heart import Heart
from petra.worker.work import Work
from petra.worker.worker import Connect

SLOWEST_S = 12.0
"""No try takes longer."""
EFFECTS_MANY = 80
"""Tries in one ordeal after which every one takes long."""

_given: ContextVar[Assignment] = ContextVar("_given")


class VirtualHeart(Heart):
    """A heart that beats on the loop instead of in a thread: in virtual time nothing can hold up the loop."""

    def start(self) -> None:
        """Start beating."""
        self._beats = asyncio.get_running_loop().call_later(self._every_s, self._beat_and_again)

    def stop(self) -> None:
        """Stop for good."""
        self._beats.cancel()

    def hold(self, lease: str, lease_s: float) -> None:
        """Beat for a lease from now on, often enough."""
        before = self._every_s
        super().hold(lease, lease_s)
        if self._every_s < before:
            self._beats.cancel()
            self.start()

    def _beat_and_again(self) -> None:
        self.beat()
        self.start()


class Hand(Worker):
    """The real worker; its tools know which assignment they work for."""

    def __init__(
        self, connect: Connect, offer: Offer, tools: SeededTools, clock: Clock, objects: Disk
    ) -> None:
        super().__init__(
            connect,
            offer,
            registry=tools,
            keychain=Keychain(environ={"PETRA_ORDEAL": "a secret of an ordeal"}),
            jitter=tools.jitter,
            clock=clock,
            objects=objects,
        )
        self.heart = VirtualHeart(self._send, lambda _: None, every_s=offer.heartbeat_s)

    async def _work(self, work: Work) -> None:
        _given.set(work.given)
        await super()._work(work)


class SeededTools:
    """Every kind of tool, with outcomes from a seed."""

    def __init__(
        self,
        seed: int,
        evidence: Evidence,
        *,
        plan: Plan,
        scenes: Mapping[str, Scene],
        tries: Counter[str],
        crash: Callable[[], None],
        worker: str,
    ) -> None:
        self._seed = seed
        self._evidence = evidence
        self._plan = plan
        self._scenes = scenes
        self._tries = tries
        self._crash = crash
        self._worker = worker
        self.jitter = chance_of(seed, worker).random

    def __iter__(self) -> Iterator[str]:
        yield from KINDS

    def __contains__(self, kind: object) -> bool:
        return kind in KINDS

    def specs(self) -> Mapping[str, type[Fields]]:
        """Return the struct of every kind."""
        return KINDS

    async def attempt(self, kind: str, fields: Mapping[str, Any], context: ToolContext) -> Outcome:
        """Do something that is seen in the world, and take a while for it."""
        if kind == "noop":
            return Outcome(status="ok", has_result=False)
        given = _given.get()
        index = (context.scope.get("iter") or {}).get("index", "")
        place = f"{given.run}/{given.chunk}/{index}"
        number = self._tries[place] = self._tries[place] + 1
        chance = chance_of(self._seed, place, number)
        nonce = f"{place}/{given.delivery}/{number}"
        takes = chance.choice((0.0, 0.0, 0.001, 0.1, 1.0, SLOWEST_S * chance.random()))
        if len(self._evidence.ledger) > EFFECTS_MANY:
            takes = SLOWEST_S  # a playbook that goes round for ever does so slowly
        drawn = chance.random()
        await self._take(takes * chance.random(), context)
        self._evidence.ledger.append(
            Effect(
                given.execution, given.run, given.chunk, given.delivery, kind, nonce, self._worker
            )
        )
        await self._take(takes, context)
        if context.cancelled.is_set():
            return Outcome(status="error", error=Error(kind="cancelled", message="told to stop"))
        scene = self._scenes.get(given.execution)
        if scene is None or scene.steady or drawn < 0.75:
            steady = scene is None or scene.steady
            return Outcome(
                status="ok",
                result=self._result(nonce, str(fields.get("code", "")), chance, steady=steady),
            )
        if drawn < 0.97:
            error = Error(kind="server_error", message=nonce, retryable=True)
            return Outcome(status="error", error=error)
        self._crash()
        await asyncio.get_running_loop().create_future()
        raise AssertionError("the dead do not go on")

    def _result(self, nonce: str, code: str, chance: Random, *, steady: bool) -> dict[str, Any]:
        """Make a result: small, large or odd; one that is no data is for scenes that may fail."""
        plan, made = self._plan, dict[str, Any](nonce=nonce)
        if code == "rows":
            pad = "x" * (plan.large // ROWS)
            made["rows"] = [{"n": n, "pad": pad} for n in range(1, ROWS + 1)]
        elif plan.large and chance.random() < 0.3:
            plan.counts["large results"] += 1
            made["pad"] = "x" * plan.large
        if plan.odd and chance.random() < 0.3:
            plan.counts["odd results"] += 1
            made["said"] = oddities.value(chance)
            if not steady and chance.random() < 0.3:
                made["said"] = chance.choice(oddities.HALVES)
        return made

    async def _take(self, seconds: float, context: ToolContext) -> None:
        """Take time, or less of it when told to stop."""
        if seconds and not context.cancelled.is_set():
            over = asyncio.Event()
            context.cancelled.watch(over.set)
            timer = asyncio.get_running_loop().call_later(seconds, over.set)
            try:
                await over.wait()
            finally:
                timer.cancel()
                context.cancelled.watch(None)
