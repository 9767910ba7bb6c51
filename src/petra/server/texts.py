"""Playbooks out of texts: short ones at once, long ones beside the engine's loop, those that stay the same only once."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from petra.playbook import InvalidPlaybookError, Playbook, read
from petra.playbook.problems import Problem
from petra.server.long_work import LongWork
from petra.store.rows import PlaybookRow as Row

AT_ONCE_CHARS = 4_096
"""So long a text takes some milliseconds to read; the engine's loop does not wait longer than that."""
KEPT_MAX = 64


class _Read(NamedTuple):
    """What another process makes of a text: plain data, that can be sent back."""

    playbook: Playbook | None
    problems: list[Problem]


class Texts:
    """Reads playbooks; the last ones that were stored are kept as they were read."""

    def __init__(self, long_work: LongWork) -> None:
        self._long_work = long_work
        self._kept: OrderedDict[str, Playbook] = OrderedDict()

    async def read(self, text: str, name: str, /, *, checks: bool = True) -> Playbook:
        """Read a playbook, and check it unless that was done when it came in.

        Raises:
            InvalidPlaybookError: it has errors.
            ProblemError: it takes too long, or too much waits already.
        """
        if len(text) <= AT_ONCE_CHARS:
            return read(text, name, checks=checks).checked()
        work = _read if checks else _read_stored
        return _checked(await self._long_work.do(work, text), text, name)

    async def stored(self, row: Row) -> Playbook:
        """Read a playbook that was checked when it was stored; under its digest it never changes."""
        known = self._kept.get(row.digest)
        if known is None:
            known = await self.read(row.source.decode(), row.path, checks=False)
            self._kept[row.digest] = known
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        self._kept.move_to_end(row.digest)
        return known


def _read(text: str) -> _Read:
    reading = read(text)
    return _Read(reading.playbook if reading.ok else None, list(reading.problems))


def _read_stored(text: str) -> _Read:
    reading = read(text, checks=False)
    return _Read(reading.playbook if reading.ok else None, list(reading.problems))


def _checked(done: _Read, text: str, name: str) -> Playbook:
    if done.playbook is None:
        raise InvalidPlaybookError(done.problems, text, name)
    return done.playbook
