"""Clients in an ordeal: they keep a journal, repeat what was not answered, and now and then ask twice at once.

Rule 1: a command has one id, however often it is asked. Its answer is written down with how far the log was durable at that
moment.
Rule 2: a client that hears nothing does not know; it asks again under the same id, or gives up and leaves it unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random  # noqa: TID251 - seeded, and only in tests
from typing import Any

from ordeal.evidence import Asked, Evidence
from ordeal.plan import Plan
from ordeal.scenes import Scene
from ordeal.words import Words
from petra.engine import Answered, Engine
from petra.engine.admit import InputError
from petra.errors import PetraError
from petra.kernel import State
from petra.kernel import commands as c

TRIES = 12
Reach = Callable[[], Awaitable[Engine]]
"""Gives the engine that is up, once there is one."""


class Client:
    """Asks commands of whatever engine is up."""

    def __init__(
        self,
        name: str,
        chance: Random,
        evidence: Evidence,
        reach: Reach,
        *,
        plan: Plan,
        words: Words,
    ) -> None:
        self._name = name
        self._chance = chance
        self._evidence = evidence
        self._reach = reach
        self._doubles = plan.doubles
        self._words = words
        self._asked = 0

    async def start(self, execution: str, scene: Scene) -> None:
        """Start an execution."""
        asked = self._note(execution, "start")
        workload = {"mark": asked.mark, **self._words.data()}

        async def ask(engine: Engine) -> Answered:
            return await engine.start(
                scene.playbook, workload, execution=execution, command=asked.command,
                allow_unsound=True,
            )  # fmt: skip

        await self._insist(asked, ask)

    async def act(self, execution: str, *, harmless: bool) -> None:
        """Give an execution a command that fits how it stands, or does not."""
        stream = self._evidence.streams.get(execution)
        if stream is None:
            return
        kind = self._chance.choice(_KINDS[:4] if harmless else _KINDS)
        asked = self._note(execution, kind)
        make = self._command(kind, stream.state, asked.mark)
        if make is not None:
            await self._give(asked, make)
        else:
            del self._evidence.journal[asked.command]

    async def cancel(self, execution: str) -> None:
        """Cancel an execution that goes on for too long."""
        asked = self._note(execution, "cancel")
        await self._give(asked, lambda now: c.Cancel(now=now, reason=asked.mark))

    async def _give(self, asked: Asked, make: Callable[[float], c.CallerCommand]) -> None:
        async def ask(engine: Engine) -> Answered:
            return await engine.ask(
                asked.execution, make, command=asked.command, request=[asked.kind, asked.mark]
            )

        await self._insist(asked, ask)

    def _note(self, execution: str, kind: str) -> Asked:
        self._asked += 1
        mark = self._words.mark(f"mark-{self._name}-{self._asked}", fit=kind in ("start", "cancel"))
        command = self._words.mark(f"command-{self._name}-{self._asked}", fit=True)
        asked = Asked(command, execution, kind, mark)
        self._evidence.journal[asked.command] = asked
        return asked

    def _command(
        self, kind: str, state: State, mark: str
    ) -> Callable[[float], c.CallerCommand] | None:
        chance = self._chance
        values: dict[str, Any] = {mark: 1, "flag": chance.random() < 0.7}
        values |= self._words.data()
        match kind:
            case "patch":
                return lambda now: c.PatchCtx(now=now, values=values)
            case "signal":
                return lambda now: c.SendSignal(now=now, name="go", payload=mark)
            case "pause":
                return lambda now: c.Pause(now=now, reason=mark)
            case "resume":
                return lambda now: c.Resume(now=now, actor=mark)
            case "comment" | "complete" if state.items:
                item = chance.choice(sorted(state.items))
                action = chance.choice(("approve", "reject"))
                return lambda now: c.Act(
                    now=now, item=item, act=kind, actor="ada", action=action, reason=mark, admin=True
                )  # fmt: skip
            case _:
                return None

    async def _insist(self, asked: Asked, ask: Callable[[Engine], Awaitable[Answered]]) -> None:
        for _ in range(TRIES):
            both = 1 + (self._chance.random() < self._doubles)
            patience_s = self._chance.choice((1.0, 10.0, 40.0))
            answers = await asyncio.gather(
                *(self._try(asked, ask, patience_s) for _ in range(both))
            )
            if any(answers):
                return

    async def _try(
        self, asked: Asked, ask: Callable[[Engine], Awaitable[Answered]], patience_s: float
    ) -> bool:
        engine = await self._reach()
        asked.tries += 1
        try:
            async with asyncio.timeout(patience_s):
                answered = await ask(engine)
        except TimeoutError:
            return False
        except InputError as error:  # it was not even asked
            durable = self._evidence.version(asked.execution)
            asked.answers.append((asked.execution, str(error), durable))
            return True
        except PetraError:  # a failure that is told: it may have happened or not
            await asyncio.sleep(0.5)
            return False
        durable = self._evidence.version(answered.execution)
        asked.answers.append((answered.execution, answered.refused, durable))
        return True


_KINDS = ("patch", "patch", "signal", "signal", "pause", "resume", "comment", "complete")
