"""Plug-ins: what other packages announce by entry points.

``importlib.metadata`` finds them, and takes longer to load than the rest of a small program. So it is loaded only where
a look at the installed packages says that one of them announces something in the group.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_ABOUT = (".dist-info", ".egg-info")


def entry_points(group: str) -> list[EntryPoint]:
    """Return what installed packages announce in a group."""
    if not any(_announces(place, f"[{group}]") for place in sys.path):
        return []
    from importlib.metadata import entry_points as found  # noqa: PLC0415 - that is the point

    return list(found(group=group))


def _announces(place: str, heading: str) -> bool:
    """Tell whether a package in a folder of the path may announce something; of an archive nobody knows."""
    try:
        with os.scandir(place or ".") as entries:
            about = [entry.path for entry in entries if entry.name.endswith(_ABOUT)]
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(heading in _text(f"{folder}/entry_points.txt") for folder in about)


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as opened:  # noqa: PTH123 - there are hundreds of them
            return opened.read()
    except (OSError, UnicodeDecodeError):
        return ""
