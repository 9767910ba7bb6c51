"""The stem of workers as a forked program (``forks.STEM``): what ``python -m petra.worker.stem`` is, but for its start."""

from __future__ import annotations

import sys
from pathlib import Path

from petra.worker import stem


def main() -> None:
    sys.path.insert(0, str(Path.cwd()))  # as for every module that is run
    stem.main(sys.argv[1:])
