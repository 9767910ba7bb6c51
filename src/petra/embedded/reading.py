"""Reading playbooks of files: each text once, however often an execution of it is started.

What a playbook means depends on nothing but its text, unless it names files beside it or calls other playbooks: those are
read anew each time. A file itself is read at every start, so whoever changes it is never answered from memory.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from petra import folder_files
from petra.folder_files import FolderFiles
from petra.library import Gathered, gather
from petra.playbook import Playbook, read_bytes
from petra.playbook.company import tasks
from petra.tools.registry import learn_plug_ins

FILES_MAX: Final = 64
"""Files whose text and playbook are remembered; the one that was started least lately is read anew."""


class Readings:
    """Playbooks that were read, by their file and its bytes."""

    def __init__(self, library: Sequence[Path] = ()) -> None:
        self._library = tuple(library)
        self._known: OrderedDict[str, tuple[bytes, Playbook]] = OrderedDict()

    def around(self, path: str | Path) -> tuple[Playbook, Gathered]:
        """Read a playbook that may run, with what lies around its file and may be called (S16).

        Raises:
            InvalidPlaybookError: it has errors, or what it calls has.
        """
        name = os.fspath(path)
        with open(name, "rb") as opened:  # noqa: PTH123 - at every start, and half the price
            raw = opened.read()
        known = self._known.get(name)
        if known is not None and known[0] == raw:
            self._known.move_to_end(name)
            return known[1], Gathered()
        self._known.pop(name, None)
        file = Path(path)
        learn_plug_ins()
        files = FolderFiles(file.parent)
        playbook = read_bytes(raw, str(file), files=files).checked()
        if not files.was_asked and not any(task.kind == "playbook" for task in tasks(playbook)):
            self._known[name] = raw, playbook
            if len(self._known) > FILES_MAX:
                self._known.popitem(last=False)
        return playbook, _gathered(file, playbook, self._library)


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


def _gathered(file: Path, playbook: Playbook, library: Sequence[Path]) -> Gathered:
    found = gather(file, playbook, library, read=folder_files.read_file)
    for reading in found.faulty:
        reading.checked()
    return found
