"""Stored credentials as a worker finds them: its own first, then those that its server gives (S20).

Rule 1: a server is asked under a lease of a run that this worker has, of the very playbook and namespace that they are for.
Rule 2: what one namespace was given, a run of another one never sees: each has its own (``petra.worker.playbooks``).
Rule 3: a question goes out again on a new connection; who gets no answer for ``ANSWER_S`` is told so, and may try again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from petra.clock import Clock
from petra.keychain import Credentials, KeychainError
from petra.keychain.credentials import Later, NoCredentials
from petra.wire import frames as f

ANSWER_S: Final = 30.0
LeasesOf = Callable[[str, str], list[str]]
"""Gives the leases of runs that a worker has now of a playbook, in a namespace."""


class Revealing:
    """Asks a server for stored credentials."""

    def __init__(
        self,
        send: Callable[[f.AnyFrame], bool],
        leases: LeasesOf,
        clock: Clock,
        own: Credentials | None = None,
    ) -> None:
        """Make one for a worker that may have some of its ``own``."""
        self._send = send
        self._leases = leases
        self._clock = clock
        self.own: Credentials = own or NoCredentials()
        self._number = 0
        self._open: dict[int, tuple[f.Reveal, asyncio.Future[f.Revealed]]] = {}

    def repeat(self) -> None:
        """Ask again what was not answered: there is another connection."""
        for question, _ in self._open.values():
            self._send(question)

    def answered(self, frame: f.Revealed) -> None:
        """Take an answer."""
        _, waiting = self._open.pop(frame.number, (None, None))
        if waiting is not None and not waiting.done():
            waiting.set_result(frame)

    async def ask(
        self, playbook: str, namespace: str, name: str, version: int | None, *, dry: bool
    ) -> Any:
        """Return a credential that the server has for a playbook in a namespace.

        Raises:
            KeychainError: the server does not give it, or does not answer.
        """
        revealed = f.Revealed(
            number=0, problem=f"no run here needs credential '{name}'", kind="connection"
        )
        for lease in self._leases(playbook, namespace):
            revealed = await self._answer(lease, name, version, dry=dry)
            if revealed.kind != "connection":
                break  # another lease would get the same answer
        if revealed.problem:
            raise KeychainError(revealed.problem, revealed.kind)
        return revealed.value

    async def _answer(self, lease: str, name: str, version: int | None, *, dry: bool) -> f.Revealed:
        self._number += 1
        number = self._number
        question = f.Reveal(number=number, lease=lease, name=name, version=version, dry=dry)
        waiting: asyncio.Future[f.Revealed] = asyncio.get_running_loop().create_future()
        self._open[number] = question, waiting
        late = f.Revealed(
            number=number, problem=f"the server does not answer for credential '{name}'", kind="connection"
        )  # fmt: skip
        timer = self._clock.call_later(ANSWER_S, lambda: self.answered(late))
        self._send(question)
        try:
            return await waiting
        finally:
            timer.cancel()
            self._open.pop(number, None)


class GivenCredentials(Struct, frozen=True):
    """The stored credentials of one playbook in one namespace."""

    revealing: Revealing
    playbook: str
    namespace: str

    async def fetch(self, name: str, version: int | None = None, *, dry: bool = False) -> Any:
        """Return a credential of this worker, or one that its server gives; see ``Credentials``."""
        try:
            return await self.revealing.own.fetch(name, version, dry=dry)
        except KeychainError as error:
            if error.kind != "not_found":
                raise
        revealed = await self.revealing.ask(self.playbook, self.namespace, name, version, dry=dry)
        if dry:
            raise Later
        return revealed


class WantedCredentials(Struct, frozen=True):
    """Notes which stored credentials a server would be asked for; it asks for none."""

    own: Credentials
    wanted: dict[str, None]

    async def fetch(self, name: str, version: int | None = None, *, dry: bool = False) -> Any:
        """Return a credential of this worker, or note that it is wanted; see ``Credentials``."""
        try:
            return await self.own.fetch(name, version, dry=dry)
        except KeychainError as error:
            if error.kind != "not_found":
                raise
        self.wanted[name] = None
        raise Later
