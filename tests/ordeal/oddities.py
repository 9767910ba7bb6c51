"""Odd texts: what people, keyboards and other programs put where a name or a value belongs."""

from __future__ import annotations

from random import Random  # noqa: TID251 - seeded, and only in tests

from petra.engine.limits import CALLER_NAME_MAX, ID_MAX, TEXT_MAX

WHOLE = (
    "\u202eright to left\u202c",
    "שלום עולם",
    "👩‍👩‍👧‍👦 🏳️‍🌈",
    "e\u0301 is not \u00e9",
    "zero\u200bwidth\u2060",
    "\ufeffa mark first",
    "{{ ctx.n }}",
    "'; drop table records; --",
    "\U0010ffff\ufffe",
)
"""Texts that can stand anywhere where text can."""
CONTROLS = ("a\0b", "\x1b[2J", "line\r\nbreak", "\x7f")
"""Texts that are data and no names."""
HALVES = ("\ud800", "half \udfff of it")
"""What is no text at all: nothing can store it."""


def name(chance: Random) -> str:
    """Return something that may be a name, however long."""
    made = chance.choice(WHOLE)
    return made * (CALLER_NAME_MAX // len(made)) if chance.random() < 0.3 else made


def text(chance: Random) -> str:
    """Return something that may be a reason."""
    made = chance.choice(WHOLE)
    return made * (TEXT_MAX // len(made)) if chance.random() < 0.1 else made


def value(chance: Random) -> str:
    """Return something that may be data."""
    return chance.choice(WHOLE + CONTROLS)


def unfit(chance: Random) -> str:
    """Return something that no caller can bring in as a name."""
    return chance.choice(HALVES + CONTROLS[:1] + ("x" * (TEXT_MAX + 1),))


def execution(number: int, chance: Random) -> str:
    """Return an id as odd as an id may be."""
    made = f"{number}.:@+=~-{chance.randrange(10)}"
    return made + "x" * (ID_MAX - len(made)) if chance.random() < 0.5 else made
