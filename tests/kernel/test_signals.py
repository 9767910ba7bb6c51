"""Signals: a name that nobody ever waits for is refused, and what is waited for is said with its key (S15)."""

from __future__ import annotations

from typing import Any

import pytest

from petra.kernel import commands as c
from petra.kernel import tasks
from petra.kernel.decide import decide
from petra.kernel.events import SignalReceived
from petra.kernel.explain import explain
from petra.playbook import read
from petra.testing import Simulation

TEXT = """apiVersion: petra/v1
kind: Playbook
metadata: {name: p}
workflow:
- {step: first, tool: {kind: wait, signal: {name: paid, key: "{{ workload.order }}"}}, next: {arcs: [{step: then}]}}
- {step: then, tool: {kind: wait, signal: {name: SECOND}}}
"""


def waiting(second: str = "shipped") -> Simulation:
    simulation = Simulation(read(TEXT.replace("SECOND", second), "p").checked())
    simulation.start({"order": 17})
    simulation.run()
    return simulation


def sent(simulation: Simulation, name: str, key: Any = None) -> Any:
    root = simulation.root
    return decide(root.program, root.state, c.SendSignal(now=1.0, name=name, key=key))


@pytest.mark.spec("S15")
def test_a_name_that_no_step_waits_for_is_refused_and_says_what_is_waited_for() -> None:
    simulation = waiting()
    before = simulation.root.state.seq
    decision = sent(simulation, "piad")
    assert decision.refused == (
        "no step waits for a signal 'piad'; did you mean 'paid'? steps wait for 'paid', 'shipped'"
    )
    assert (decision.events, simulation.root.state.seq) == ([], before)


@pytest.mark.spec("S15")
@pytest.mark.parametrize(("name", "key"), [("paid", 18), ("paid", None), ("shipped", None)])
def test_one_that_some_step_waits_for_later_or_under_another_key_is_kept(
    name: str, key: Any
) -> None:
    (event,) = sent(waiting(), name, key).events
    assert isinstance(event, SignalReceived)
    assert (event.kept, event.run) == (True, None)


@pytest.mark.spec("S15")
def test_who_sends_what_nobody_waits_for_is_refused_at_some_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "KEPT_MAX", 3)
    simulation = waiting()
    for number in range(3):
        assert not sent(simulation, "shipped", number).refused
    decision = sent(simulation, "shipped", 3)
    assert not decision.events
    assert decision.refused.startswith("3 signals are kept already")
    assert not sent(simulation, "paid", 18).refused
    assert sent(simulation, "paid", 17).events[0].run  # who is waited for comes in


@pytest.mark.spec("S15")
def test_where_a_name_is_computed_any_may_come() -> None:
    text = "'{{ workload.order }}'"
    assert sent(waiting(text), "whatever").events


@pytest.mark.spec("S11")
def test_explain_names_signal_and_key() -> None:
    root = waiting().root
    found = explain(root.program, root.state)
    words = "signal 'paid' with key '17'"
    assert found.waiting[0].sentence == f"Step 'first' waits for {words}."
    assert found.waiting[0].unblocked_by == words
    assert words in found.sentence
