"""Task policy: which rule decides, and what it decides."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline.drive import ON_ERROR, always, bad, ok, when

from petra.playbook.model import Task, TaskPolicy, TaskSpec
from petra.policy import LONGEST_S, Retry, Ruling, decide, outcome_data
from petra.wire import Error, Outcome, Write


def judge(
    outcome: Outcome, *rules: Any, attempt: int = 1, u: float = 0.0, unmatched: str = "continue",
    own: Any = MappingProxyType({}), **scope: Any,
) -> Ruling:  # fmt: skip
    policy = msgspec.convert({"rules": list(rules), "on_unmatched": unmatched}, TaskPolicy)
    data = outcome_data(outcome, attempt=attempt, duration_ms=1.5)
    task = Task(name="t", kind="noop", spec=TaskSpec(policy=policy), **own)
    return decide(task, outcome, {**scope, "outcome": data}, attempt=attempt, jitter=lambda: u)


def kind_of(decision: Ruling) -> str:
    assert decision.error is not None
    return decision.error.kind


@pytest.mark.spec("S5", "002§5.4-1")
def test_the_first_rule_that_matches_decides_and_later_guards_are_not_evaluated() -> None:
    decision = judge(ok(), when("{{ false }}"), when("{{ true }}", "break"), when("{{ 1 < 'a' }}"))
    assert (decision.action, decision.rule) == ("break", 1)


@pytest.mark.spec("S5", "002§5.4-13")
def test_else_holds_when_nothing_before_it_did() -> None:
    assert judge(bad(), when("{{ outcome.status == 'ok' }}"), always("break")).rule == 1


@pytest.mark.spec("S5", "002§5.4-3", "002§5.4-15")
@pytest.mark.parametrize("outcome", [ok(1), bad("auth")])
def test_without_a_match_the_pipeline_continues_unless_told_to_fail(outcome: Outcome) -> None:
    assert judge(outcome, when("{{ false }}", "break")) == Ruling(action="continue")
    decision = judge(outcome, when("{{ false }}"), unmatched="fail")
    assert (decision.action, decision.rule) == ("fail", None)
    assert kind_of(decision) == ("unknown" if outcome.status == "ok" else "auth")


@pytest.mark.spec("S5")
def test_without_a_policy_ok_continues_and_error_fails() -> None:
    for outcome, action in ((ok(), "continue"), (bad(), "fail")):
        decision = decide(Task(name="t", kind="noop"), outcome, {}, attempt=1, jitter=lambda: 0)
        assert (decision.action, decision.error) == (action, outcome.error)


@pytest.mark.spec("S6")
def test_what_is_undefined_makes_a_guard_false() -> None:
    decision = judge(ok(), when("{{ outcome.http.status }}", "fail"), always("break"))
    assert decision.action == "break"


@pytest.mark.spec("S6")
@pytest.mark.parametrize("words", ["outcome.http.status >= 500", "outcome.http.status + 1"])
def test_an_ordering_of_what_is_undefined_is_an_error_of_the_run(words: str) -> None:
    decision = judge(ok(), when(f"{{{{ {words} }}}}", "break"), always("break"))
    assert (decision.action, kind_of(decision)) == ("fail", "transform")


@pytest.mark.spec("S5")
def test_a_guard_that_cannot_be_evaluated_fails_the_run() -> None:
    decision = judge(ok(), when("{{ 1 < 'a' }}"), always("break"))
    assert (decision.action, decision.rule, kind_of(decision)) == ("fail", 0, "transform")
    assert decision.error is not None
    assert decision.error.message.startswith("task 't', rule 0: when: ")


@pytest.mark.spec("S5", "S6", "002§12-9", "002§12-5")
def test_an_outcome_shows_status_result_error_meta_and_what_its_kind_adds() -> None:
    data = outcome_data(bad("deadlock", "no", pg={"code": "40P01"}), attempt=2, duration_ms=3.0)
    assert data == {
        "status": "error",
        "result": None,
        "error": {"kind": "deadlock", "code": None, "message": "no", "retryable": None,
                  "details": None},
        "meta": {"attempt": 2, "duration_ms": 3.0},
        "pg": {"code": "40P01"},
    }  # fmt: skip
    assert outcome_data(ok(4, status="no"), attempt=1, duration_ms=0)["status"] == "ok"
    retry = when("{{ outcome.pg.code in ['40001', '40P01'] }}", "retry")
    assert judge(bad("deadlock", pg={"code": "40P01"}), retry).action == "retry"


@pytest.mark.spec("S5", "002§5.4-9")
def test_fail_keeps_the_error_and_makes_one_out_of_an_ok() -> None:
    assert judge(bad("auth"), always("fail")).error == Error(kind="auth", message="broken")
    decision = judge(ok(), when("{{ false }}"), always("fail"))
    assert decision.error == Error(
        kind="unknown", message="task 't' was ok, but rule 1 of its policy says fail",
        retryable=False,
    )  # fmt: skip


@pytest.mark.spec("S5", "002§5.4-10")
def test_attempts_count_all_tries_and_are_three_unless_said() -> None:
    retry = when(ON_ERROR, "retry")
    assert [judge(bad(), retry, attempt=n).action for n in (1, 2, 3)] == ["retry", "retry", "fail"]
    once = when(ON_ERROR, "retry", attempts=1)
    assert judge(bad("timeout"), once).error == Error(kind="timeout", message="broken")


@pytest.mark.spec("S5")
def test_an_ok_retried_to_the_end_fails_with_kind_limit() -> None:
    decision = judge(ok("pending"), always("retry", attempts=2), attempt=2)
    assert (decision.action, kind_of(decision)) == ("fail", "limit")
    assert decision.error is not None
    assert decision.error.message == (
        "task 't' was ok, but rule 0 of its policy allows 2 tries in all"
    )


@pytest.mark.spec("S5", "002§5.4-11")
@pytest.mark.parametrize(
    ("backoff", "waits"),
    [("none", [2, 2, 2, 2]), ("linear", [2, 4, 6, 8]), ("exponential", [2, 4, 8, 16])],
)
def test_the_wait_grows_as_the_backoff_says(backoff: str, waits: list[float]) -> None:
    rule = always("retry", attempts=9, backoff=backoff, delay=2)
    assert [judge(bad(), rule, attempt=n).delay_s for n in (1, 2, 3, 4)] == waits


@pytest.mark.spec("S5")
def test_the_delay_is_a_second_unless_said_and_max_delay_caps_it() -> None:
    assert judge(bad(), always("retry")).delay_s == 1.0
    rule = always("retry", attempts=99, backoff="exponential", max_delay=5)
    assert [judge(bad(), rule, attempt=n).delay_s for n in (3, 4, 90)] == [4, 5, 5]


@pytest.mark.spec("S5")
def test_jitter_takes_away_up_to_its_fraction() -> None:
    rule = always("retry", delay=10, jitter=0.5)
    assert [judge(bad(), rule, u=u).delay_s for u in (0.0, 0.5, 1.0)] == [10.0, 7.5, 5.0]


@given(
    retry=st.builds(
        Retry, backoff=st.sampled_from(["none", "linear", "exponential"]), delay=st.floats(0, 1e300),
        max_delay=st.floats(0, math.inf), jitter=st.floats(0, 1),
    ),
    tries=st.integers(1, 10**6),
    u=st.floats(0, 1, exclude_max=True),
)  # fmt: skip
def test_a_wait_is_never_negative_and_never_beyond_its_cap(
    retry: Retry, tries: int, u: float
) -> None:
    assert 0 <= retry.wait_s(tries, lambda: u) <= min(retry.max_delay, LONGEST_S)


@pytest.mark.spec("S5")
def test_the_numbers_of_a_retry_may_be_templates() -> None:
    rule = always("retry", attempts="{{ workload.tries }}", delay="{{ outcome.http.after }}",
                  max_delay="{{ 7 }}", jitter="0.5")  # fmt: skip
    outcome = bad(http={"after": "9"})
    decision = judge(outcome, rule, workload={"tries": 2}, u=0.5)
    assert (decision.action, decision.delay_s) == ("retry", 7 * 0.75)
    assert judge(outcome, rule, workload={"tries": 2}, attempt=2).action == "fail"


@pytest.mark.spec("S5", "S6")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("attempts", "0"), ("attempts", "many"), ("attempts", "{{ true }}"), ("delay", "-1"),
        ("delay", "nan"), ("delay", "inf"), ("delay", "{{ gone }}"), ("max_delay", "-1"), ("jitter", "1.5"),
        ("delay", "{{ none }}"),
    ],
)  # fmt: skip
def test_a_retry_without_usable_numbers_fails_the_run(key: str, value: object) -> None:
    decision = judge(bad(), always("retry", set_ctx={"x": 1}, **{key: value}))
    assert (decision.action, decision.rule, kind_of(decision)) == ("fail", 0, "transform")
    assert decision.error is not None
    assert f"then.{key}: " in decision.error.message
    assert decision.writes == ()


@pytest.mark.spec("S5")
def test_a_decision_carries_its_patches_in_the_order_written() -> None:
    rule = always("jump", to="b", set_ctx={"z": 1, "a": "{{ outcome.result }}"}, set_iter={"i": 2},
                  set_branch="{{ outcome.result + 1 }}")  # fmt: skip
    assert judge(ok(5), rule) == Ruling(
        action="jump", rule=0, to="b", set_iter={"i": 2}, branch=6,
        writes=(Write(key="z", value=1), Write(key="a", value=5)),
    )  # fmt: skip


def test_a_policy_with_a_bad_template_is_a_decision_to_fail() -> None:
    assert kind_of(judge(ok(), always(set_ctx={"x": "{{ ( }}"}))) == "transform"


@pytest.mark.spec("S5", "S8")
def test_a_branch_that_is_set_to_null_is_set() -> None:
    assert judge(ok(1), always(set_branch=None)).branch is None
    assert judge(ok(1), always()).branch is msgspec.UNSET


OWN = {"set_ctx": {"n": "{{ outcome.result }}", "m": 1}, "set_iter": {"i": 3}}


@pytest.mark.spec("S5", "S10")
def test_what_a_task_sets_itself_holds_when_it_went_well() -> None:
    decision = judge(ok(5), own=OWN)
    assert (decision.action, decision.writes) == (
        "continue", (Write(key="n", value=5), Write(key="m", value=1)),
    )  # fmt: skip
    assert decision.set_iter == {"i": 3}


@pytest.mark.spec("S5", "S10")
@pytest.mark.parametrize(
    ("outcome", "rule"),
    [(bad(), always()), (bad(), always("fail")), (ok(), always("fail")), (ok(), always("retry"))],
)
def test_a_task_that_failed_or_tries_again_sets_nothing_of_its_own(
    outcome: Outcome, rule: Any
) -> None:
    decision = judge(outcome, rule, own=OWN)
    assert (decision.writes, decision.set_iter) == ((), {})


@pytest.mark.spec("S5", "S10")
def test_where_task_and_rule_set_one_key_the_rule_wins() -> None:
    decision = judge(ok(5), always("break", set_ctx={"m": 2}, set_iter={"j": 4}), own=OWN)
    assert (decision.action, decision.rule) == ("break", 0)
    assert decision.writes == (Write(key="n", value=5), Write(key="m", value=2))
    assert decision.set_iter == {"i": 3, "j": 4}


@pytest.mark.spec("S6")
def test_what_a_task_cannot_set_fails_the_run() -> None:
    decision = judge(ok(5), own={"set_ctx": {"n": "{{ outcome.result.gone }}"}})
    assert (decision.action, kind_of(decision), decision.writes) == ("fail", "transform", ())
    assert decision.error is not None
    assert "set_ctx.n" in decision.error.message


@pytest.mark.spec("S5")
def test_a_failure_says_what_its_author_wants_it_to() -> None:
    wanted = "order {{ args.id }}: {{ outcome.error.message }}"
    decision = judge(bad("auth", "no entry"), always("fail", message=wanted), args={"id": 7})
    assert decision.error == Error(
        kind="auth", message="order 7: no entry", retryable=bad("auth").error.retryable,  # type: ignore[union-attr]
        details={"cause": "no entry"},
    )  # fmt: skip


@pytest.mark.spec("S5")
def test_an_ok_that_fails_has_the_message_of_its_author() -> None:
    rule = when("{{ outcome.result > 3 }}", "fail", message="{{ outcome.result }} are too many")
    decision = judge(ok(5), rule)
    assert decision.error == Error(kind="unknown", message="5 are too many", retryable=False)
    assert judge(ok(2), rule).action == "continue"


@pytest.mark.spec("S5")
def test_a_retry_says_so_only_when_it_is_used_up() -> None:
    rule = always("retry", attempts=2, message="{{ outcome.nothing.there }}twice")
    assert judge(bad(), rule, attempt=1).action == "retry"
    used_up = judge(bad(), always("retry", attempts=2, message="twice"), attempt=2)
    assert used_up.error is not None
    assert used_up.error.message == "twice"


@pytest.mark.spec("S6")
def test_a_message_that_cannot_be_rendered_fails_and_says_which() -> None:
    decision = judge(bad(), always("fail", message="{{ ctx.missing.key }}"), ctx={})
    assert kind_of(decision) == "transform"
    assert decision.error is not None
    assert decision.error.message.startswith("task 't', rule 0: then.message: ")


@pytest.mark.spec("S20")
def test_no_message_sees_the_keychain() -> None:
    decision = judge(bad(), always("fail", message="{{ keychain.key }}"), keychain={"key": "x"})
    assert kind_of(decision) == "transform"


@pytest.mark.parametrize(
    ("message", "said"),
    [("{{ 5 }}", "5"), ("{{ {'a': [1]} }}", '{"a":[1]}'), ("{{ 'x' * 2000 }}", "x" * 999 + "…")],
)
def test_a_message_is_a_text_of_modest_length(message: str, said: str) -> None:
    decision = judge(bad(), always("fail", message=message))
    assert decision.error is not None
    assert decision.error.message == said


def test_half_a_surrogate_pair_in_a_message_can_be_sent() -> None:
    decision = judge(bad(), always("fail", message="{{ args.odd }}!"), args={"odd": "\ud800"})
    assert decision.error is not None
    assert decision.error.message == "\\ud800!"


def asking(seconds: object) -> Outcome:
    return Outcome(status="error", error=Error(kind="rate_limit", details={"retry_after": seconds}))


@pytest.mark.spec("S5")
@pytest.mark.parametrize(
    ("asked", "more", "wait"),
    [
        (30, {}, 30), (0, {}, 0), ("12", {}, 12), (10**9, {}, 3600), (10**9, {"max_delay": 7200}, 7200),
        (30, {"backoff": "exponential", "jitter": 1}, 30), (None, {"backoff": "exponential"}, 2), (None, {"jitter": 0.5}, 0.5),
        (-5, {}, 1), ("soon", {}, 1), (True, {}, 1), (float("nan"), {}, 1), ([], {}, 1),
    ],
)  # fmt: skip
def test_a_retry_may_wait_as_long_as_the_other_side_asks(
    asked: object, more: dict[str, Any], wait: float
) -> None:
    rule = always("retry", delay="retry_after", attempts=9, **more)
    assert judge(asking(asked), rule, attempt=2, u=1.0).delay_s == wait


@pytest.mark.spec("S5")
@pytest.mark.parametrize("outcome", [ok(), bad("timeout")])
def test_where_nobody_asked_the_wait_is_the_usual_one(outcome: Outcome) -> None:
    assert judge(outcome, always("retry", delay="retry_after")).delay_s == 1
