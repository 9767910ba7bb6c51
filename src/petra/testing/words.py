"""The words of test files (S21): one grammar for who reads them, for ``petra schema test`` and for editors."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, field

from petra.kinds import says
from petra.playbook.schema import schema_of

Seconds = Annotated[float, Meta(ge=0)]


class Part(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A part of a test file. ``extra`` names the field that takes free keys."""

    extra: ClassVar[str | None] = None


class Script(Part, frozen=True):
    """What one try of a task comes to: exactly one of `ok`, `error`, `run`, `crash`."""

    extra = "more"

    ok: Annotated[Any, says("It succeeds with this result.")] = UNSET
    error: Annotated[
        dict[str, Any] | str | None,
        says("It fails: {kind, message, code, retryable, details}, or the message alone."),
    ] = None
    run: Annotated[str | None, says("It succeeds with the value of this expression.")] = None
    crash: Annotated[bool, says("It never ends: the worker dies.")] = False
    after_s: Annotated[Seconds, says("How long it takes, in virtual seconds.")] = 0
    more: dict[str, Any] = {}


class Happening(Part, frozen=True):
    """What happens from outside: exactly one trigger, and exactly one act."""

    at_s: Annotated[Seconds | None, says("At this virtual time.")] = None
    when_open: Annotated[str | None, says("As soon as a work item of this step is open.")] = None
    when_waiting: Annotated[
        str | None, says("As soon as a token waits to start this step.")
    ] = None  # fmt: skip
    signal: Annotated[
        dict[str, Any] | str | None, says("Sends a signal: {name, key, payload}.")
    ] = None  # fmt: skip
    complete: Annotated[Any, says("Completes the work item: {action, data}.")] = None
    patch_ctx: Annotated[dict[str, Any] | None, says("Changes ctx, as an operator.")] = None
    cancel: Annotated[Any, says("Cancels the execution: {reason}.")] = None
    pause: Annotated[Any, says("Stops new firings.")] = None
    resume: Annotated[Any, says("Lets them go on.")] = None
    claim: Annotated[Any, says("Claims the work item.")] = None
    release: Annotated[Any, says("Gives it back.")] = None
    start: Annotated[Any, says("Starts it.")] = None
    save: Annotated[Any, says("Saves a draft.")] = None
    fail: Annotated[Any, says("Fails it: {reason}.")] = None
    cancel_item: Annotated[Any, says("Cancels it: {reason}.")] = None
    delegate: Annotated[Any, says("Hands it to somebody else: {to}.")] = None
    reassign: Annotated[Any, says("The same, by an administrator: {to}.")] = None
    suspend: Annotated[Any, says("Suspends it.")] = None
    resume_item: Annotated[Any, says("Takes it up again.")] = None
    comment: Annotated[Any, says("Comments on it.")] = None
    group: Annotated[
        dict[str, Any] | None, says("Changes a live group: {step, add}, or close, cancel, complete.")
    ] = None  # fmt: skip
    override: Annotated[
        dict[str, Any] | None, says("Decides the outcome of a step: {step, ok, error, reason}.")
    ] = None
    who: Annotated[str | None, says("Who acts; an administrator when absent.")] = field(
        name="as", default=None
    )
    roles: Annotated[list[str] | None, says("The roles of who acts; every role when absent.")] = (
        None
    )
    item: Annotated[str | None, says("With `at_s`: the step whose work item is meant.")] = None
    step: Annotated[str | None, says("Another word for `item`.")] = None
    execution: Annotated[Any, says("Which execution is meant, where there are several.")] = None
    desc: Annotated[str | None, says("For people.")] = None


class Expect(Part, frozen=True):
    """What must come of a case; what is absent is not checked."""

    status: Annotated[
        Literal[
            "completed", "partial", "failed", "aborted", "waiting", "stuck", "refused", "running",
            "paused", "compensating", "cancelling",
        ]
        | None,
        says("The status at the end."),
    ] = None  # fmt: skip
    waiting_on: Annotated[
        str | None,
        says(
            "waiting: human, signal, child, timer, gate; stuck: starved, join, incident, deadlock."
        ),
    ] = None
    output: Annotated[Any, says("What the execution returns.")] = UNSET
    ctx: Annotated[
        dict[str, Any] | None, says("These keys, each equal; others may be there.")
    ] = None  # fmt: skip
    done: Annotated[list[str] | None, says("Every activation that was done, in order.")] = None
    runs: Annotated[
        dict[str, int] | None, says("For each step, how many activations were started.")
    ] = None
    attempts: Annotated[
        dict[str, int] | None, says("For each step, the tries of all its tasks but noop.")
    ] = None
    never: Annotated[list[str] | None, says("Steps that were not started.")] = None
    cancelled: Annotated[
        list[str] | None, says("Exactly the steps that were withdrawn or stopped.")
    ] = None
    error: Annotated[str | None, says("A text that the failure holds.")] = None
    elapsed_s: Annotated[
        float | None, says("The virtual time at the end, give or take a second.")
    ] = None


class TestCase(Part, frozen=True):
    """One case: a start, what happens, and what must come of it."""

    __test__ = False  # not a test of pytest's

    name: Annotated[str | None, says("What the case claims.")] = None
    desc: Annotated[str | None, says("More words about it.")] = None
    playbook: Annotated[
        str | dict[str, Any] | None, says("A playbook for this case alone.")
    ] = None  # fmt: skip
    library: Annotated[
        list[str | dict[str, Any]] | None, says("A library for this case alone.")
    ] = None
    workload: Annotated[
        dict[str, Any] | None, says("What the execution is started with.")
    ] = None  # fmt: skip
    seed: Annotated[int | None, says("For selection and jitter; 0 when absent.")] = None
    stop_at_s: Annotated[float | None, says("Stops the clock there, to see what waits.")] = None
    tools: Annotated[
        dict[str, Script | list[Script]] | None,
        says("What tasks come to, by `step` or `step/task`."),
    ] = None
    world: Annotated[list[Happening] | None, says("What happens from outside.")] = None
    expect: Annotated[Expect | None, says("What must come of it.")] = None


class TestFile(Part, frozen=True, kw_only=True):
    """A test file: cases that run a playbook in virtual time."""

    __test__ = False  # not a test of pytest's

    api_version: Annotated[Literal["petra/v1"] | None, says("The header.")] = field(
        name="apiVersion", default=None
    )
    kind: Annotated[Literal["Test"], says("What the file holds.")]
    playbook: Annotated[
        str | dict[str, Any] | None, says("The playbook under test: its file, or the playbook.")
    ] = None
    library: Annotated[
        list[str | dict[str, Any]] | None, says("Playbooks that `kind: playbook` may call.")
    ] = None
    cases: Annotated[list[TestCase], Meta(min_length=1, description="The cases.")]


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of test files; a playbook inside one is described like any other."""
    schema = schema_of(TestFile, "Petra test file")
    either = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Playbook"}]}
    for holder in (schema, schema["$defs"]["TestCase"]):
        given = holder["properties"]
        given["playbook"] = {"description": given["playbook"]["description"], **either}
        given["library"] = {
            "description": given["library"]["description"],
            "type": "array",
            "items": either,
        }
    return schema
