"""Events in words."""

from __future__ import annotations

from petra.kernel import events as e
from petra.testing.story import told


def test_an_outcome_that_somebody_decided_says_who_and_why() -> None:
    ended = e.StepDone(run="r", step="wait", administrative="ada: the signal is lost")
    assert told(ended) == "step.done wait; by hand: ada: the signal is lost"
    assert told(e.StepDone(run="r", step="wait")) == "step.done wait"
