"""The program: a playbook compiled for the kernel, once per content digest.

Every template that the server evaluates is compiled here, with the names it reads; every question about
the graph that a decision asks (who closes this group, what lies upstream of that join) is answered here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from petra.errors import ExpressionError
from petra.expr import PathUse, Profile, Template, compile_template, paths
from petra.kernel.state import Began, StepRun
from petra.kinds import SERVER_KINDS
from petra.net.closing import closed_by_arcs, join_of_each
from petra.playbook.company import calls_others
from petra.playbook.model import Arc, Join, JoinWhen, Loop, MOfN, Playbook, Step, Task
from petra.playbook.pins import PACKAGE
from petra.playbook.write import to_plain, to_yaml
from petra.values import digest, texts_in

Mode = Literal["router", "worker", "human", "wait", "playbook"]
Arrow = tuple[str, int]
"""An arc by its source step and its position as written."""

CHUNK_MAX = 256
"""At most so many iterations are handed out together."""

WINDOW = 512
"""So many iterations of a local loop are with its worker, at least; more as it reports."""

EVENTS_MAX = 1_000_000
"""A decision that makes more events goes round for ever."""
EVENTS_LEAST = 120_000
EVENTS_PER_TOKEN = 50
"""So does one that makes more than these: so many, and so many more for each token and run that was there, and for each branch
that it makes. Whoever goes round by themselves is found in less than two seconds, and holds up nobody for ten."""

_HANDLER_READS = ("event", "ok()", "fail()")
_ANY = "*"


class Value(Struct, frozen=True):
    """A JSON value whose strings may be templates, ready to render against a scope."""

    value: Any
    names: frozenset[tuple[str, ...]]
    constant: bool
    ctx: frozenset[str] = frozenset()
    """The ctx keys it reads, for the receipt of the firing that it is rendered for."""

    def render(self, scope: Mapping[str, Any]) -> Any:
        """Fill in every template.

        Raises:
            ExpressionError: something it needs is missing or does not fit.
        """
        return self.value if self.constant else _filled(self.value, Template.render, scope)

    def hand_on(self, scope: Mapping[str, Any]) -> Any:
        """Fill in every template for somebody who only keeps the value: what is large stays a reference.

        Raises:
            ExpressionError: as ``render`` does.
        """
        return self.value if self.constant else _filled(self.value, Template.hand_on, scope)


def _filled(value: Any, fill: Callable[[Template, Mapping[str, Any]], Any], scope: Any) -> Any:
    if isinstance(value, Template):
        return fill(value, scope)
    if isinstance(value, dict):
        return {key: _filled(item, fill, scope) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, fill, scope) for item in value]
    return value


def compiled(value: Any) -> Value:
    """Compile every template inside a value, with the rules of the server."""
    reads: set[tuple[str, ...]] = set()

    def walk(item: Any) -> Any:
        if isinstance(item, str) and "{" in item:
            template = compile_template(item, Profile.SERVER, strict=False)
            if template.is_constant:
                return item
            reads.update(template.reads)
            return template
        if isinstance(item, dict):
            return {key: walk(inner) for key, inner in item.items()}
        if isinstance(item, list):
            return [walk(inner) for inner in item]
        return item

    made = walk(value)
    return Value(made, frozenset(reads), constant=not reads and made == value, ctx=_ctx_keys(reads))


def _ctx_keys(names: Iterable[tuple[str, ...]]) -> frozenset[str]:
    """Return the ctx keys that paths read; ``*`` where only the run knows which."""
    return frozenset(
        path[1] if len(path) > 1 else _ANY for path in names if path and path[0] == "ctx"
    )


class Guard(Struct, frozen=True):
    """A condition and what it reads."""

    text: str
    template: Template | None
    always: bool
    names: frozenset[tuple[str, ...]] = frozenset()
    """The paths it reads."""
    ctx: frozenset[str] = frozenset()
    """The ctx keys it reads, for the receipt of the firing that it decides."""


def guard(when: str | bool | None) -> Guard:  # noqa: FBT001 - what authors write
    """Compile a condition; none at all holds always."""
    if when is None or isinstance(when, bool):
        return Guard(text=str(when is not False).lower(), template=None, always=when is not False)
    template = compile_template(when, Profile.SERVER, strict=False)
    if template.is_constant:
        return Guard(text=when, template=None, always=template.test({}))
    names = template.reads
    return Guard(text=when, template=template, always=False, names=names, ctx=_ctx_keys(names))


class ArcPlan(Struct, frozen=True):
    """An arc, compiled."""

    arc: Arc
    number: int
    guard: Guard
    args: Value
    foreach: Value | None
    copies: Value | None
    is_handler: bool
    reads_counts: bool

    @property
    def multiplies(self) -> bool:
        """Whether it makes a token per item or copy."""
        return self.foreach is not None or self.copies is not None

    @property
    def bare(self) -> bool:
        """Whether it passes on one token and nothing with it."""
        return not self.multiplies and self.args.constant and not self.args.value


class Reads(Struct, frozen=True):
    """What a gate depends on: ctx keys and steps; ``*`` where only the run knows which."""

    ctx: frozenset[str]
    steps: frozenset[str]
    token: bool
    """Whether two tokens at the same gate may get different answers."""


NOTHING = Reads(frozenset(), frozenset(), token=False)


class LoopPlan(Struct, frozen=True):
    """One level of a loop, compiled."""

    loop: Loop
    items: Value
    max_in_flight: Value
    inner: LoopPlan | None

    @property
    def parallel(self) -> bool:
        """Whether iterations of this level run side by side."""
        return self.loop.spec.mode == "parallel"

    @property
    def levels(self) -> list[bool]:
        """Whether iterations run side by side, of each level from this one on."""
        return [self.parallel, *(self.inner.levels if self.inner is not None else ())]


class StepPlan(Struct):
    """A step, compiled."""

    step: Step
    number: int
    mode: Mode
    arcs: list[ArcPlan]
    rules: list[tuple[Guard, bool]]
    reads: Reads
    join: Join | None
    join_when: Guard | None
    quorum: Value | None
    loop: LoopPlan | None
    resources: list[tuple[str, Value, int]]
    fields: Value | None
    cancels: tuple[str, ...]
    best_effort: bool
    timeout_s: float | None
    join_reads: Reads
    """What the condition of its join depends on, beside the branches."""
    result_reads: frozenset[str] = frozenset()
    reads_time: bool = False
    """Whether a worker may be asked what time it is."""
    incoming: list[Arrow] = field(default_factory=list)

    # What a decision asks again and again, answered once, when the plan is made.
    name: str = ""
    pairs_arcs: bool = False
    """Whether its join looks at arcs and not at groups."""
    joins_all: bool = False
    """Whether its join waits for every branch of a group."""
    gated: bool = False
    """Whether a token must be admitted before it starts."""
    plain: bool = False
    """Whether a run of it begins with nothing but its token and perhaps a time limit: no list, no wait."""
    timed: bool = False
    """Whether a run of it begins with a time limit."""
    straight: bool = False
    """Whether a success goes one way, whatever it came to: along the first arc, or nowhere."""
    undoable: bool = False
    """Whether a success of it can be undone."""
    onto: StepPlan | None = None
    """The step that a success leads to, where it starts that or waits at its join, and nothing else follows from it."""
    kinds: str = ""
    undo_kinds: str = ""
    """The kinds of tools that a worker needs for it, or to undo it: one in each line, in order."""

    def __post_init__(self) -> None:
        spec = self.step.spec
        mode = self.join.mode if self.join is not None else None
        self.name = self.step.step
        self.pairs_arcs = mode in ("arcs", "or")
        self.joins_all = mode == "all"
        self.gated = bool(self.rules) or spec.policy.admit is not None
        self.timed = self.timeout_s is not None or spec.policy.lifecycle is not None
        serves = self.mode not in ("router", "worker")
        self.plain = self.loop is None and not serves and not self.resources
        first = self.arcs[0] if self.arcs else None
        goes = first is None or (first.guard.template is None and first.guard.always and first.bare)
        self.straight = goes and not self.step.inclusive
        self.undoable = spec.compensate is not None
        self.kinds = _kinds_of(self.step.tool)
        self.undo_kinds = _kinds_of(spec.compensate.tool) if spec.compensate else ""


def _kinds_of(tasks: Sequence[Task]) -> str:
    """Return the kinds of tasks that workers do, one in each line."""
    return "\n".join(sorted({task.kind for task in tasks} - SERVER_KINDS))


def digest_of(playbook: Playbook) -> str:
    """Return the digest that a definition is pinned by (S3)."""
    return digest(to_plain(playbook))


class Program:
    """A playbook, compiled."""

    def __init__(
        self,
        playbook: Playbook,
        *,
        seed: int | None = None,
        selection: str | None = None,
        chunk_max: int = CHUNK_MAX,
        window: int = WINDOW,
    ) -> None:
        """Compile a playbook; a test may set another seed, selection strategy or size of chunks."""
        self.playbook = playbook
        self.chunk_max = chunk_max
        self.window = window
        self.events_max = EVENTS_MAX
        self.seed = seed if seed is not None else playbook.executor.spec.seed or 0
        self.selection = selection or playbook.executor.spec.selection
        self.digest = digest_of(playbook)
        self.origins_key = playbook.origins.key  # tells two readings of the same playbook apart
        self.spec = playbook.executor.spec
        self.payload_max = self.spec.policy.limits.max_payload_bytes
        self.by_name = {step.step: step for step in playbook.workflow}
        self.steps: dict[str, StepPlan] = {}
        for number, step in enumerate(playbook.workflow):
            self.steps[step.step] = self._plan(number, step)
        for plan in self.steps.values():
            for arc in plan.arcs:
                self.steps[arc.arc.step].incoming.append((plan.name, arc.number))
        self.entry = playbook.entry
        self._answer()
        self.reducers: dict[str, str] = {
            key: declared.reduce for key, declared in self.spec.ctx.items() if declared.reduce
        }
        limit = self.spec.concurrency
        self.limit_key = compiled(limit.key if limit is not None else None)
        self.output = compiled(self.spec.output) if self.spec.output is not None else None
        self.calls_others = calls_others(playbook)
        self.versions: dict[str, Program] = {}
        """Definitions, by digest, that its executions began with or may move to; the shell puts them here."""
        self._carried: dict[tuple[Began, str], StepPlan] = {}

    @cached_property
    def text(self) -> str:
        """The playbook as canonical YAML: of a large one it takes a second to write, and is wanted several times."""
        return to_yaml(self.playbook)

    def _answer(self) -> None:
        """Answer once what decisions ask about all steps."""
        self.has_blocking_joins = any(
            p.join is not None and p.join.blocking for p in self.steps.values()
        )
        self.has_timed_joins = any(
            p.join is not None and p.join.timeout_s is not None for p in self.steps.values()
        )
        self.conditional = [
            p for p in self.steps.values() if p.join_reads.ctx or p.join_reads.steps
        ]
        self.served = [p.name for p in self.steps.values() if p.mode not in ("router", "worker")]
        self.gated = [plan for plan in self.steps.values() if plan.gated]
        self.holders = [plan for plan in self.steps.values() if plan.resources]
        self.gates = [
            p for p in self.steps.values() if p.join_reads.ctx or (p.rules and p.reads.ctx)
        ]
        self.watches_steps = bool(self.gated or self.conditional)
        any_or = any(p.join is not None and p.join.mode == "or" for p in self.steps.values())
        if not (self.watches_steps or self.has_timed_joins or any_or):
            for plan in self.steps.values():
                plan.onto = self._onto(plan)

    def _onto(self, plan: StepPlan) -> StepPlan | None:
        """Return the step that a success leads to, where nothing else follows from it."""
        ends = bool(plan.cancels) or plan.step.spec.terminate
        if not (plan.straight and plan.arcs and plan.plain) or ends:
            return None
        after = self.steps[plan.arcs[0].arc.step]
        if after.join is not None:
            return after if after.joins_all else None
        begins = after.plain and after.mode == "worker" and not (after.timed or after.cancels)
        return after if begins else None

    def plan_of(self, run: StepRun) -> StepPlan:
        """Return what a run goes by: it does what it began with, and leads where the playbook leads now (S23)."""
        if run.began is None:
            return self.steps[run.step]
        key = (run.began, run.step)
        if key not in self._carried:
            was = self.versions[run.began.digest].steps[run.began.step]
            self._carried[key] = _carried_over(was, self.steps.get(run.step))
        return self._carried[key]

    def _plan(self, number: int, step: Step) -> StepPlan:
        policy = step.spec.policy
        admit = policy.admit
        rules = [(guard(rule.guard), rule.allow) for rule in admit.rules] if admit else []
        join = step.spec.join
        mode = join.mode if join is not None else None
        failure = policy.failure or self.spec.policy.failure
        lifecycle = policy.lifecycle
        timeout_s = lifecycle.timeout_s if lifecycle else None
        when = guard(mode.when) if isinstance(mode, JoinWhen) else None
        others = {name: step for name, step in self.by_name.items() if name not in _OF_JOINS}
        return StepPlan(
            step=step,
            number=number,
            mode=_mode(step),
            arcs=[self._arc(arc, index) for index, arc in _in_order(step)],
            rules=rules,
            reads=_reads(rules, self.by_name),
            join=join,
            join_when=when,
            join_reads=_reads([(when, True)], others) if when is not None else NOTHING,
            quorum=compiled(mode.m_of_n) if isinstance(mode, MOfN) else None,
            loop=_loop(step.loop),
            resources=[
                (held.name, compiled(held.key), held.units)
                for held in policy.resources or self.spec.policy.defaults.resources
            ],
            fields=_fields(step),
            cancels=self._cancels(step),
            best_effort=failure is not None and failure.mode == "best_effort",
            timeout_s=timeout_s or self.spec.policy.defaults.timeouts.step_s,
            result_reads=_result_reads(step, self.by_name),
            reads_time=any(
                _NOW.search(text) for text in texts_in(to_plain([step, self.spec.knobs]))
            ),
        )

    def _arc(self, arc: Arc, number: int) -> ArcPlan:
        when = guard(arc.when)
        return ArcPlan(
            arc=arc,
            number=number,
            guard=when,
            args=compiled(arc.args or {}),
            foreach=compiled(arc.foreach) if arc.foreach is not None else None,
            copies=compiled(arc.copies) if arc.copies is not None else None,
            is_handler=any(
                path[0] in _HANDLER_READS or path[:2] == ("ctx", "_last_error")
                for path in when.names
            ),
            reads_counts=any(
                path[:2] in (("event", "counts"), ("event", "error")) or path == ("event",)
                for path in when.names
            ),
        )

    def _cancels(self, step: Step) -> tuple[str, ...]:
        if step.spec.cancels is None:
            return ()
        steps: dict[str, None] = {}
        for name in step.spec.cancels.steps:
            steps.update(dict.fromkeys(self.spec.regions.get(name, [name])))
        return tuple(steps)

    @cached_property
    def secret_paths(self) -> list[tuple[str, ...]]:
        """Every path below ``keychain`` that a template reads, longest first."""
        paths: set[tuple[str, ...]] = set()
        for text in texts_in(to_plain(self.playbook)):
            if "keychain" in text:
                paths.update(use.path for use in _paths(text) if use.path[0] == "keychain")
        return sorted(paths, key=lambda path: (-len(path), path))

    @cached_property
    def signals(self) -> list[tuple[str | None, str]]:
        """Every signal that some step waits for, with its delivery; None where a template names it."""
        signals: list[tuple[str | None, str]] = []
        for plan in self.steps.values():
            if plan.mode != "wait":
                continue
            fields = plan.step.tool[0].fields
            for wait in fields.get("any_of") or [fields]:
                signal = wait.get("signal")
                if signal is None:
                    continue
                spec = signal if isinstance(signal, dict) else {"name": signal}
                name = str(spec.get("name"))
                signals.append((None if "{" in name else name, spec.get("delivery", "persistent")))
        return signals

    @cached_property
    def joins(self) -> dict[str, str | None]:
        """For every step that fans out, the one join that closes its groups, where that is certain."""
        return join_of_each(self.by_name)

    @cached_property
    def closed_by(self) -> dict[str, frozenset[str]]:
        """For every join over arcs, the steps whose fan-outs it closes: their levels end there."""
        return closed_by_arcs(self.by_name)

    @cached_property
    def upstream(self) -> dict[str, frozenset[str]]:
        """For every ``or`` join, the steps from which a token can still reach it, not through it."""
        sources: dict[str, set[str]] = {name: set() for name in self.steps}
        for plan in self.steps.values():
            for arc in plan.arcs:
                sources[arc.arc.step].add(plan.name)
        before = {}
        for plan in self.steps.values():
            if plan.join is None or plan.join.mode != "or":
                continue
            reached: set[str] = set()
            waiting = list(sources[plan.name])
            while waiting:
                name = waiting.pop()
                if name in reached or name == plan.name:
                    continue
                reached.add(name)
                waiting.extend(sources[name])
            before[plan.name] = frozenset(reached)
        return before

    @cached_property
    def downstream(self) -> dict[str, frozenset[str]]:
        """For every step, the steps a token can reach from it."""
        behind = {}
        for name in self.steps:
            reached: set[str] = set()
            waiting = [arc.arc.step for arc in self.steps[name].arcs]
            while waiting:
                step = waiting.pop()
                if step not in reached:
                    reached.add(step)
                    waiting.extend(arc.arc.step for arc in self.steps[step].arcs)
            behind[name] = frozenset(reached)
        return behind


def _carried_over(was: StepPlan, now: StepPlan | None) -> StepPlan:
    """Give a step of an earlier definition the arcs it has now; one that is gone leads nowhere new."""
    if now is None:
        return was
    step = msgspec.structs.replace(was.step, step=now.name, next=now.step.next)
    return replace(was, step=step, number=now.number, arcs=now.arcs, incoming=now.incoming)


def _in_order(step: Step) -> Iterator[tuple[int, Arc]]:
    """Yield the arcs by priority, then as written, each with its written position."""
    arcs = enumerate(step.next.arcs if step.next else ())
    yield from ((index, arc) for index, arc in sorted(arcs, key=lambda pair: pair[1].priority))


def _mode(step: Step) -> Mode:
    if not step.tool:
        return "router"
    kind = step.tool[0].kind
    return kind if kind in SERVER_KINDS else "worker"  # type: ignore[return-value]


def _fields(step: Step) -> Value | None:
    """Compile what a server task says; its form is a JSON Schema and stays as it is."""
    if _mode(step) in ("router", "worker"):
        return None
    task = step.tool[0]
    return compiled({**task.fields, "args": task.args or {}})


def _loop(loop: Loop | None) -> LoopPlan | None:
    if loop is None:
        return None
    return LoopPlan(
        loop=loop,
        items=compiled(loop.items),
        max_in_flight=compiled(loop.spec.max_in_flight),
        inner=_loop(loop.loop),
    )


_NOW = re.compile(r"\bnow\s*\(")
_HELPERS = frozenset(
    {"done()", "ok()", "fail()", "running()", "loop_done()", "all_done()", "any_done()"}
)
_OWN = frozenset({"args", "branch", "_branch", "event"})
_OF_JOINS = frozenset({"arrived", "total", "outputs"})
"""Names that the condition of a join has of its own."""


def _reads(rules: list[tuple[Guard, bool]], steps: Mapping[str, Step]) -> Reads:
    ctx: set[str] = set()
    read: set[str] = set()
    token = False
    for when, _ in rules:
        for path in when.names:
            first = path[0]
            if first == "ctx":
                ctx.add(path[1] if len(path) > 1 else _ANY)
            elif first in _HELPERS:
                read.update(path[1:] or (_ANY,))
                token = True
            elif first == "step":
                read.add(path[1] if len(path) > 1 else _ANY)
                token = True
            elif first in _OWN:
                token = True
            elif first in steps:
                read.add(first)
                token = True
    return Reads(frozenset(ctx), frozenset(read), token)


def _result_reads(step: Step, steps: Mapping[str, Step]) -> frozenset[str]:
    """Return the steps whose results the tasks of a step may read; all where code may read any."""
    names: set[str] = set()
    tasks = [*step.tool, *(step.spec.compensate.tool if step.spec.compensate else ())]
    for text in texts_in(to_plain(tasks)):
        if "{" not in text:
            continue
        for name in steps:
            if name in text:
                names.add(name)
        if "step" in text:
            names.add(_ANY)
    for task in tasks:  # code takes results by the names of their steps (S22)
        function, modules = task.fields.get("function"), task.fields.get("modules") or {}
        texts = [text for text in (task.fields.get("code"), *modules.values()) if text]
        for text in texts:
            names.update(name for name in steps if name in text)
        module = str(function or "").partition(":")[0]
        unknown = function is not None and not {module, f"{module}.{PACKAGE}"} & modules.keys()
        if unknown or any("context" in text for text in texts):
            names.add(_ANY)
    return frozenset(names)


def _paths(text: str) -> tuple[PathUse, ...]:
    try:
        return paths(text)
    except ExpressionError:
        return ()  # code of another language
