"""Running a tool: whatever happens, there is an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import pytest
from support.attempts import bad, good, run

from petra.errors import UsageError
from petra.kinds import Fields, Http
from petra.tools.base import Cancellation, ToolContext, ToolError, attempt, ok
from petra.tools.registry import BUILT_IN, Registry
from petra.wire import Outcome


class Probe(Fields, frozen=True):
    """What the probe takes."""

    size: int = 0
    max_rows: int | None = None


class ProbeTool:
    """Does what the test says."""

    kind: ClassVar[str] = "probe"
    spec: ClassVar[type[Fields]] = Probe

    def __init__(self, act: Callable[[Probe], Awaitable[Any]]) -> None:
        self.act = act

    async def run(self, fields: Probe, context: ToolContext) -> Outcome:  # noqa: ARG002
        return ok(await self.act(fields))


def probe(act: Callable[[Probe], Awaitable[Any]], **context: Any) -> Outcome:
    return asyncio.run(attempt(ProbeTool(act), {}, ToolContext(**context)))


async def for_ever(fields: Probe) -> None:  # noqa: ARG001
    await asyncio.Event().wait()


@pytest.mark.spec("S5")
def test_an_exception_that_escapes_is_an_outcome_of_kind_unknown() -> None:
    async def break_down(_: Probe) -> None:
        raise LookupError("no such thing")

    error = bad(probe(break_down))
    assert (error.kind, error.message) == ("unknown", "LookupError: no such thing")
    assert error.retryable is False


@pytest.mark.spec("S5")
def test_a_tool_error_keeps_its_kind_code_and_details() -> None:
    async def refuse(_: Probe) -> None:
        raise ToolError("quota", "full", code=507, details={"left": 0}, more={"disk": {"free": 0}})

    outcome = probe(refuse)
    error = bad(outcome)
    assert (error.kind, error.code, error.details) == ("quota", 507, {"left": 0})
    assert error.retryable is True
    assert outcome.more == {"disk": {"free": 0}}


@pytest.mark.spec("S20")
def test_messages_and_details_are_scrubbed_before_they_are_cut() -> None:
    async def leak(_: Probe) -> None:
        raise ToolError(
            "auth", "x" * 495 + "hunter2", details=["hunter2"], more={"py": {"t": "hunter2"}}
        )

    outcome = probe(leak, scrub=lambda text: text.replace("hunter2", "***"))
    assert "hunt" not in repr(outcome)
    assert len(bad(outcome).message) <= 500


@pytest.mark.spec("S5")
def test_timeout_s_limits_one_attempt() -> None:
    error = bad(probe(for_ever, spec={"timeout_s": 0.01}))
    assert (error.kind, error.message) == ("timeout", "took longer than timeout_s, 0.01 s")


@pytest.mark.spec("S5")
def test_a_timeout_inside_the_tool_is_not_taken_for_timeout_s() -> None:
    async def time_out(_: Probe) -> None:
        raise TimeoutError("of its own")

    assert bad(probe(time_out, spec={"timeout_s": 60})).kind == "unknown"


@pytest.mark.spec("S5")
def test_a_request_to_cancel_reaches_a_running_tool() -> None:
    async def scenario() -> Outcome:
        cancelled, begun = Cancellation(), asyncio.Event()

        async def act(_: Probe) -> None:
            begun.set()
            await asyncio.Event().wait()

        running = asyncio.create_task(attempt(ProbeTool(act), {}, ToolContext(cancelled=cancelled)))
        await begun.wait()
        cancelled.set("the sibling won")
        outcome = await running
        assert running.cancelling() == 0
        return outcome

    error = bad(asyncio.run(scenario()))
    assert (error.kind, error.message) == ("cancelled", "the sibling won")


@pytest.mark.spec("S5")
def test_a_request_to_cancel_that_came_first_starts_nothing() -> None:
    cancelled = Cancellation()
    cancelled.set()

    async def act(_: Probe) -> None:
        pytest.fail("it ran")

    assert bad(probe(act, cancelled=cancelled)).kind == "cancelled"


def test_the_cancellation_of_the_caller_itself_is_passed_on() -> None:
    async def scenario() -> None:
        running = asyncio.create_task(attempt(ProbeTool(for_ever), {}, ToolContext()))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(scenario())


@pytest.mark.spec("S5")
def test_a_knob_of_the_effective_spec_fills_a_field_and_the_task_wins() -> None:
    async def show(fields: Probe) -> Any:
        return fields.max_rows

    tool, context = ProbeTool(show), ToolContext(spec={"max_rows": 5, "verify": False})
    assert good(asyncio.run(attempt(tool, {}, context))) == 5
    assert good(asyncio.run(attempt(tool, {"max_rows": 7}, context))) == 7


@pytest.mark.spec("S5")
def test_fields_that_do_not_fit_are_an_error_of_kind_schema_that_names_them() -> None:
    async def act(_: Probe) -> None:
        pytest.fail("it ran")

    error = bad(asyncio.run(attempt(ProbeTool(act), {"size": "big"}, ToolContext())))
    assert error.kind == "schema"
    assert "$.size" in error.message


# The registry


def test_every_built_in_kind_has_a_tool_of_that_kind() -> None:
    registry = Registry(plug_ins=False)
    for kind in BUILT_IN:
        assert registry.tool(kind).kind == kind


@pytest.mark.spec("S22")
def test_an_unknown_kind_is_an_outcome_with_a_hint() -> None:
    error = bad(run("shel", {}))
    assert (error.kind, error.message) == (
        "client_error",
        "no tool of kind 'shel'; did you mean 'shell'?",
    )


def test_a_tool_of_ones_own_can_be_added_but_no_kind_taken_over() -> None:
    registry = Registry(plug_ins=False)
    registry.add(ProbeTool(for_ever))
    assert registry.specs()["probe"] is Probe
    assert registry.specs()["http"] is Http
    with pytest.raises(UsageError, match="'probe' is taken"):
        registry.add(ProbeTool(for_ever))


@pytest.mark.spec("S5")
def test_a_noop_has_no_result() -> None:
    outcome = run("noop", {})
    assert (outcome.status, outcome.has_result) == ("ok", False)
