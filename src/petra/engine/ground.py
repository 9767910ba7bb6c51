"""The ground that the parts of an engine stand on: its store and time, which executions are its own, what arrives, who hears."""

from __future__ import annotations

from msgspec import Struct

from petra.clock import Clock
from petra.engine.cache import Cache
from petra.engine.feed import Feed
from petra.engine.inbox import Inbox
from petra.engine.life import Life
from petra.engine.scope import Scope
from petra.engine.shards import Shards
from petra.store.base import Store
from petra.store.bus import Bus


class Ground(Struct, frozen=True, kw_only=True):
    """What every part may use; each takes of it what it needs when it is made."""

    store: Store
    clock: Clock
    bus: Bus
    life: Life
    scope: Scope
    shards: Shards
    cache: Cache
    inbox: Inbox
    feed: Feed
