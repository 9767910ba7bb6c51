"""A failure says enough, wherever somebody looks: the author's line, the traceback, why it was tried again."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from cli.processes import data, line_with, petra, started
from support.clocks import FakeClock

import petra as package
from petra.cli.board import retry_of
from petra.engine.limits import RETRIES_KEPT_MAX
from petra.engine.retries import Retries
from petra.wire import Attempt, Error
from petra.wire.frames import Retrying

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: book}\n"
PRICE = (
    HEAD
    + """workflow:
  - step: one
    tool:
      kind: python
      args: {rows: [{}]}
      code: |
        def main(rows):
            print("adding up")
            return rows[0]['price']
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}}]}}
"""
)
AT = "book.yaml:12, main, line 3: rows[0]['price']"
ID = re.compile(r"[0-9a-f]{12}-[0-9a-f]{12}")


@pytest.mark.slow
@pytest.mark.spec("S22")
def test_the_line_and_the_traceback_are_wherever_a_failure_is_shown(tmp_path: Path) -> None:
    (tmp_path / "book.yaml").write_text(PRICE)
    out = petra(tmp_path, "run", "book.yaml", code=1)
    found = ID.search(out)
    assert found is not None
    shown = {verb: petra(tmp_path, verb, found[0]) for verb in ("logs", "events", "get", "explain")}
    for text in (out, *shown.values()):
        assert 'File "book.yaml", line 12, in main' in text
    for verb in ("events", "get", "explain"):
        assert f"KeyError: 'price'; {AT}" in shown[verb]
    assert f"failed: KeyError: 'price'; {AT}" in out
    assert f"try 1 of one_task: unknown: KeyError: 'price'; {AT}" in shown["events"]
    told = data(tmp_path, "get", found[0])
    assert told["failures"][0]["details"]["at"] == AT
    result = package.run(tmp_path / "book.yaml", home=tmp_path / "other")
    assert result.error is not None
    assert AT in result.error["message"]
    assert "line 12, in main" in result.error["details"]["traceback"]


@pytest.mark.slow
@pytest.mark.spec("S11")
def test_who_asks_while_a_worker_waits_is_told_why_it_tries_again(tmp_path: Path) -> None:
    (tmp_path / "book.yaml").write_text(PRICE.replace("delay: 0", "delay: 600"))
    process = started(tmp_path, "run", "book.yaml")
    found = ID.search(line_with(process, "running"))
    assert found is not None
    line = line_with(process, "retry 2/2 in 10m00s")
    assert line.endswith(f"retry 2/2 in 10m00s: KeyError: 'price'; {AT}\n")
    told = petra(tmp_path, "explain", found[0])
    words = f"Try 1 of 2 of task 'one_task' failed (unknown: KeyError: 'price'; {AT}); the next one comes in "
    assert words in told
    process.kill()
    process.communicate(timeout=300)


def attempt(**error: str) -> Attempt:
    found = Error(**error) if error else None  # type: ignore[arg-type]
    return Attempt(task="t", number=1, status="error", action="retry", error=found, delay_s=5)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"kind": "server_error", "code": "503", "message": "GET x: 503"}, "retry 2/3 in 5.0s (503): GET x: 503"),
        ({"kind": "timeout", "message": "too slow"}, "retry 2/3 in 5.0s (timeout): too slow"),
        ({"message": "KeyError: 1"}, "retry 2/3 in 5.0s: KeyError: 1"),
        ({}, "retry 2/3 in 5.0s"),
    ],
)  # fmt: skip
def test_a_retry_is_told_with_its_reason(error: dict[str, str], said: str) -> None:
    assert retry_of(attempt(**error), 10.0, 3).words(10.0) == said


async def _play() -> None:
    clock = FakeClock()
    retries = Retries(clock)

    def notice(run: str) -> Retrying:
        return Retrying(execution="e", run=run, attempt=attempt(kind="timeout", message="slow"))

    retries.take(notice("r"))
    next_at = clock.now() + 5
    assert retries.last("e", "other") is None
    words = "Try 1 of task 't' failed (timeout: slow); the next one comes in 5.0 s."
    assert retries.last("e", "r") == (words, 1, None, next_at)
    await clock.advance(25)
    later = retries.last("e", "r")
    assert later is not None
    assert later.words.endswith("; the next one came 20 s ago.")
    assert later.next_at == next_at
    for number in range(RETRIES_KEPT_MAX):
        retries.take(notice(str(number)))
    assert retries.last("e", "r") is None


def test_what_was_said_of_a_retry_stays_true_and_is_forgotten_in_the_end() -> None:
    asyncio.run(_play())
