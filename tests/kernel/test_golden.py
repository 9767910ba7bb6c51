"""Logs that earlier versions wrote must be read, verified and replayed by this one."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec
import pytest

from petra.kernel import Record, replay, verify
from petra.kernel import events as e

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.json"))


class Log(msgspec.Struct):
    execution: str
    records: list[Record]


def _read(path: Path) -> Log:
    return msgspec.json.decode(path.read_bytes(), type=Log)


@pytest.mark.spec("S17")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_log_of_an_earlier_version_still_verifies_and_replays(path: Path) -> None:
    log = _read(path)
    assert verify(log.execution, log.records) is None
    state = replay(log.execution, log.records)
    assert f"{state.marking:064x}" == log.records[-1].receipt.after


def test_every_type_of_event_has_a_golden_log() -> None:
    found = {type(record.event) for path in GOLDEN for record in _read(path).records}
    assert set(get_args(e.AnyEvent)) == found
