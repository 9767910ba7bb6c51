"""The collector of cycles looks less often, unless somebody has said how often."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from petra.garbage_collector import PYTHON_THRESHOLDS, YOUNG, look_less_often


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_what_python_begins_with_is_changed() -> None:
    gc.set_threshold(*PYTHON_THRESHOLDS[0])
    look_less_often()
    assert gc.get_threshold()[0] == YOUNG


def test_what_somebody_chose_stays() -> None:
    gc.set_threshold(1_234, 5, 6)
    look_less_often()
    assert gc.get_threshold() == (1_234, 5, 6)
