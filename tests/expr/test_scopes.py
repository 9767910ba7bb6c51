"""Which names each place of use has (S6)."""

from __future__ import annotations

import pytest

from petra.expr import HELPERS, SCOPES, Use
from petra.expr.scopes import BUILT_IN, RESERVED


@pytest.mark.spec("S6")
def test_every_place_of_use_has_its_names() -> None:
    assert set(SCOPES) == set(Use)


@pytest.mark.spec("S6", "000§4.2-2", "002§4-3")
def test_an_arc_sees_event_ctx_workload_and_args() -> None:
    assert {"event", "ctx", "workload", "args", "branch", "step"} <= SCOPES[Use.ARC]


@pytest.mark.spec("S6", "002§4-1")
def test_admission_sees_ctx_workload_and_the_event_of_the_token() -> None:
    assert {"ctx", "workload", "event"} <= SCOPES[Use.ADMIT]


@pytest.mark.spec("S6", "002§4-2")
def test_a_task_policy_sees_outcome_iter_ctx_and_the_previous_result() -> None:
    assert {"outcome", "iter", "ctx", "_prev", "_task"} <= SCOPES[Use.POLICY]


@pytest.mark.spec("S6", "S20", "002§2.1-4")
def test_secrets_are_readable_only_where_nothing_is_stored() -> None:
    readable = {use for use in Use if "keychain" in SCOPES[use]}
    assert readable == {Use.TASK, Use.POLICY}
    assert not any(use.on_server for use in readable)


@pytest.mark.spec("S4", "004§6.2-9")
def test_helpers_exist_on_the_server_only() -> None:
    for use in (Use.ADMIT, Use.ARC, Use.JOIN, Use.LOOP, Use.OUTPUT):
        assert SCOPES[use] >= HELPERS
    for use in (Use.TASK, Use.POLICY, Use.PATCH):
        assert not HELPERS & SCOPES[use]


@pytest.mark.spec("S6")
def test_statements_work_in_the_fields_of_tools_only() -> None:
    assert [use for use in Use if use.has_statements] == [Use.TASK]


@pytest.mark.spec("S1", "004§6.3-1")
def test_reserved_names_are_built_in() -> None:
    assert RESERVED <= BUILT_IN
