"""Decoders that are made when they are first needed, whichever threads need them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import petra

SOURCES = Path(petra.__file__).parent

MANY = """
import sys, threading
import msgspec
from petra.decoders import json_decoder

sys.setswitchinterval(1e-6)
for number in range(40):
    inner = msgspec.defstruct(f"Inner{number}", [(f"n{i}", int | None, None) for i in range(40)])
    outer = msgspec.defstruct(f"Outer{number}", [("one", inner), ("many", list[inner])])
    start = threading.Barrier(8)
    read = []

    def go() -> None:
        start.wait()
        read.append(json_decoder(outer).decode(b'{"one": {"n1": 7}, "many": [{"n39": 9}]}'))

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(found.one.n1, found.many[0].n39) for found in read] == [(7, 9)] * 8
"""


def test_threads_that_read_a_type_for_the_first_time_at_once_all_read_it() -> None:
    """A process of its own: of two who took half of what is known of a class, the process died."""
    done = subprocess.run(
        [sys.executable, "-c", MANY], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def _made_late(source: Path) -> list[str]:
    """Return where decoders of JSON are made in functions, and not by ``json_decoder``."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        f"{source.relative_to(SOURCES)}:{call.lineno}"
        for function in ast.walk(ast.parse(source.read_text("utf-8")))
        if isinstance(function, functions)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("msgspec.json.Decoder")
    ]


@pytest.mark.parametrize("folder", ["engine", "story", "desk", "server", "kernel", "store", "."])
def test_decoders_that_threads_may_make_are_made_by_it(folder: str) -> None:
    sources = sorted((SOURCES / folder).glob("**/*.py" if folder != "." else "*.py"))
    late = [place for source in sources for place in _made_late(source)]
    assert [place for place in late if not place.startswith("decoders.py")] == []
