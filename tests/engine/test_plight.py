"""Who has a run, in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from petra.engine.custody import Custody
from petra.engine.plight import _with_worker
from petra.engine.workers import AWAY
from petra.kernel.explain import Waiting


@pytest.mark.parametrize(
    ("holders", "words"),
    [
        (["lab"], "runs on worker lab."),
        (["a", "b"], "runs on worker a, worker b."),
        ([AWAY], "runs on a worker that has not come back yet."),
    ],
)
def test_who_has_a_run_is_said_as_a_sentence(holders: list[str], words: str) -> None:
    custody: Any = SimpleNamespace(holders=lambda *_: holders)
    wait = Waiting("run", "there", "worker", "")
    assert _with_worker(cast(Custody, custody), "x", wait).sentence == f"Step 'there' {words}"
