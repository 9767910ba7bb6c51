"""Profiles the process it is imported into, if the benchmarks ask for that; python imports it by its name.

SIGUSR1 writes what there is and begins anew. Only the first thread is seen: the event loop, not the threads of
python tasks.
"""

from __future__ import annotations

import cProfile
import os
import signal
from pathlib import Path

_file = os.environ.get("PETRA_BENCH_PROFILE")

if _file:
    _profile = cProfile.Profile()

    def _write(*_: object) -> None:
        _profile.disable()
        partial = Path(f"{_file}.partial")
        _profile.dump_stats(partial)
        partial.replace(str(_file))
        _profile.clear()
        _profile.enable()

    signal.signal(signal.SIGUSR1, _write)
    _profile.enable()
