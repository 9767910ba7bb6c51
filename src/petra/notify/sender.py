"""The sender: takes what waits in the store to where it belongs, until it got there or is given up.

Rule 1: a notification is a row before it is sent, and a sent one after; in between a process may die. What it was doing
is done again, under the same id, by which the other side knows it.
Rule 2: one engine sends for a channel, the one that has the shard of its name; each channel goes its own pace.
Rule 3: what nobody needs to hear any more is not sent: an execution that ended in time is not late.
Rule 4: what is given up is said in the log, to whoever follows the server, and stays listed; it can be tried again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final

import msgspec

from petra.clock import Clock, doze
from petra.notify.carriers import Carriers
from petra.notify.channels import ChannelSpec, NotifyFile
from petra.notify.links import ActLink, Links
from petra.notify.messages import Outgoing, Press, digest_id, outgoing
from petra.notify.tries import Try
from petra.playbook.notify import OF_ITEMS
from petra.store.base import Store
from petra.store.errors import FullError, UnavailableError, UncertainError
from petra.store.rows import NotificationRow

POLL_S: Final = 15.0
"""How often the sender looks by itself; what is committed here wakes it."""
TAKEN: Final = 100
DIGEST_MAX: Final = 500
FIRST_RETRY_S: Final = 5.0
LONGEST_RETRY_S: Final = 21_600.0
HOLD_S: Final = 60.0
"""How long a channel that does not answer is left alone, at most; meanwhile nothing more is tried there."""
MINUTE_S: Final = 60.0
_OPEN: Final = ("offered", "allocated", "started", "suspended")
_AWAY: Final = (UnavailableError, UncertainError, FullError)
_log = logging.getLogger(__name__)
_replace = msgspec.structs.replace


class Sender:
    """Sends what waits in a store."""

    def __init__(  # noqa: PLR0913 - what it works with
        self,
        store: Store,
        clock: Clock,
        file: NotifyFile,
        carriers: Carriers,
        *,
        links: Links | None = None,
        mine: Callable[[], Collection[int] | None] = lambda: None,
        gave_up: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Make one; ``mine`` are the shards to send for, and ``gave_up`` is told what was given up."""
        self._store = store
        self._clock = clock
        self._file = file
        self._carriers = carriers
        self._links = links
        self._mine = mine
        self._gave_up = gave_up
        self._woken = asyncio.Event()
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._held: dict[str, float] = {}
        self._sent_at: defaultdict[str, deque[float]] = defaultdict(deque)
        self._forgot = float("-inf")
        self.tries: Counter[tuple[str, str]] = Counter()
        """What tries came to, by channel: ``sent``, ``failed`` (it is tried again), ``given_up``."""

    def wake(self) -> None:
        """Something was committed that waits to be sent."""
        self._woken.set()

    async def run(self) -> None:
        """Send, for ever."""
        while True:
            self._woken.clear()
            try:
                next_due = await self._look()
                await self._forget_old()
            except _AWAY:
                next_due = None
            seconds = POLL_S if next_due is None else next_due - self._clock.now()
            if self._file.channels:
                await doze(self._clock, min(max(seconds, 0.05), POLL_S), self._woken)
            else:  # nothing can be sent: what is to be given up wakes us
                await self._woken.wait()

    async def _look(self) -> float | None:
        """Begin to send for every channel of which something is due; return when to look again."""
        now = self._clock.now()
        waits: list[float] = []
        for channel, due in (await self._store.notifications.channels(shards=self._mine())).items():
            begin = max(due, self._held.get(channel, due))
            if channel in self._busy:
                continue  # it wakes us when it is through
            if begin <= now:
                task = asyncio.create_task(self._drain(channel), name=f"notify {channel}")
                self._busy[channel] = task
                task.add_done_callback(partial(self._through, channel))
            else:
                waits.append(begin)
        return min(waits, default=None)

    def _through(self, channel: str, task: asyncio.Task[None]) -> None:
        del self._busy[channel]
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("channel '%s': it cannot be sent to", channel, exc_info=error)
            self._held[channel] = self._clock.now() + HOLD_S
        self.wake()

    async def flush(self, within_s: float) -> None:
        """Send what is due now, once, and let go of the rest: it is sent by whoever comes next."""
        try:
            async with asyncio.timeout(within_s):
                await self._look()
                while self._busy:
                    await asyncio.wait(set(self._busy.values()))
        except (TimeoutError, *_AWAY):
            pass
        finally:
            await self.close()

    async def close(self) -> None:
        """Stop at once."""
        tasks = list(self._busy.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # One channel

    async def _drain(self, name: str) -> None:
        """Send what is due of a channel, one message after the other."""
        channel = self._file.channels.get(name)
        rows = await self._store.notifications.due(name, self._clock.now(), limit=TAKEN)
        if channel is None:
            await self._given_up(rows, f"there is no channel '{name}' in notify.yaml")
            return
        for message in await self._messages(channel, rows):
            wanted = await self._wanted(message.rows)
            if not wanted:
                continue
            await self._room(name, channel)
            tried = await self._carriers.send(channel, self._with_acts(channel, message))
            await self._settle(channel, message.rows, tried)
            if tried.away:
                self._hold(name, message.rows[0])
                return

    async def _messages(
        self, channel: ChannelSpec, rows: Sequence[NotificationRow]
    ) -> list[Outgoing]:
        """Put together what goes out as one, under an id that stays."""
        source = self._file.url or "petra"
        if channel.digest_s is None:
            return [outgoing(row.sending or row.id, [row], source) for row in rows]
        fresh: defaultdict[str, list[NotificationRow]] = defaultdict(list)
        for row in rows:
            if not row.sending:
                fresh[row.person].append(row)
        for some in fresh.values():
            await self._bind(some[:DIGEST_MAX])
        names = dict.fromkeys(row.sending for row in rows if row.sending)
        names |= dict.fromkeys(digest_id(some[:DIGEST_MAX]) for some in fresh.values())
        return [
            outgoing(name, together, source)
            for name in names
            if (together := await self._store.notifications.together(name))
        ]

    async def _bind(self, rows: Sequence[NotificationRow]) -> None:
        """Choose the id under which some go out together, before they do."""
        name = digest_id(rows)
        await self._store.notifications.settle([_replace(row, sending=name) for row in rows])

    async def _wanted(self, rows: Sequence[NotificationRow]) -> bool:
        """Whether somebody still needs to hear it; what nobody needs is settled as that."""
        if len(rows) != 1:
            return True
        (row,) = rows
        if row.about == "late":
            stored = await self._store.execution(row.execution)
            over = stored is None or stored.row.ended is not None
        elif row.about in OF_ITEMS and row.about != "expired":
            item = await self._store.work_item(row.execution, item_of(row))
            over = item is None or item.state not in _OPEN
        else:
            over = False
        if over:
            now = self._clock.now()
            await self._store.notifications.settle([_replace(row, state="needless", updated=now)])
        return not over

    async def _room(self, name: str, channel: ChannelSpec) -> None:
        """Wait until the channel takes another message this minute."""
        if channel.per_minute is None:
            return
        sent, clock = self._sent_at[name], self._clock
        while sent and sent[0] <= clock.monotonic() - MINUTE_S:
            sent.popleft()
        if len(sent) >= channel.per_minute:
            await clock.sleep(sent[0] + MINUTE_S - clock.monotonic())
            sent.popleft()
        sent.append(clock.monotonic())

    def _with_acts(self, channel: ChannelSpec, message: Outgoing) -> Outgoing:
        """Add the links that act, where a message is for one person and about one work item."""
        row, told = message.rows[0], message.told[0]
        base, item = self._file.url, told.item
        if not (self._links and base and row.person and item) or len(message.rows) != 1:
            return message
        until = row.created + self._file.link_s
        roles = [role for role, users in channel.roles.items() if row.person in users]
        acts = tuple(
            Press(action, f"{base.rstrip('/')}/act?link={self._links.token(link)}")
            for action in item.get("actions", ())
            for link in [ActLink(row.execution, str(item["id"]), action, row.person, until, roles)]
        )
        return _replace(message, acts=acts)

    def _hold(self, name: str, row: NotificationRow) -> None:
        self._held[name] = self._clock.now() + min(HOLD_S, retry_s(row.attempts + 1, row.id))

    # What came of it

    async def _settle(
        self, channel: ChannelSpec, rows: Sequence[NotificationRow], tried: Try
    ) -> None:
        attempts = rows[0].attempts + 1
        if tried.error and (tried.final or attempts >= channel.attempts):
            self.tries[rows[0].channel, "given_up"] += 1
            await self._given_up(rows, tried.error, attempts)
            return
        self.tries[rows[0].channel, "failed" if tried.error else "sent"] += 1
        now = self._clock.now()
        later = retry_s(attempts, rows[0].id) if tried.after_s is None else tried.after_s
        await self._kept(
            [
                _replace(
                    row, attempts=attempts, updated=now, error=tried.error,
                    state="waiting" if tried.error else "sent", due=now + later if tried.error else row.due,
                )
                for row in rows
            ]
        )  # fmt: skip

    async def _given_up(
        self, rows: Sequence[NotificationRow], error: str, attempts: int = 0
    ) -> None:
        now = self._clock.now()
        await self._kept(
            [
                _replace(row, state="given_up", error=error, updated=now, attempts=attempts)
                for row in rows
            ]
        )
        for row in rows:
            words = (
                f"nobody was told of '{row.about}' of {row.execution} by '{row.channel}': {error}; "
                f"'petra notifications retry {row.id}' tries again"
            )
            _log.warning("%s", words)
            self._gave_up(words)

    async def _kept(self, rows: Sequence[NotificationRow]) -> None:
        """Store what became of some, however long that takes: else they would go out again."""
        while True:
            try:
                await self._store.notifications.settle(rows)
            except _AWAY:
                await self._clock.sleep(1.0)
            else:
                return

    async def _forget_old(self) -> None:
        now = self._clock.now()
        if now - self._forgot >= self._file.keep_s / 10:
            self._forgot = now
            await self._store.notifications.forget(now - self._file.keep_s)


def item_of(row: NotificationRow) -> str:
    """Return the work item that a notification is about."""
    return str((msgspec.json.decode(row.body).get("item") or {}).get("id", ""))


def retry_s(attempts: int, name: str) -> float:
    """Return how long to wait after so many tries: fourfold each time, up to a quarter of a day, a little apart."""
    apart = hashlib.sha256(f"{name} {attempts}".encode()).digest()[0] / 1024
    return min(FIRST_RETRY_S * 4.0 ** (attempts - 1), LONGEST_RETRY_S) * (1 + apart)
