"""The collector of cycles looks less often, unless somebody has said how often."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from petra.garbage_collector import (
    LOADING,
    PYTHON_THRESHOLDS,
    YOUNG,
    load_undisturbed,
    look_less_often,
)


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_what_python_begins_with_is_changed() -> None:
    gc.set_threshold(*PYTHON_THRESHOLDS[0])
    look_less_often()
    assert gc.get_threshold()[0] == YOUNG


@pytest.mark.slow
def test_what_somebody_chose_stays() -> None:
    gc.set_threshold(1_234, 5, 6)
    look_less_often()
    assert gc.get_threshold() == (1_234, 5, 6)


def test_what_was_loaded_undisturbed_is_never_looked_at_again() -> None:
    load_undisturbed()
    assert gc.get_threshold() == LOADING
    before = gc.get_freeze_count()
    kept: list[list[int]] = [[] for _ in range(1_000)]
    try:
        look_less_often()
        assert gc.get_freeze_count() >= before + len(kept)
        assert gc.get_threshold()[0] == YOUNG
    finally:
        gc.unfreeze()
