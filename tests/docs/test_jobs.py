"""The six jobs of examples/jobs run for real: on SQLite, with a worker, and over kill -9."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.processes import data, end_what_is_left, line_with, petra, started

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    yield
    end_what_is_left()


@pytest.fixture
def folder(root: Path, tmp_path: Path) -> Path:
    shutil.copytree(root / "examples/jobs", tmp_path, dirs_exist_ok=True)
    shutil.copy(root / "examples/approval.yaml", tmp_path)
    return tmp_path


def rows(database: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(database) as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_rows_are_loaded_once_however_often_it_runs(folder: Path) -> None:
    for _ in range(2):
        found = data(folder, "run", "etl.yaml")
        assert found["output"] == {"rows": 3, "revenue": 184.9}
    assert rows(folder / "warehouse.db", "SELECT count(*), sum(amount) FROM sales") == [(3, 184.9)]


def test_two_approvals_pay_an_invoice(folder: Path) -> None:
    execution = data(folder, "run", "approval.yaml", code=3)["id"]
    petra(folder, "task", "complete", f"{execution}/first_approval", "approve", "--as", "ada")
    petra(folder, "task", "complete", f"{execution}/second_approval", "approve", "--as", "bob")
    assert json.loads(petra(folder, "result", execution)) == {"state": "paid"}


def test_two_hundred_files_of_which_one_is_no_text(folder: Path) -> None:
    shutil.rmtree(folder / "inbox")
    (folder / "inbox").mkdir()
    for number in range(200):
        (folder / f"inbox/{number:03}.txt").write_text("three small words")
    (folder / "inbox/077.txt").write_bytes(b"\xff\xfe\xff")
    said = petra(folder, "run", "files.yaml", code=1)
    assert f'output: {{"words": {3 * 199}}}' in said
    assert "count[77]  UnicodeDecodeError" in said
    assert "200 iterations, 1 failed" in said
    assert "◐ partial" in said


def test_a_trip_that_cannot_be_paid_leaves_nothing_booked(folder: Path) -> None:
    assert data(folder, "run", "trip.yaml")["status"] == "completed"
    booked = "SELECT what FROM booked WHERE trip = '{}' ORDER BY what"
    assert rows(folder / "trips.db", booked.format("T-9")) == [("flight",), ("hotel",)]
    failed = ("run", "trip.yaml", "--set", "trip=T-10", "--set", "price=4000")
    assert data(folder, *failed, code=1)["status"] == "failed"
    assert rows(folder / "trips.db", booked.format("T-10")) == []


def test_a_payment_arrives_though_the_process_was_killed(folder: Path) -> None:
    book = folder / "delivery.yaml"
    once = "test -e packed || { touch packed; echo packing; sleep 600; }"
    book.write_text(book.read_text().replace("echo packed", once))
    process = started(folder, "run", "delivery.yaml")
    line_with(process, "packing")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    (execution,) = [one["id"] for one in data(folder, "ps")]
    petra(folder, "signal", execution, "payment", "--key", "A-7", "--payload", '{"amount": 20}')
    found = data(folder, "watch", execution)
    assert found["output"] == {"state": "shipped", "paid": 20}
    petra(folder, "verify", execution)


def test_every_customer_is_a_child(folder: Path) -> None:
    found = data(folder, "run", "customers.yaml")
    assert found["output"] == {"billed": 640}
    assert sorted(one["playbook"] for one in data(folder, "ps")) == [
        "bill_customer", "bill_customer", "customers",
    ]  # fmt: skip
