"""Ids of executions: made, for whoever does not choose one; and kept apart by namespace, for whoever does.

An id is unique in a store, so a taken one would tell that somebody has it. What is chosen in a namespace is therefore written
``NAMESPACE::ID``, and an id of the default namespace has no ``::``: nobody meets anybody else's. Made ids cannot be guessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Final

from petra.clock import Clock
from petra.engine.admit import InputError
from petra.namespaces import DEFAULT

BETWEEN: Final = "::"
"""What stands between a namespace and an id that was chosen in it."""
ID_TRIES: Final = 1_000
_MADE: Final = re.compile(r"[0-9a-f]{12}-[0-9a-f]{12}")


def new_id(clock: Clock) -> str:
    """Make an id for an execution: time first, so that ids sort by age."""
    stamp = int(clock.now() * 1000).to_bytes(6, "big").hex()
    return f"{stamp}-{os.urandom(6).hex()}"


def new_id_of(clock: Clock, is_meant: Callable[[str], bool]) -> str:
    """Make an id of a kind, if one is soon found."""
    ids = (new_id(clock) for _ in range(ID_TRIES))
    return next(filter(is_meant, ids), "") or new_id(clock)


def chosen_id(namespace: str, given: str) -> str:
    """Return the id of an execution for which somebody chose one in a namespace.

    Raises:
        InputError: it is written as one of another namespace.
    """
    place, between, _ = given.partition(BETWEEN)
    if between and (place != namespace or namespace == DEFAULT):
        raise InputError(
            f"the id '{given[:100]}' is not of namespace '{namespace}': '::' follows its name only"
        )
    return given if between or namespace == DEFAULT else f"{namespace}{BETWEEN}{given}"


def must_be_own(namespace: str, given: str) -> None:
    """Let nobody name an id that may be of another namespace: a made one, or one as ``chosen_id`` returns it.

    Raises:
        InputError: it may be.
    """
    if not _MADE.fullmatch(given) and chosen_id(namespace, given) != given:
        raise InputError(f"write the id as '{namespace}{BETWEEN}{given[:100]}'")
