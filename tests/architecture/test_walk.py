"""ARCHITECTURE.md: its table has every package; every file and function of its walk is there, and one step goes that way."""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from engine_support import chain, local, opened

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "petra"
TRIES = 5
"""A heartbeat or a sweep that falls into a step enters some of its functions too: not into each of so many."""
Place = tuple[str, str]
"""A file, and a function of it."""


def chapter(title: str) -> str:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def walk() -> list[list[Place]]:
    """What each numbered line of the walk names, in order; a line that goes back has the lines that it repeats."""
    lines: list[list[Place]] = []
    for item in re.split(r"^\d+\. ", chapter("The way of one step"), flags=re.MULTILINE)[1:]:
        named: list[Place] = []
        if back := re.search(r"lines (\d+) to (\d+) again", item):
            named += [place for line in lines[int(back[1]) - 1 : int(back[2])] for place in line]
        file = ""
        for word in re.findall(r"`([\w/.]+)`", item):
            if word.endswith(".py"):
                file = word
            else:
                named.append((file, word))
        lines.append(named)
    return lines


def functions(file: str) -> set[str]:
    """The functions of a file, and the methods of its classes."""
    found = set()
    for node in ast.parse((SOURCES / file).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}  # fmt: skip
    return found


def test_the_walk_names_what_is_there() -> None:
    lines = walk()
    assert len(lines) == 8
    named = {place for line in lines for place in line}
    assert {(file, name) for file, name in named if name not in functions(file)} == set()


def test_the_walk_fits_on_half_a_page() -> None:
    assert len(chapter("The way of one step").strip().splitlines()) <= 30


def test_the_table_of_layers_has_every_package_once() -> None:
    rows = [
        line.split("|")[1] for line in chapter("The layers").splitlines() if line.startswith("| `")
    ]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    there = {
        path.stem
        for path in SOURCES.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert sorted(named) == sorted(name for name in there if not name.startswith("__"))


@contextmanager
def entered(places: list[Place]) -> Iterator[None]:
    """Note each function of ours as it is entered; one that goes on after it has waited is entered once more."""
    begin = len(str(SOURCES)) + 1

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCES)):
            places.append((code.co_filename[begin:], code.co_qualname))

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def goes(trace: list[Place], way: list[Place]) -> bool:
    """Whether a trace goes a way and enters nothing of it before its turn."""
    left = iter(trace)
    for number, place in enumerate(way):
        if place not in left:  # which goes on in it up to there
            pytest.fail(f"after {way[:number]} no call of {place}")
    first = [trace.index(place) for place in dict.fromkeys(way)]
    return first == sorted(first)


def test_one_step_goes_the_way_of_the_walk(tmp_path: Path) -> None:
    traces: list[list[Place]] = [[] for _ in range(TRIES)]

    async def steps() -> None:
        async with opened("sqlite", tmp_path) as store, local(store) as petra:
            await petra.run(chain(1), execution="before")  # by now the worker has said hello
            for number, trace in enumerate(traces):
                with entered(trace):
                    done = await petra.run(chain(1), execution=f"e{number}")
                assert done.status == "completed"

    asyncio.run(steps())
    way = [place for line in walk() for place in line]
    in_order = [goes(trace, way) for trace in traces]  # each goes it
    assert any(in_order), "something of the way is entered before its turn, each time"
