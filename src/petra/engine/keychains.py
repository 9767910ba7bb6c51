"""Keychains: before an execution begins, workers say whether the secrets of its playbook are there (S20).

Rule 1: every worker of a pool that has something to run is asked, at each start: what was missing may have been
mended, what was there may be gone. Starts at the same time share an answer.
Rule 2: what one of them misses refuses the start.
Whether a stored credential is there is asked of this server, which would give it to those workers.
Rule 3: nobody waits for a pool without workers, or for a worker that does not answer: whoever gets a run looks before it
begins, and what is missing then is an incident. A worker that is just being started is waited for.
"""

from __future__ import annotations

import asyncio
from functools import partial

from msgspec import Struct, field

from petra.clock import Clock, doze
from petra.engine.giving import SecretKeeper
from petra.engine.limits import COMING_S, MISSING_MAX, SECRETS_S, WORDS_MAX
from petra.engine.workers import ANYTHING, Bounds, Link
from petra.kernel import Program
from petra.keychain.stored import stored_as
from petra.kinds import SERVER_KINDS
from petra.namespaces import DEFAULT
from petra.playbook import Playbook
from petra.wire import frames

_Question = tuple[Link, str]


class Keychains(Struct, eq=False):
    """Asks workers about the secrets of playbooks."""

    _clock: Clock
    _keeper: SecretKeeper | None = None
    coming: set[str] = field(default_factory=set)
    """Pools that somebody starts workers of."""
    _workers: dict[Link, tuple[str, Bounds]] = field(default_factory=dict)
    _asked: dict[_Question, asyncio.Future[frames.Checked]] = field(default_factory=dict)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def gives(self) -> bool:
        """Whether workers may ask for stored credentials."""
        return self._keeper is not None

    async def missing(self, program: Program, namespace: str = DEFAULT) -> list[str]:
        """Return what workers miss of the secrets of a playbook in a namespace, each with the next move."""
        if not program.playbook.keychain:
            return []
        pools = _pools(program.playbook)
        for pool in sorted(pools & self.coming):
            await self._wait_for(pool)
        said: dict[str, None] = {}
        questions = [
            (pool, self._ask(link, program))
            for link, (pool, bounds) in self._workers.items()
            if pool in pools and (bounds.namespaces is None or namespace in bounds.namespaces)
        ]
        for pool, answer in questions:
            checked = await asyncio.shield(answer)  # others may wait for it too
            missing = [
                *checked.missing,
                *await self._not_stored(program.playbook, namespace, pool, checked.stored),
            ]
            said |= dict.fromkeys(_printable(secret, pool) for secret in missing[:MISSING_MAX])
        return list(said)[:MISSING_MAX]

    async def _not_stored(
        self, playbook: Playbook, namespace: str, pool: str, names: list[str]
    ) -> list[str]:
        """Return why workers of a pool would not be given stored credentials, by the entries that name them."""
        if self._keeper is None:
            return []
        entries = {stored_as(entry): entry.name for entry in reversed(playbook.keychain)}
        lacks = [
            (name, await self._keeper.lacks(namespace, pool, name)) for name in names[:MISSING_MAX]
        ]
        return [f"keychain '{entries.get(name, name)}': {why}" for name, why in lacks if why]

    def _ask(self, link: Link, program: Program) -> asyncio.Future[frames.Checked]:
        key = link, program.digest
        answer = self._asked.get(key)
        if answer is None:
            answer = self._asked[key] = asyncio.get_running_loop().create_future()
            nothing = frames.Checked(digest=program.digest)
            timer = self._clock.call_later(SECRETS_S, partial(self._take, key, nothing))
            answer.add_done_callback(lambda _: timer.cancel())
            text = program.text
            link.send(frames.PlaybookText(digest=program.digest, text=text, gives=self.gives))
        return answer

    def _take(self, key: _Question, checked: frames.Checked) -> None:
        answer = self._asked.pop(key, None)
        if answer is not None and not answer.done():
            answer.set_result(checked)

    async def _wait_for(self, pool: str) -> None:
        until = self._clock.monotonic() + COMING_S
        while pool in self.coming and pool not in {served for served, _ in self._workers.values()}:
            left = until - self._clock.monotonic()
            if left <= 0:
                return
            self._came.clear()
            await doze(self._clock, left, self._came)

    # What workers say

    def came(self, link: Link, pool: str, bounds: Bounds = ANYTHING) -> None:
        """A worker is there that may be asked."""
        self._workers[link] = pool, bounds
        self._came.set()

    def answered(self, link: Link, frame: frames.Checked) -> None:
        """A worker says what it misses."""
        self._take((link, frame.digest), frame)

    def gone(self, link: Link) -> None:
        """A worker takes no more work: nobody waits for what it has to say."""
        self._workers.pop(link, None)
        for key in [key for key in self._asked if key[0] is link]:
            self._take(key, frames.Checked(digest=key[1]))


def _pools(playbook: Playbook) -> set[str]:
    """Return the pools that a playbook has something to run for."""
    return {
        step.spec.pool
        for step in playbook.workflow
        if step.spec.compensate or any(task.kind not in SERVER_KINDS for task in step.tool)
    }


def _printable(text: str, pool: str) -> str:
    """Return the words of a worker, in characters that can be printed and not too many of them."""
    words = text[:WORDS_MAX]
    plain = words if words.isprintable() else ascii(words)[1:-1]
    return plain if pool == "default" else f"{plain} (pool '{pool}')"
