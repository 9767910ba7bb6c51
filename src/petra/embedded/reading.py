"""Reading playbooks of files: each text once, however often an execution of it is started.

What a playbook means depends on its text, on the files beside it that it names, and on the playbooks it calls. All of them
are looked at again at every start, so whoever changes one is never answered from memory; they are parsed and checked anew
only if one has changed.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from petra import folder_files
from petra.folder_files import FolderFiles
from petra.library import Gathered, gather
from petra.playbook import Playbook, Reading, read_bytes
from petra.playbook.company import tasks
from petra.sightings import Sightings
from petra.tools.registry import learn_plug_ins

FILES_MAX: Final = 64
"""Playbooks that are remembered, with those they call; the one that was started least lately is read anew."""


class _Known(Struct, frozen=True):
    raw: bytes
    playbook: Playbook
    gathered: Gathered
    seen: Sightings

    def __len__(self) -> int:
        """How many playbooks it holds."""
        return 1 + len(self.gathered.readings)


class Readings:
    """Playbooks that were read, by their file and its bytes."""

    def __init__(self, library: Sequence[Path] = ()) -> None:
        self._library = tuple(library)
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def around(self, path: str | Path) -> tuple[Playbook, Gathered]:
        """Read a playbook that may run, with what lies around its file and may be called (S16).

        Raises:
            InvalidPlaybookError: it has errors, or what it calls has.
        """
        name = os.fspath(path)
        with open(name, "rb") as opened:  # noqa: PTH123 - at every start, and half the price
            raw = opened.read()
        known = self._known.get(name)
        if known is not None and known.raw == raw and known.seen.still_hold():
            self._known.move_to_end(name)
            return known.playbook, known.gathered
        self._known.pop(name, None)
        file, seen = Path(path), Sightings()
        learn_plug_ins()
        playbook = read_bytes(raw, str(file), files=FolderFiles(file.parent, seen)).checked()
        gathered = Gathered()
        if any(task.kind == "playbook" for task in tasks(playbook)):
            gathered = _gathered(file, playbook, self._library, seen)
        self._known[name] = _Known(raw, playbook, gathered, seen)
        while sum(map(len, self._known.values())) > FILES_MAX and len(self._known) > 1:
            self._known.popitem(last=False)
        return playbook, gathered


def read_file(file: Path) -> Playbook:
    """Read a playbook that may run.

    Raises:
        InvalidPlaybookError: it has errors.
    """
    learn_plug_ins()
    return folder_files.read_file(file).checked()


def read_around(file: Path, library: Sequence[Path] = ()) -> tuple[Playbook, Gathered]:
    """Read a playbook that may run, with what lies around its file and may be called (S16).

    Raises:
        InvalidPlaybookError: it has errors, or what it calls has.
    """
    return Readings(library).around(file)


def _gathered(file: Path, playbook: Playbook, library: Sequence[Path], seen: Sightings) -> Gathered:
    def read(file: Path) -> Reading:
        return folder_files.read_file(file, seen=seen)

    gathered = gather(file, playbook, library, read=read, seen=seen)
    for reading in gathered.faulty:
        reading.checked()
    return gathered
