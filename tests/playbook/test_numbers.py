"""A text where a number belongs: told at its place, and a time with a unit in seconds."""

from __future__ import annotations

import pytest
from texts import workflow

from petra.playbook import read

RETRY = "{kind: noop, spec: {policy: {rules: [{when: '{{ outcome.error }}', then: {do: retry, delay: %s}}]}}}"


def problems(tool: str) -> list[str]:
    found = read(workflow(f"- {{step: a, tool: {tool}}}")).problems
    return [f"{one.code}: {one.message}; {one.hint}" for one in found]


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (RETRY % "5m", "'delay' of a retry cannot be '5m'; write seconds, without a unit: 300, or 'retry_after'"),
        ("{kind: http, url: u, timeout: 30s}", "'timeout' cannot be '30s'; write seconds, without a unit: 30"),
        ("{kind: http, url: u, timeout: {read: 1.5 min}}", "'read' cannot be '1.5 min'; write seconds, without a unit: 90"),
        ("{kind: http, url: u, max_bytes: many}", "'max_bytes' cannot be 'many'; write a number, or a template that gives one"),
        ("{kind: human, due_s: 2h}", "'due_s' cannot be '2h'; write seconds, without a unit: 7200"),
        ("{kind: wait, for_s: soon}", "'for_s' cannot be 'soon'; write a number, or a template that gives one"),
    ],
)  # fmt: skip
@pytest.mark.spec("S5", "S14", "S15", "S22")
def test_a_text_where_a_number_belongs_is_told(tool: str, words: str) -> None:
    assert problems(tool) == [f"P106: {words}"]


@pytest.mark.spec("S5")
def test_a_time_limit_with_a_unit_is_told_in_seconds() -> None:
    (told,) = problems("{kind: noop, spec: {timeout_s: 2h}}")
    assert told.endswith("must be a number, not the text '2h'; write seconds, without a unit: 7200")


def test_a_number_may_be_a_text_that_reads_as_one_or_a_template() -> None:
    assert problems("{kind: http, url: u, timeout: '30', max_bytes: '{{ 7 * 7 }}'}") == []


def test_a_file_of_another_engine_is_taken_as_it_is() -> None:
    text = workflow("- {step: a, tool: {kind: http, url: u, timeout: 30s}}")
    foreign = text.replace("petra/v1", "noetl.io/v2")
    assert [one.code for one in read(foreign).problems if one.severity == "error"] == []
