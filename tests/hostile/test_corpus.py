"""The corpus: how many hostile values, tools, workers and frames there are, by kind; the page on faults shows the same."""

from __future__ import annotations

from collections.abc import Sized
from pathlib import Path

from hostile import (
    test_control_lines,
    test_frames,
    test_inputs,
    test_references,
    test_tools,
    test_workers,
)

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "faults.md"

CORPUS: dict[str, tuple[Sized, ...]] = {
    "values, names and ids that callers bring": (
        test_inputs.VALUES, test_inputs.NAMES, test_inputs.IDS, test_inputs.REASONS, test_inputs.ODD, test_inputs.PEOPLE,
    ),
    "lines on the socket of a folder": (test_control_lines.LINES,),
    "places that meet a reference which leads nowhere": (test_references.PLACES,),
    "code that raises, prints or returns what it should not": (
        test_tools.RAISED, test_tools.SAID, test_tools.GIVEN,
    ),
    "steps that kill or hang their worker, and workers that cannot start": (
        test_workers.DEATHS, test_workers.HANGS, test_workers.BROKEN,
    ),
    "frames, greetings and reports of workers": (
        test_frames.BREACHES, test_frames.RESULTS, test_frames.HELLOS,
    ),
}  # fmt: skip


def test_the_corpus_has_the_size_that_its_page_shows() -> None:
    counts = {kind: sum(map(len, tables)) for kind, tables in CORPUS.items()}
    assert sum(counts.values()) >= 60
    lines = PAGE.read_text().splitlines()
    for kind, count in counts.items():
        assert f"| {kind} | {count} |" in lines, f"{kind}: {count}"
