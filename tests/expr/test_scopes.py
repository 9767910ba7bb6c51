from __future__ import annotations

import pytest

from petra.expr import HELPERS, HELPERS_IN, SCOPES, Profile, Use, profile_of


@pytest.mark.spec("S6")
def test_every_place_of_use_has_a_scope() -> None:
    assert set(SCOPES) == set(HELPERS_IN) == set(Use)
    for names in SCOPES.values():
        assert {"workload", "execution", "ctx", "step"} <= names


@pytest.mark.spec("S1", "S6")
@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("keychain", {Use.TASK_FIELD, Use.COMPENSATION}),
        ("event", {Use.ADMISSION, Use.ARC_GUARD, Use.ARC_ARGS, Use.ARC_FOREACH}),
        ("arrived", {Use.JOIN_WHEN}),
        ("args", set(Use) - {Use.OUTPUT}),
    ],
)
def test_a_name_is_where_it_should_be_and_nowhere_else(name: str, uses: set[Use]) -> None:
    assert {use for use, names in SCOPES.items() if name in names} == uses


@pytest.mark.spec("S4")
def test_helpers_are_on_the_server_only() -> None:
    assert HELPERS_IN[Use.ARC_GUARD] == HELPERS
    assert HELPERS_IN[Use.TASK_POLICY] == frozenset()


@pytest.mark.spec("S6")
def test_statements_work_in_the_fields_of_tools_only() -> None:
    workers = {use for use in Use if profile_of(use) is Profile.WORKER}
    assert workers == {Use.TASK_FIELD, Use.COMPENSATION}
