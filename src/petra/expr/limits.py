"""The bounds of the expression language, each with its unit.

They hold for one compilation or one evaluation. Together they keep any expression under a fraction
of a second and some tens of megabytes, whatever its author intended.
"""

from __future__ import annotations

from typing import Final

MAX_SOURCE: Final = 64 * 1024
"""Characters in one template."""

MAX_TOKENS: Final = 10_000
"""Words and signs inside the tags of one template; it bounds the time of compiling."""

MAX_DEPTH: Final = 40
"""Levels of nesting in one expression, parts of one path, or levels of blocks in one template."""

MAX_LEVELS: Final = 100
"""Levels of nesting in a JSON value with templates in it."""

MAX_RESULT: Final = 1024 * 1024
"""Size of any value an expression builds: characters, and ``CELL`` for each number, list and object."""

CELL: Final = 8
"""What a number, a list or an object adds to the size of a value."""

MAX_RANGE: Final = 100_000
"""Numbers that one ``range()`` may give."""

MAX_INT: Final = 2**64 - 1
"""The largest integer; it still fits what JSON readers and databases hold."""

MIN_INT: Final = -(2**63)
"""The smallest integer."""

FUEL: Final = 400_000
"""Units of work in one evaluation: a node visited in a loop, an element or 16 characters handled."""

CHARS_PER_FUEL: Final = 16
"""Characters that one unit of fuel moves."""
