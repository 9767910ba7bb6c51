"""A record is read by what knows its kind; where the column that says the kind is wrong, by what knows all of them."""

from __future__ import annotations

import msgspec
import pytest

from petra.engine.codec import DamagedError, from_row, proved, to_row
from petra.kernel import Ledger, Record
from petra.kernel import events as e
from petra.kernel.replay import encode_body
from petra.store.rows import RecordRow


def made() -> tuple[Record, RecordRow]:
    event = e.StepDone(run="r", step="s", consumed=["r"], result={"n": [1, None]})
    record = Ledger("e").record(event, 2.5, before=0, after=7)
    return record, to_row(record, encode_body(record.event, record.receipt))


@pytest.mark.parametrize(
    "kind", ["step.done", "step.failed", "loop.done", "", "nothing of ours", "\0"]
)
def test_a_record_is_read_whatever_the_column_says(kind: str) -> None:
    record, row = made()
    assert from_row(msgspec.structs.replace(row, type=kind)) == record


def test_a_column_that_says_another_kind_is_damage() -> None:
    record, row = made()
    assert proved(row) == record
    with pytest.raises(DamagedError, match=r"its type says 'step\.failed'"):
        proved(msgspec.structs.replace(row, type="step.failed"))


@pytest.mark.parametrize("kind", ["step.done", "nothing of ours"])
def test_a_body_that_is_none_is_damage_whatever_the_column_says(kind: str) -> None:
    _, row = made()
    with pytest.raises(DamagedError, match="cannot be read"):
        from_row(msgspec.structs.replace(row, type=kind, body=b'[{"type":"no"}]'))
