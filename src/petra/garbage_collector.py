"""Python's collector of cycles, told to look less often.

A server of executions makes many small objects that live for a while and refer to each other in no circle.
With Python's own settings the collector runs every 700 of them, and takes a third of the time.
"""

from __future__ import annotations

import gc

PYTHON_THRESHOLDS = ((700, 10, 10), (2000, 10, 10), (2000, 10, 0), (700, 10, 0))
"""What releases of Python begin with."""
LOADING = (1_000_000, 20, 20)
"""More than a program of ours makes before it works."""
YOUNG = 50_000
"""New objects after which the collector looks at the young ones."""


def leave_what_is_loaded() -> None:
    """Never look again at what there is now; for a program that has loaded what it needs.

    A full look holds the interpreter, and with it the heart of a worker, for as long as it takes.
    """
    gc.freeze()


def load_undisturbed() -> None:
    """Hardly look at all while a program of our own loads, until it begins to work with ``look_less_often``.

    What is loaded stays: to go through it takes a tenth of the time of loading it.
    """
    gc.set_threshold(*LOADING)


def look_less_often() -> None:
    """Have cycles collected less often, unless somebody has chosen how often already."""
    before = gc.get_threshold()
    if before == LOADING:
        leave_what_is_loaded()
    if before == LOADING or before in PYTHON_THRESHOLDS:
        gc.set_threshold(YOUNG, 20, 100)
