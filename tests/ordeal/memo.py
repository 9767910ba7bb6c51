"""What makes ordeals short and repeatable: readings are remembered, decisions are bounded, ids come from the seed.

Reading and writing playbooks are pure functions, so remembering what they gave changes nothing but the time it takes.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from random import Random  # noqa: TID251 - seeded, and only in tests
from typing import Any

from petra.playbook import Playbook, read, to_yaml
from petra.playbook.read import Reading

PACKAGES = ("petra.engine.", "petra.worker.")

EVENTS_MAX = 200
"""Events of one decision at which a random playbook that goes round on the server is stopped."""

PIECE_BYTES, READ_BYTES = 16 * 1024, 96 * 1024
"""Lists are cut while they are small, so that not much has to be moved for it."""

_written: dict[int, tuple[Playbook, str]] = {}


@lru_cache(maxsize=2_000)
def _read(text: str, name: str = "") -> Reading:
    return read(text, name)


def _to_yaml(playbook: Playbook) -> str:
    known = _written.get(id(playbook))
    if known is None or known[0] is not playbook:
        known = _written[id(playbook)] = (playbook, to_yaml(playbook))
    return known[1]


@contextmanager
def remembering(chance: Random) -> Iterator[None]:
    """Remember readings and draw the ids of leases from the seed, while it lasts."""
    put: list[tuple[Any, str, Any]] = []

    def replace(module: Any, name: str, made: Any) -> None:
        put.append((module, name, getattr(module, name)))
        setattr(module, name, made)

    replace(import_module("petra.kernel.program"), "EVENTS_MAX", EVENTS_MAX)
    for place in ("petra.kernel.lists", "petra.engine.cutting"):
        replace(import_module(place), "PIECE_BYTES", PIECE_BYTES)
    replace(import_module("petra.kernel.lists"), "READ_BYTES", READ_BYTES)
    replace(secrets, "token_hex", lambda size=32: chance.randbytes(size).hex())
    replace(secrets, "token_bytes", lambda size=32: chance.randbytes(size))
    for module in [m for name, m in list(sys.modules.items()) if name.startswith(PACKAGES)]:
        for name, true, made in (("read", read, _read), ("to_yaml", to_yaml, _to_yaml)):
            if getattr(module, name, None) is true:
                replace(module, name, made)
    try:
        yield
    finally:
        for module, name, true in reversed(put):
            setattr(module, name, true)
