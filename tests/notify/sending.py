"""A sender on a store, whose time can be moved on, for tests with real receivers."""

from __future__ import annotations

from typing import Any

import msgspec

from petra.clock import SystemClock
from petra.keychain import KeychainError
from petra.notify import ChannelSpec, Links, NotifyFile, Sender
from petra.notify.carriers import Carriers
from petra.notify.messages import Saying
from petra.store.memory import MemoryStore
from petra.store.rows import NotificationRow
from petra.testing.store_rows import applied, make_next, make_start


class MovedClock(SystemClock):
    """The clock of the machine, moved on; who sleeps moves it."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return super().now() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.ahead += seconds


class Known:
    """Credentials that a test knows."""

    def __init__(self, **values: Any) -> None:
        self.values = values

    async def fetch(self, name: str, version: int | None = None, *, dry: bool = False) -> Any:  # noqa: ARG002
        if name not in self.values:
            raise KeychainError(f"no credential '{name}'", "not_found")
        return self.values[name]


class Sending:
    """A store with a sender."""

    def __init__(self, file: NotifyFile, links: Links | None = None, **secrets: Any) -> None:
        self.clock = MovedClock()
        self.store = MemoryStore(clock=self.clock.now)
        self.gave_up: list[str] = []
        self.sender = Sender(
            self.store, self.clock, file, Carriers(Known(**secrets), self.clock), links=links,
            gave_up=self.gave_up.append,
        )  # fmt: skip
        self._made = 0

    async def tell(self, channel: str = "hook", **more: Any) -> NotificationRow:
        """Commit an execution with one notification."""
        self._made += 1
        now = self.clock.now()
        told = Saying(
            title="orders failed", text="no money", execution={"id": "e", "playbook": "p"}
        )
        row = NotificationRow(
            id=f"ntf_{self._made}", execution=f"e{self._made}", channel=channel, about="failed", due=now, created=now,
            updated=now, body=msgspec.json.encode(told),
        )  # fmt: skip
        row = msgspec.structs.replace(row, **more)
        if await self.store.execution(row.execution) is None:
            await applied(self.store, make_start(row.execution, notifications=(row,)))
        else:
            await applied(self.store, make_next(row.execution, 1, notifications=(row,)))
        return row

    async def flush(self, ahead: float = 0.0) -> None:
        """Move on and send what is due."""
        self.clock.ahead += ahead
        await self.sender.flush(60.0)

    async def row(self, name: str) -> NotificationRow:
        found = await self.store.notifications.notification(name)
        assert found is not None
        return found


def hook(url: str, **more: Any) -> NotifyFile:
    """Return a file with one channel that may be on this machine."""
    spec = {"kind": "webhook", "url": url, "allow_private": True, "timeout_s": 10.0, **more}
    return NotifyFile(channels={"hook": ChannelSpec(**spec)})
