"""Notifying: what an engine tells people and systems, and who sends it.

Rule 1: an engine without a home writes down what its playbooks want to be told, and sends nothing.
Rule 2: at the end what is due is sent once, if that is quick; the rest is sent by whoever opens the store next.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from petra.engine.herald import Herald
from petra.engine.limits import NOTIFY_FLUSH_S
from petra.engine.news import Notice, Topic

if TYPE_CHECKING:
    from petra.engine.engine import Engine
    from petra.keychain import Credentials
    from petra.notify import Links, NotifyFile, Sender


class Notifying:
    """What is told by an engine."""

    sender: Sender | None = None

    def __init__(
        self,
        file: NotifyFile | None = None,
        credentials: Credentials | None = None,
        home: Path | None = None,
    ) -> None:
        """Make one; without a ``file`` nothing is sent, and without a ``home`` no links that act."""
        self.file = file
        self.herald = Herald(file)
        self.links: Links | None = None
        if home is not None and file is not None and file.url:
            from petra.notify import Links  # noqa: PLC0415 - only where somebody is told

            self.links = Links.of(home)
        self._credentials = credentials

    def begun(self, engine: Engine) -> Self:
        """Send for an engine, from when it runs."""
        if self.file is None:
            return self
        from petra.keychain import NoCredentials  # noqa: PLC0415 - only where somebody is told
        from petra.notify import Sender  # noqa: PLC0415
        from petra.notify.carriers import Carriers  # noqa: PLC0415

        carriers = Carriers(self._credentials or NoCredentials(), engine.clock)
        self.sender = Sender(
            engine.store, engine.clock, self.file, carriers, links=self.links,
            mine=engine.shards.mine,
            gave_up=lambda words: engine.feed.tell(Topic.WORKERS, Notice(about="trouble", text=words)),
        )  # fmt: skip
        return self

    def wake(self) -> None:
        """Something is durable that waits to be sent."""
        if self.sender is not None:
            self.sender.wake()

    async def flush(self) -> None:
        """Send what is due, at the end."""
        if self.sender is not None:
            await self.sender.flush(NOTIFY_FLUSH_S)

    async def close(self) -> None:
        """Stop."""
        if self.sender is not None:
            await self.sender.close()
