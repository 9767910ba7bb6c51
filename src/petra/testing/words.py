"""The words of test files (S21): one grammar for whoever reads them, for ``petra schema test`` and for editors."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, field

from petra.kinds import says
from petra.playbook.grammar import fields_of
from petra.playbook.schema import schema_of
from petra.wire import ErrorKind

Seconds = Annotated[float, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1)]


class SuitePart(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A part of a test file. ``extra`` names the field that takes free keys."""

    extra: ClassVar[str | None] = None


class FailsWith(SuitePart, frozen=True):
    """Why a try or a step fails."""

    extra = "more"

    kind: Annotated[ErrorKind, says("What sort of error it is.")] = "unknown"
    message: Annotated[str | None, says("What it says; its kind when absent.")] = None
    code: Annotated[str | int | None, says("A code, such as that of a database.")] = None
    retryable: Annotated[bool | None, says("Whether the same may go well next time.")] = None
    details: Annotated[Any, says("More about it.")] = None
    more: dict[str, Any] = {}


class Script(SuitePart, frozen=True):
    """What one try of a task comes to: exactly one of `ok`, `error`, `run`, `crash`."""

    extra = "more"

    ok: Annotated[Any, says("It succeeds with this result.")] = UNSET
    error: Annotated[
        FailsWith | str | None,
        says("It fails: {kind, message, code, retryable, details}, or the message alone."),
    ] = None
    run: Annotated[Text | None, says("It succeeds with the value of this expression.")] = None
    crash: Annotated[bool | None, says("true: it never ends, the worker dies.")] = None
    after_s: Annotated[Seconds, says("How long it takes, in virtual seconds.")] = 0
    more: dict[str, Any] = {}


class Reason(SuitePart, frozen=True):
    """Why somebody does something."""

    reason: Annotated[str, says("Why.")] = ""


class Nothing(SuitePart, frozen=True):
    """There is nothing to say about it."""


class Sent(SuitePart, frozen=True):
    """A signal."""

    name: Annotated[Text, says("Its name.")]
    key: Annotated[Any, says("Whom it is for, where waits have keys.")] = None
    payload: Annotated[Any, says("What it carries.")] = None


class OnItem(SuitePart, frozen=True):
    """An act on a work item."""

    item: Annotated[Text | None, says("With `at_s`: the step whose work item is meant.")] = None
    step: Annotated[Text | None, says("Another word for `item`.")] = None
    on_behalf_of: Annotated[Text | None, says("For whom it is done.")] = None


class WithReason(OnItem, frozen=True):
    """An act on a work item that may have a reason."""

    reason: Annotated[str, says("Why.")] = ""


class Completion(OnItem, frozen=True, kw_only=True):
    """How a work item is completed."""

    action: Annotated[Text | None, says("The action taken; the first one when absent.")] = None
    data: Annotated[Any, says("What is filled in.")] = None


class GivingUp(WithReason, frozen=True):
    """Why a work item cannot be done."""

    data: Annotated[Any, says("Details of the error.")] = None


class HandedOn(WithReason, frozen=True, kw_only=True):
    """Who gets a work item."""

    to: Annotated[Text, says("Who gets it.")]


class GroupChange(SuitePart, frozen=True):
    """A change of a live group: exactly one of `add`, `close`, `cancel`, `complete`."""

    step: Annotated[Text | None, says("The step that made the group, or joins it.")] = None
    add: Annotated[Any, says("A further item.")] = UNSET
    close: Annotated[bool | None, says("true: nothing comes to it any more.")] = None
    cancel: Annotated[bool | None, says("true: its branches are withdrawn.")] = None
    complete: Annotated[bool | None, says("true: its join fires with what has arrived.")] = None


class Decided(SuitePart, frozen=True):
    """The outcome of a step, as an operator decides it: `ok`, or `error`."""

    step: Annotated[Text, says("The step.")]
    ok: Annotated[Any, says("It is done, with this result.")] = UNSET
    error: Annotated[FailsWith | str | None, says("It failed.")] = None
    reason: Annotated[str, says("Why.")] = ""


class Happening(SuitePart, frozen=True):
    """What happens from outside: exactly one trigger, and exactly one act."""

    at_s: Annotated[Seconds | None, says("At this virtual time.")] = None
    when_open: Annotated[Text | None, says("As soon as a work item of this step is open.")] = None
    when_waiting: Annotated[
        Text | None, says("As soon as a token waits to start this step.")
    ] = None  # fmt: skip
    signal: Annotated[Sent | Text | None, says("Sends a signal: {name, key, payload}.")] = None
    complete: Annotated[
        Completion | bool | None, says("Completes the work item: {action, data}.")
    ] = None
    patch_ctx: Annotated[dict[str, Any] | None, says("Changes ctx, as an operator.")] = None
    cancel: Annotated[Reason | str | bool | None, says("Cancels the execution: {reason}.")] = None
    pause: Annotated[Reason | bool | None, says("Stops new firings: {reason}.")] = None
    resume: Annotated[Nothing | bool | None, says("Lets them go on.")] = None
    claim: Annotated[WithReason | bool | None, says("Claims the work item.")] = None
    release: Annotated[WithReason | bool | None, says("Gives it back.")] = None
    start: Annotated[WithReason | bool | None, says("Starts it.")] = None
    save: Annotated[Any, says("Saves this draft.")] = None
    fail: Annotated[GivingUp | str | bool | None, says("Fails it: {reason, data}.")] = None
    cancel_item: Annotated[WithReason | str | bool | None, says("Cancels it: {reason}.")] = None
    delegate: Annotated[HandedOn | Text | None, says("Hands it to somebody else: {to}.")] = None
    reassign: Annotated[HandedOn | Text | None, says("The same, by an administrator: {to}.")] = None
    suspend: Annotated[WithReason | bool | None, says("Suspends it.")] = None
    resume_item: Annotated[WithReason | bool | None, says("Takes it up again.")] = None
    comment: Annotated[Any, says("Comments on it.")] = None
    group: Annotated[
        GroupChange | None, says("Changes a live group: {step, add}, or close, cancel, complete.")
    ] = None  # fmt: skip
    override: Annotated[
        Decided | None, says("Decides the outcome of a step: {step, ok, error, reason}.")
    ] = None
    who: Annotated[Text | None, says("Who acts; an administrator when absent.")] = field(
        name="as", default=None
    )
    roles: Annotated[
        list[str] | None, says("The roles of whoever acts; every role when absent.")
    ] = None
    item: Annotated[Text | None, says("With `at_s`: the step whose work item is meant.")] = None
    step: Annotated[Text | None, says("Another word for `item`.")] = None
    desc: Annotated[str | None, says("For people.")] = None

    @property
    def act(self) -> str:
        """What is done."""
        return next(word for word in ACTS if getattr(self, word) is not None)

    @property
    def given(self) -> Any:
        """What is said about it."""
        return getattr(self, self.act)

    @property
    def about(self) -> str | None:
        """The step whose work item is meant, where it is said."""
        given = self.given
        inside = (given.item or given.step) if isinstance(given, OnItem) else None
        return self.item or self.step or inside


TRIGGERS = ("at_s", "when_open", "when_waiting")
_BESIDE = ("as", "roles", "item", "step", "desc")
ACTS = tuple(word for word in fields_of(Happening) if word not in (*TRIGGERS, *_BESIDE))
ON_EXECUTION = ("signal", "patch_ctx", "cancel", "pause", "resume", "group", "override")
"""Acts that are no acts on a work item."""
ADDED = ("http", "pg", "py", "shell")
"""What the kinds of Petra add to an outcome."""


class Expect(SuitePart, frozen=True):
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
        Literal[
            "human", "signal", "child", "timer", "gate", "starved", "join", "incident", "deadlock"
        ]
        | None,
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
    error: Annotated[Text | None, says("A text that the failure holds.")] = None
    elapsed_s: Annotated[
        float | None, says("The virtual time at the end, give or take a second.")
    ] = None


class TestCase(SuitePart, frozen=True):
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
    stop_at_s: Annotated[Seconds | None, says("Stops the clock there, to see what waits.")] = None
    tools: Annotated[
        dict[str, Script | list[Script]] | None,
        says("What tasks come to, by `step` or `step/task`."),
    ] = None
    world: Annotated[list[Happening] | None, says("What happens from outside.")] = None
    expect: Annotated[Expect | None, says("What must come of it.")] = None


class TestFile(SuitePart, frozen=True, kw_only=True):
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
        properties = holder["properties"]
        properties["playbook"] = {"description": properties["playbook"]["description"], **either}
        properties["library"] = {
            "description": properties["library"]["description"],
            "type": "array",
            "items": either,
        }
    return schema
