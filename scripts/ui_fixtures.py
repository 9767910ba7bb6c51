"""Write what the tests of the web UI hold its story against: frames of real logs, and the markings that replay finds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from petra.desk import marking  # noqa: E402 - after the path is set
from petra.kernel import Record, State, evolve  # noqa: E402
from petra.kernel.replay import encode_body  # noqa: E402
from petra.story import Story, frames_of  # noqa: E402

FILE = ROOT / "web/tests/fixtures/stories.json"


class Log(msgspec.Struct):
    """A golden log."""

    execution: str
    records: list[Record]


def fixture(name: str, log: Log) -> dict[str, Any]:
    """Return a story, also in bins, with the marking after every record as the kernel finds it, and its runs."""
    story, state, markings = Story(), State(id=log.execution), []
    for record in log.records:
        story.take(record.at, encode_body(record.event, record.receipt))
        evolve(state, record.event, seq=record.seq, at=record.at)
        markings.append(marking(state))
    runs = [
        {
            "n": run.number,
            "step": run.step,
            "state": run.state,
            "first": run.first,
            "last": run.last,
        }
        for run in story.runs
    ]
    bins = frames_of(story, bins=max(1, len(story) // 3))
    return {
        "name": name,
        "frames": frames_of(story),
        "bins": bins,
        "markings": markings,
        "runs": runs,
    }


def text() -> str:
    """Return the file."""
    found = [
        fixture(path.stem, msgspec.json.decode(path.read_bytes(), type=Log))
        for path in sorted((ROOT / "tests/kernel/golden").glob("*.json"))
    ]
    return "[\n" + ",\n".join(msgspec.json.encode(one).decode() for one in found) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
