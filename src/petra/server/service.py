"""What the handlers share: the desk, who may come in, and when this server began."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from petra.clock import Clock
from petra.desk import Desk
from petra.engine import Engine
from petra.server.besides import Besides
from petra.server.identity import Identity

API: str = "/api/v1"


@dataclass(slots=True)
class Service:
    """A server and its parts."""

    desk: Desk
    identity: Identity
    clock: Clock
    home: Path
    version: str
    prefix: str = ""
    besides: Besides = field(default_factory=Besides)
    draining: bool = False

    @property
    def engine(self) -> Engine:
        """The engine behind the desk."""
        return self.desk.engine

    @property
    def base(self) -> str:
        """Where the API is."""
        return f"{self.prefix}{API}"
