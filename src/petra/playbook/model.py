"""The model: what a playbook says, after every dialect has become one (S1, S3-S16, S20).

Frozen structs that mirror the canonical YAML key for key. They are the reader's grammar, the JSON Schema
of ``petra schema`` and what every later part works on. A field whose metadata names a ``use`` holds
templates and is checked against the names of that place.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, field

from petra.expr.scopes import Use
from petra.kinds import Schema, says
from petra.playbook.concurrency import Concurrency, Priority
from petra.playbook.notify import NotifyRule
from petra.playbook.origins import Origins

API_VERSIONS = ("petra/v1", "noetl.io/v2", "noetl.io/v10")
BRANCHES_MAX = 100_000
"""Tokens that one firing makes: all of them are in memory, and start in one decision. Whoever needs more writes a loop."""

Guard = Annotated[str | bool, Meta(description="A condition.")]
AdmitGuard = Annotated[Guard, Meta(extra={"use": Use.ADMIT})]
ArcGuard = Annotated[
    str | bool, Meta(description="A condition; true when absent.", extra={"use": Use.ARC})
]
PolicyGuard = Annotated[Guard, Meta(extra={"use": Use.POLICY})]
JoinGuard = Annotated[Guard, Meta(extra={"use": Use.JOIN})]
Patch = Annotated[dict[str, Any], Meta(extra={"use": Use.PATCH})]
PolicyCount = Annotated[Annotated[int, Meta(ge=1)] | str, Meta(extra={"use": Use.POLICY})]
PolicySeconds = Annotated[Annotated[float, Meta(ge=0)] | str, Meta(extra={"use": Use.POLICY})]
PolicyFraction = Annotated[
    Annotated[float, Meta(ge=0, le=1)] | str, Meta(extra={"use": Use.POLICY})
]
Seconds = Annotated[float, Meta(gt=0)]
StepName = Annotated[str, Meta(min_length=1, extra={"step": True})]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class Part(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A part of a playbook. ``extra`` names the field that takes keys of other grammars, ``aside`` one nobody writes."""

    extra: ClassVar[str | None] = None
    aside: ClassVar[str | None] = None


# Rules


class Allow(Part, frozen=True):
    """The verdict of an admission rule."""

    allow: Annotated[bool, says("Let the token in.")]


class AdmitElse(Part, frozen=True):
    """The closing admission rule."""

    then: Allow


class AdmitRule(Part, frozen=True):
    """One admission rule: `when` and `then`, or a closing `else`."""

    when: AdmitGuard | None = None
    then: Allow | None = None
    otherwise: AdmitElse | None = field(name="else", default=None)

    @property
    def guard(self) -> str | bool:
        """The condition; the closing rule always holds."""
        return True if self.otherwise is not None or self.when is None else self.when

    @property
    def allow(self) -> bool:
        """What the rule decides."""
        verdict = self.otherwise.then if self.otherwise is not None else self.then
        return verdict is not None and verdict.allow


class Action(Part, frozen=True):
    """What a task policy does with an outcome (S5)."""

    do: Annotated[
        Literal["continue", "retry", "jump", "break", "fail"], says("How the pipeline goes on.")
    ] = "continue"
    attempts: Annotated[PolicyCount | None, says("retry: all tries together; 3 when absent.")] = (
        None
    )
    backoff: Annotated[
        Literal["none", "linear", "exponential"], says("retry: how the delay grows.")
    ] = "none"
    delay: Annotated[
        PolicySeconds | None,
        says("retry: seconds, or `retry_after`: as long as the other side asks; 1 when absent."),
    ] = None
    max_delay: Annotated[PolicySeconds | None, says("retry: the longest delay, in seconds.")] = None
    jitter: Annotated[PolicyFraction | None, says("retry: a fraction of the delay, 0 to 1.")] = None
    to: Annotated[str | None, says("jump: a task of the same step.")] = None
    message: Annotated[
        str | None,
        Meta(
            description="fail, or a retry that is used up: what the failure says.",
            extra={"use": Use.PATCH},
        ),
    ] = None
    set_ctx: Annotated[Patch | None, says("Changes of ctx.")] = None
    set_iter: Annotated[Patch | None, says("Changes of iter.")] = None
    set_branch: Annotated[
        Any, Meta(description="The output of the branch; null is one.", extra={"use": Use.PATCH})
    ] = UNSET


class PolicyElse(Part, frozen=True):
    """The closing rule of a task policy."""

    then: Action


class PolicyRule(Part, frozen=True):
    """One rule of a task policy: `when` and `then`, or a closing `else`."""

    when: PolicyGuard | None = None
    then: Action | None = None
    otherwise: PolicyElse | None = field(name="else", default=None)

    @property
    def guard(self) -> str | bool:
        """The condition; the closing rule always holds."""
        return True if self.otherwise is not None or self.when is None else self.when

    @property
    def action(self) -> Action:
        """What the rule does."""
        action = self.otherwise.then if self.otherwise is not None else self.then
        return action or Action()


class TaskPolicy(Part, frozen=True):
    """What happens after each outcome of a task; the first rule that matches decides."""

    rules: Annotated[list[PolicyRule], says("The first that matches decides.")]
    on_unmatched: Annotated[Literal["continue", "fail"], says("When no rule matches.")] = "continue"
    mode: Annotated[Literal["exclusive"], says("Reserved.")] = "exclusive"
    before: Annotated[list[Any], Meta(description="Reserved.", max_length=0)] = []
    after: Annotated[list[Any], Meta(description="Reserved.", max_length=0)] = []
    finally_: Annotated[list[Any], Meta(description="Reserved.", max_length=0)] = field(
        name="finally", default_factory=list
    )


# Tasks


class TaskSpec(Part, frozen=True):
    """How a task runs; kind settings are overlaid from the outer specs."""

    extra = "knobs"

    policy: TaskPolicy | None = None
    timeout_s: Annotated[Seconds | None, says("Limit of one attempt, in seconds.")] = None
    knobs: Annotated[dict[str, Any], Meta(extra={"use": Use.TASK})] = {}


class Task(Part, frozen=True):
    """One entry of a step's pipeline; the keys of its kind are in ``fields``."""

    extra = "fields"

    name: Annotated[Name, says("Jump target, and name of the result in later templates.")]
    kind: Annotated[Name, says("The tool.")]
    desc: Annotated[str | None, says("For people.")] = None
    args: Annotated[
        dict[str, Any] | None, Meta(description="Arguments, by name.", extra={"use": Use.TASK})
    ] = None
    set_ctx: Annotated[Patch | None, says("Changes of ctx, made when the task went well.")] = None
    set_iter: Annotated[Patch | None, says("Changes of iter, made when the task went well.")] = None
    spec: TaskSpec = field(default_factory=TaskSpec)
    fields: dict[str, Any] = {}

    @property
    def policy(self) -> TaskPolicy | None:
        """The policy of this task."""
        return self.spec.policy


# Routing


class Arc(Part, frozen=True):
    """Leads a token to another step (S7)."""

    step: Annotated[StepName, says("The step it leads to.")]
    when: ArcGuard = True
    args: Annotated[
        dict[str, Any] | None, Meta(description="Arguments of the token.", extra={"use": Use.ARC})
    ] = None
    priority: Annotated[int, says("Lower is tried first.")] = 0
    foreach: Annotated[
        list[Any] | str | None, Meta(description="One token per item.", extra={"use": Use.ARC})
    ] = None
    item: Annotated[Name, says("foreach: the name of the item in args.")] = field(
        name="as", default="item"
    )
    copies: Annotated[
        Annotated[int, Meta(ge=0, le=BRANCHES_MAX)] | str | None,
        Meta(description="That many tokens.", extra={"use": Use.ARC}),
    ] = None


class RouterSpec(Part, frozen=True):
    """How a router chooses."""

    mode: Annotated[Literal["exclusive", "inclusive"], says("The first match, or all of them.")] = (
        "exclusive"
    )
    policy: Annotated[dict[str, Any], Meta(description="Reserved.", max_length=0)] = {}


class Router(Part, frozen=True):
    """Where tokens go after a step."""

    spec: RouterSpec = field(default_factory=RouterSpec)
    arcs: Annotated[list[Arc], says("Where tokens may go, in order.")] = []


# Loops


class LoopPolicy(Part, frozen=True):
    """How iterations are handed out."""

    exec: Annotated[
        Literal["distributed", "local"], says("Across workers, or all on one lease.")
    ] = "distributed"
    ordering: Annotated[Any, Meta(description="Reserved.", extra={"placeholder": True})] = None
    partitioning: Annotated[Any, Meta(description="Reserved.", extra={"placeholder": True})] = None
    dedupe: Annotated[Any, Meta(description="Reserved.", extra={"placeholder": True})] = None


class LoopSpec(Part, frozen=True):
    """How a loop runs."""

    extra = "knobs"

    mode: Annotated[Literal["sequential", "parallel"], says("One after the other, or not.")] = (
        "sequential"
    )
    max_in_flight: Annotated[
        Annotated[int, Meta(ge=1)] | str,
        Meta(description="parallel: how many at once.", extra={"use": Use.LOOP}),
    ] = 16
    policy: LoopPolicy = field(default_factory=LoopPolicy)
    timeout_s: Annotated[Seconds | None, says("Default for the tasks: limit of one attempt.")] = (
        None
    )
    knobs: Annotated[dict[str, Any], Meta(extra={"use": Use.TASK})] = {}


class Loop(Part, frozen=True):
    """Runs the pipeline once per item (S9)."""

    items: Annotated[
        list[Any] | str, Meta(description="The list, or a template.", extra={"use": Use.LOOP})
    ] = field(name="in")
    iterator: Annotated[Name, says("The name of the item in `iter`.")]
    spec: LoopSpec = field(default_factory=LoopSpec)
    loop: Annotated[Loop | None, says("A loop inside, run per item.")] = None


# Steps


class Admit(Part, frozen=True):
    """Whether a token may start a step (S4)."""

    rules: Annotated[list[AdmitRule], says("The first that matches decides.")] = []
    on_deny: Annotated[
        Literal["wait", "discard", "fail"], says("What happens to a token that is denied.")
    ] = "wait"
    once: Annotated[bool, says("Only the first admitted token runs.")] = False
    withdraw: Annotated[bool, says("Take back a waiting work item when the gate closes.")] = False
    mode: Annotated[Literal["exclusive"], says("Reserved.")] = "exclusive"


class Lifecycle(Part, frozen=True):
    """Time limits of a step run."""

    timeout_s: Annotated[Seconds | None, says("Limit of the run, in seconds.")] = None
    deadline_s: Annotated[Seconds | None, says("Limit from the start of the execution.")] = None


class Failure(Part, frozen=True):
    """What a failure means."""

    mode: Annotated[
        Literal["fail_fast", "best_effort"], says("Fail at once, or go on and end partial.")
    ]


class Resource(Part, frozen=True):
    """What a step run holds from start to end (S15)."""

    name: Annotated[Name, says("A declared resource.")]
    key: Annotated[
        Any, Meta(description="Keeps holders of different keys apart.", extra={"use": Use.RESOURCE})
    ] = None
    units: Annotated[int, Meta(ge=1, description="How much of it.")] = 1


class Emit(Part, frozen=True):
    """Reserved."""

    events: Annotated[list[Any], Meta(description="Reserved.", max_length=0)] = []


class StepPolicy(Part, frozen=True):
    """Admission, time limits, failure and resources of a step."""

    admit: Admit | None = None
    lifecycle: Lifecycle | None = None
    failure: Failure | None = None
    resources: Annotated[list[Resource], says("What a run holds.")] = []
    emit: Emit | None = None


class MOfN(Part, frozen=True):
    """A join that needs some of the branches."""

    m_of_n: Annotated[
        Annotated[int, Meta(ge=1)] | str,
        Meta(description="How many branches.", extra={"use": Use.JOIN}),
    ]


class JoinWhen(Part, frozen=True):
    """A join with a condition over `arrived`, `total` and `outputs`."""

    when: JoinGuard


class Merge(Part, frozen=True, kw_only=True):
    """How the outputs of the branches become one value in ctx."""

    strategy: Annotated[
        Literal["append", "collect", "extend", "merge_object", "keyed_by_branch", "last_wins"],
        says("How the outputs combine."),
    ] = "append"
    into: Annotated[
        Name | None, says("The ctx key; without one the merge is the result of the join alone.")
    ] = None
    source: Annotated[str | None, says("A dotted path into the output.")] = None


class Join(Part, frozen=True):
    """How sibling tokens become one (S8)."""

    of: Annotated[
        StepName | None, says("The step that fanned out; the innermost group if absent.")
    ] = None
    mode: Annotated[
        Literal["all", "any", "arcs", "or"] | MOfN | JoinWhen, says("When it fires.")
    ] = "all"
    on_early_complete: Annotated[
        Literal["cancel", "abandon", "allow_late_merge"],
        says("What happens to the other branches."),
    ] = "cancel"
    on_unreachable: Annotated[
        Literal["fail", "proceed", "wait"], says("When the condition can no longer hold.")
    ] = "fail"
    timeout_s: Annotated[Seconds | None, says("From the fan-out, in seconds.")] = None
    blocking: Annotated[bool, says("A later group waits for the end of this one.")] = False
    merge: Merge | None = None


class Cancels(Part, frozen=True):
    """What a step withdraws (S13)."""

    steps: Annotated[
        list[str], Meta(description="Steps or regions.", extra={"step_or_region": True})
    ]
    on: Annotated[Literal["done", "start"], says("When.")] = "done"


class Compensate(Part, frozen=True):
    """What undoes a done step (S13)."""

    tool: Annotated[list[Task], says("The tasks that undo it.")]


class StepSpec(Part, frozen=True):
    """How a step behaves."""

    extra = "knobs"

    policy: StepPolicy = field(default_factory=StepPolicy)
    join: Join | None = None
    pool: Annotated[Name, says("The worker pool.")] = "default"
    priority: Annotated[int, says("Lower first, for `selection: priority`.")] = 0
    terminate: Annotated[bool, says("End the execution when this step is done.")] = False
    cancels: Cancels | None = None
    compensate: Compensate | None = None
    timeout_s: Annotated[Seconds | None, says("Default for the tasks: limit of one attempt.")] = (
        None
    )
    knobs: Annotated[dict[str, Any], Meta(extra={"use": Use.TASK})] = {}


class Step(Part, frozen=True):
    """One step of the workflow: a pipeline of tasks, or a pure router."""

    step: Annotated[Name, says("Its name.")]
    desc: Annotated[str | None, says("For people.")] = None
    spec: StepSpec = field(default_factory=StepSpec)
    loop: Loop | None = None
    tool: Annotated[list[Task], says("The pipeline of tasks.")] = []
    next: Router | None = None

    @property
    def arcs(self) -> list[Arc]:
        """The arcs in the order they are evaluated: by priority, then as written."""
        return sorted(self.next.arcs, key=lambda arc: arc.priority) if self.next else []

    @property
    def is_router(self) -> bool:
        """Whether it only routes."""
        return not self.tool

    @property
    def inclusive(self) -> bool:
        """Whether all matching arcs are taken."""
        return self.next is not None and self.next.spec.mode == "inclusive"


# Executor


class DefaultTimeouts(Part, frozen=True):
    """Default time limits, in seconds."""

    task_s: Annotated[Seconds | None, says("For one attempt of a task.")] = None
    step_s: Annotated[Seconds | None, says("For a step run.")] = None


class Defaults(Part, frozen=True):
    """Defaults for all steps and tasks."""

    timeouts: DefaultTimeouts = field(default_factory=DefaultTimeouts)
    resources: Annotated[list[Resource], says("What every step holds.")] = []


class Results(Part, frozen=True):
    """How results are kept (S18)."""

    reference_first: Annotated[bool, says("Store every result by reference.")] = False


class Limits(Part, frozen=True):
    """Limits of one execution."""

    max_jumps: Annotated[int, Meta(ge=0, description="Jumps per step run.")] = 10_000
    max_payload_bytes: Annotated[int, Meta(ge=0, description="Largest inline value.")] = 65_536


class ExecutorPolicy(Part, frozen=True):
    """Defaults and limits of the whole playbook."""

    defaults: Defaults = field(default_factory=Defaults)
    results: Results = field(default_factory=Results)
    limits: Limits = field(default_factory=Limits)
    failure: Failure | None = None
    compensation: Annotated[
        Literal["never", "on_failure", "on_abort", "both"], says("When done steps are undone.")
    ] = "never"


class CtxKey(Part, frozen=True):
    """What a ctx key holds and how writes to it combine (S10)."""

    reduce: Annotated[
        Literal["last", "first", "append", "extend", "sum", "min", "max", "merge", "union"] | None,
        says("Applied to every write."),
    ] = None
    schema: Annotated[Schema | bool | None, says("JSON Schema of the value.")] = None


class ExecutorSpec(Part, frozen=True):
    """How the whole playbook runs."""

    extra = "knobs"

    entry_step: Annotated[StepName | None, says("Where the first token goes.")] = None
    final_step: Annotated[StepName | None, says("Runs once at the end.")] = None
    final_step_failure: Annotated[
        Literal["fail", "partial"], says("What a failing final step means.")
    ] = "fail"
    no_next_is_error: Annotated[bool, says("No matching arc is a failure.")] = False
    input_schema: Annotated[Schema | None, says("JSON Schema of the workload.")] = None
    output: Annotated[
        Any, Meta(description="What the execution returns.", extra={"use": Use.OUTPUT})
    ] = None
    timeout_s: Annotated[Seconds | None, says("Limit of the execution, in seconds.")] = None
    regions: Annotated[dict[str, list[StepName]], says("Named sets of steps, for `cancels`.")] = {}
    resources: Annotated[
        dict[str, Annotated[int, Meta(ge=1)] | Literal["server"]],
        says("Units of each resource; `server` for one that the server shares out."),
    ] = {}
    concurrency: Annotated[Concurrency | None, says("How many executions there are at once.")] = (
        None
    )
    priority: Annotated[Priority, says("Who comes first where executions wait: lower.")] = 0
    selection: Annotated[
        Literal["fifo", "priority", "name", "hash", "random"], says("Order of enabled firings.")
    ] = "fifo"
    seed: Annotated[int | None, says("For `selection: random` and `hash`.")] = None
    ctx: Annotated[dict[str, CtxKey], says("Reducers and schemas of ctx keys.")] = {}
    notify: Annotated[list[NotifyRule], says("Who is told of what.")] = []
    policy: ExecutorPolicy = field(default_factory=ExecutorPolicy)
    knobs: Annotated[dict[str, Any], Meta(extra={"use": Use.TASK})] = {}


class Executor(Part, frozen=True):
    """Settings of the whole playbook."""

    spec: ExecutorSpec = field(default_factory=ExecutorSpec)


# The document


class Credential(Part, frozen=True):
    """A secret the playbook needs (S20); the keys of its kind are in ``settings``."""

    extra = "settings"

    name: Annotated[Name, says("How templates and `auth` call it.")]
    kind: Annotated[Name, says("Where it comes from.")]
    settings: dict[str, Any] = {}


class Metadata(Part, frozen=True):
    """What the playbook is called; further keys are free."""

    extra = "more"

    name: Annotated[Name, says("Its name.")]
    path: Annotated[str | None, says("What `kind: playbook` looks it up by.")] = None
    version: Annotated[str | int | float | None, says("Its version.")] = None
    description: Annotated[str | None, says("For people.")] = None
    labels: Annotated[dict[str, Any] | list[Any], says("For searching.")] = {}
    more: dict[str, Any] = {}


class Playbook(Part, frozen=True, kw_only=True):
    """A whole playbook. ``origins`` says where its code was written; that is no part of what it says."""

    aside = "origins"

    api_version: Annotated[
        Literal["petra/v1", "noetl.io/v2", "noetl.io/v10"], says("The header.")
    ] = field(name="apiVersion")
    kind: Annotated[Literal["Playbook"], says("What the file holds.")]
    metadata: Metadata
    keychain: Annotated[list[Credential], says("The secrets it needs.")] = []
    executor: Executor = field(default_factory=Executor)
    workload: Annotated[dict[str, Any], says("Inputs and their defaults.")] = {}
    workflow: Annotated[list[Step], Meta(min_length=1, description="The steps.")]
    workbook: Annotated[dict[str, Task], says("Reusable tasks, by name.")] = {}
    origins: Origins = field(default_factory=Origins)

    @property
    def entry(self) -> str:
        """The step that gets the first token (S3)."""
        return self.executor.spec.entry_step or self.workflow[0].step

    def find(self, name: str) -> Step:
        """Return the step of that name.

        Raises:
            KeyError: there is none.
        """
        for step in self.workflow:
            if step.step == name:
                return step
        raise KeyError(name)
