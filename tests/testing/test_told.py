"""Events in words."""

from __future__ import annotations

from petra.kernel import events as e
from petra.testing.story import event_in_words


def test_an_outcome_that_somebody_decided_says_who_and_why() -> None:
    ended = e.StepDone(run="r", step="wait", administrative="ada: the signal is lost")
    assert event_in_words(ended) == "step.done wait; by hand: ada: the signal is lost"
    assert event_in_words(e.StepDone(run="r", step="wait")) == "step.done wait"
