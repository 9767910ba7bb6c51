"""The page on faults names every invariant, and every function that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from ordeal import invariants

PAGE = Path("docs/concepts/faults.md")


def test_the_page_on_faults_names_every_invariant_and_only_functions_that_are_there(
    root: Path,
) -> None:
    text = (root / PAGE).read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| I")]
    named = set(re.findall(r"`(\w+)`", "\n".join(rows))) - {"Checker", "Host", "Witness"}
    there = {function.__name__ for function in invariants.INVARIANTS.values()}
    assert named | {"books_of_every_log_agree"} == there
    covered: set[int] = set()
    for first, last in re.findall(r"I(\d+)(?:–I(\d+))?", text):
        covered |= set(range(int(first), int(last or first) + 1))
    assert covered == set(range(1, 33))
