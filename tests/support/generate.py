"""Random playbooks, outcomes and outside events: all constructs of the language, drawn from one seed.

A path is a playbook with scripts for its tools and commands that come from outside. The same seed gives the
same path on every machine. Nothing here promises that a playbook is sound: the kernel must hold anyway.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from random import Random  # noqa: TID251 - seeded, and only in tests
from typing import Any

from petra.kernel import commands as c
from petra.playbook import Playbook, read
from petra.testing.simulation import EPOCH, WORLD, Execution, Simulation
from petra.wire import Error, Report, Write

_GUARDS = (
    "{{ ctx.n > 2 }}", "{{ ctx.flag }}", "{{ not ctx.flag }}", "{{ event.status == 'error' }}",
    "{{ event.status == 'ok' }}", "{{ args.item == 1 }}", "{{ ok(event.step) }}", "{{ branch.index == 0 }}",
    "{{ event.counts.failed == 0 }}",
)  # fmt: skip
_ADMITS = (
    "{{ ctx.flag }}", "{{ ctx.n > 1 }}", "{{ done('s1') }}", "{{ running('s0') }}", "{{ args.item }}",
    "{{ true }}", "{{ not ctx.flag }}",
)  # fmt: skip
_HOLDERS = ("ada", "bob", "eve")
RECORDS_MAX = 300


@dataclass(frozen=True, slots=True)
class RandomPath:
    """A playbook with everything that will happen to it."""

    seed: int
    playbook: Playbook
    child: Playbook
    tools: dict[str, Any]
    selection: str
    chunk_max: int


class TooLongError(Exception):
    """A path went on for long enough."""


def random_path(seed: int) -> RandomPath:
    """Draw a path; playbooks that the reader refuses are drawn again."""
    dice = Random(seed)
    while True:
        made = _Drawn(dice).playbook()
        reading = read(json.dumps(made), f"random-{seed}")
        if reading.playbook is not None and reading.ok:
            break
    child = _read_child(json.dumps(_child(dice)))
    tools = {step["step"]: _script(dice) for step in made["workflow"]}
    tools |= {f"{step['step']}/compensate": _script(dice) for step in made["workflow"]}
    tools["child:k"] = _script(dice)
    selection = dice.choice(("fifo", "fifo", "priority", "name", "hash", "random"))
    return RandomPath(seed, reading.playbook, child, tools, selection, dice.choice((1, 1, 4)))


@cache
def _read_child(text: str) -> Playbook:
    return read(text, "child").checked()


def _script(dice: Random) -> list[dict[str, Any]]:
    return [_outcome(dice) for _ in range(dice.randint(1, 4))]


def _outcome(dice: Random) -> dict[str, Any]:
    after = {"after_s": dice.choice((0, 0, 1, 2, 5, 40))}
    drawn = dice.random()
    if drawn < 0.7:
        return {"ok": dice.choice((None, 1, 2, "x", [1, 2], {"k": 1}, [])), **after}
    if drawn < 0.92:
        return {
            "error": {"kind": dice.choice(("timeout", "server_error")), "message": "no"},
            **after,
        }
    return {"crash": True, **after}


def _child(dice: Random) -> dict[str, Any]:
    tool = dice.choice(
        ({"kind": "python", "code": "x"}, {"kind": "wait", "for_s": 3}, {"kind": "noop"})
    )
    return {
        "apiVersion": "petra/v1", "kind": "Playbook", "metadata": {"name": "child"},
        "workflow": [{"step": "k", "tool": tool}],
    }  # fmt: skip


class _Drawn:
    """One random playbook, as plain data."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.names = [f"s{number}" for number in range(dice.randint(2, 8))]

    def often(self, chance: float) -> bool:
        return self.dice.random() < chance

    def playbook(self) -> dict[str, Any]:
        return {
            "apiVersion": "petra/v1", "kind": "Playbook", "metadata": {"name": "random"},
            "executor": {"spec": self.executor()},
            "workload": {"items": [1, 2, 3], "none": []},
            "workflow": [self.step(number) for number in range(len(self.names))],
        }  # fmt: skip

    def executor(self) -> dict[str, Any]:
        dice = self.dice
        spec: dict[str, Any] = {"resources": {"db": dice.randint(1, 3)}, "policy": {}}
        if self.often(0.3):
            spec["policy"]["failure"] = {"mode": "best_effort"}
        if self.often(0.3):
            spec["policy"]["compensation"] = dice.choice(("on_failure", "on_abort", "both"))
        if self.often(0.25):
            spec["final_step"] = dice.choice(self.names)
            spec["final_step_failure"] = dice.choice(("fail", "partial"))
        if self.often(0.15):
            spec["timeout_s"] = dice.choice((5, 50, 200))
        if self.often(0.5):
            spec["ctx"] = {"n": {"reduce": dice.choice(("last", "first", "append", "union"))}}
        if self.often(0.1):
            spec["no_next_is_error"] = True
        if self.often(0.1):
            spec["output"] = "{{ ctx.n }}"
        return spec

    def step(self, number: int) -> dict[str, Any]:
        made: dict[str, Any] = {"step": self.names[number], "spec": self.spec(number)}
        if self.often(0.85):
            made["tool"] = self.tool()
            if self.often(0.2):
                made["loop"] = self.loop(nested=self.often(0.3))
        if self.often(0.85) or "tool" not in made:
            made["next"] = self.next(number)
        return made

    def tool(self) -> dict[str, Any]:
        dice = self.dice
        rules: list[dict[str, Any]] = []
        if self.often(0.3):
            rules.append(
                {"when": "{{ outcome.status == 'error' }}", "then": {"do": "retry", "attempts": 2}}
            )
        if self.often(0.5):
            writes = dice.choice(
                ({"n": 1}, {"n": "{{ branch.index | default(0) }}"}, {"flag": True})
            )
            rules.append({"when": "{{ outcome.status == 'ok' }}", "then": {"set_ctx": writes}})
        if self.often(0.15):
            rules.append({"when": "{{ true }}", "then": {"set_branch": "{{ outcome.result }}"}})
        policy = {"on_unmatched": dice.choice(("continue", "fail")), "rules": rules}
        spec = {"policy": policy} if rules else {}
        kinds = (self.python, self.python, self.python, self.noop, self.human, self.wait, self.call)
        return {**dice.choice(kinds)(), **({"spec": spec} if spec else {})}

    def python(self) -> dict[str, Any]:
        return {"kind": "python", "code": "x"}

    def noop(self) -> dict[str, Any]:
        return {"kind": "noop"}

    def human(self) -> dict[str, Any]:
        dice = self.dice
        made: dict[str, Any] = {
            "kind": "human",
            "title": "x",
            "assignees": {"users": list(_HOLDERS)},
        }
        if self.often(0.5):
            made["due_s"] = dice.choice((10, 100))
        if self.often(0.3):
            made["remind_s"] = 5
        if self.often(0.3):
            do = dice.choice(("notify", "expire", "approve", "reassign"))
            made["escalate"] = [
                {"after_s": 7, "do": do, **({"to": "eve"} if do == "reassign" else {})}
            ]
        if self.often(0.2):
            made["exclude"] = {"completed_by": dice.choice(self.names)}
        return made

    def wait(self) -> dict[str, Any]:
        delivery = self.dice.choice(("persistent", "transient"))
        timer = {"for_s": self.dice.choice((0, 3, 30))}
        signal = {"signal": {"name": "go", "delivery": delivery}}
        human = {"human": {"title": "y"}, "as": "person"}
        both = [timer, signal, human][: self.dice.randint(2, 3)]
        return {"kind": "wait", **self.dice.choice((timer, signal, {"any_of": both}))}

    def call(self) -> dict[str, Any]:
        return {
            "kind": "playbook", "path": "child", "wait": self.often(0.8),
            "on_failure": self.dice.choice(("propagate", "catch")),
        }  # fmt: skip

    def loop(self, *, nested: bool) -> dict[str, Any]:
        dice = self.dice
        made: dict[str, Any] = {
            "in": dice.choice(([1, 2, 3], "{{ workload.items }}", "{{ workload.none }}", [[1], [2, 3]])),
            "iterator": "x",
            "spec": {
                "mode": dice.choice(("sequential", "parallel")), "max_in_flight": dice.randint(1, 3),
                "policy": {"exec": dice.choice(("distributed", "local"))},
            },
        }  # fmt: skip
        if nested:
            inner = self.loop(nested=False)
            made["loop"] = {**inner, "iterator": "y"}
        return made

    def spec(self, number: int) -> dict[str, Any]:
        dice = self.dice
        spec: dict[str, Any] = {"priority": dice.randint(0, 2), "policy": self.policy()}
        if number and self.often(0.4):
            spec["join"] = self.join(number)
        if self.often(0.1):
            spec["cancels"] = {
                "steps": [dice.choice(self.names)],
                "on": dice.choice(("done", "start")),
            }
        if self.often(0.2):
            spec["compensate"] = {"tool": {"kind": "python", "code": "x"}}
        if self.often(0.05):
            spec["terminate"] = True
        return spec

    def policy(self) -> dict[str, Any]:
        dice = self.dice
        policy: dict[str, Any] = {}
        if self.often(0.2):
            rules = [{"when": dice.choice(_ADMITS), "then": {"allow": True}}]
            policy["admit"] = {
                "rules": rules, "on_deny": dice.choice(("wait", "discard", "fail")),
                "once": self.often(0.2), "withdraw": self.often(0.3),
            }  # fmt: skip
        if self.often(0.25):
            policy["failure"] = {"mode": dice.choice(("fail_fast", "best_effort", "best_effort"))}
        if self.often(0.2):
            key = "{{ branch.index | default(0) }}"
            policy["resources"] = [{"name": "db", **({"key": key} if self.often(0.3) else {})}]
        if self.often(0.15):
            policy["lifecycle"] = {dice.choice(("timeout_s", "deadline_s")): dice.choice((3, 20))}
        return policy

    def join(self, number: int) -> dict[str, Any]:
        dice = self.dice
        modes = ("all", "any", {"m_of_n": 2}, {"when": "{{ arrived >= 2 }}"}, "arcs", "or")
        join: dict[str, Any] = {
            "mode": dice.choice(modes),
            "on_early_complete": dice.choice(("cancel", "abandon", "allow_late_merge")),
            "on_unreachable": dice.choice(("fail", "proceed", "wait")),
            "blocking": self.often(0.15),
        }
        if self.often(0.3):
            join["of"] = dice.choice(self.names[:number])
        if self.often(0.2):
            join["timeout_s"] = dice.choice((2, 20))
        if self.often(0.5):
            strategies = (
                "append",
                "collect",
                "extend",
                "merge_object",
                "keyed_by_branch",
                "last_wins",
            )
            join["merge"] = {"strategy": dice.choice(strategies), "into": f"m{number}"}
        return join

    def next(self, number: int) -> dict[str, Any]:
        arcs = [self.arc(number) for _ in range(self.dice.randint(1, 3))]
        return {"spec": {"mode": self.dice.choice(("exclusive", "inclusive"))}, "arcs": arcs}

    def arc(self, number: int) -> dict[str, Any]:
        dice = self.dice
        forward = self.names[number + 1 :] or self.names
        arc: dict[str, Any] = {"step": dice.choice(forward if self.often(0.9) else self.names)}
        if self.often(0.4):
            arc["when"] = dice.choice(_GUARDS)
        if self.often(0.3):
            arc["foreach"] = dice.choice(("{{ workload.items }}", [1, 2], "{{ workload.none }}"))
        elif self.often(0.15):
            arc["copies"] = dice.randint(0, 3)
        if self.often(0.2):
            arc["args"] = {"k": "{{ event.result | default(0) }}"}
        return arc


# What happens from outside


def unleash(path: RandomPath, simulation: Simulation, *, acts: int = 8) -> None:
    """Schedule random outside events, among them such that must be refused."""
    dice = Random(path.seed + 1)
    for _ in range(acts):
        at = EPOCH + dice.choice((0, 1, 2, 3, 5, 8, 20, 60, 120, 400))
        draw = Random(dice.random())
        simulation.at(at, WORLD, lambda draw=draw: _act(draw, simulation))  # type: ignore[misc]


def _act(dice: Random, simulation: Simulation) -> None:
    execution = simulation.root
    if execution.refused or execution.state.terminal:
        return
    command = dice.choice(_COMMANDS)(dice, execution, simulation.now)
    if command is not None:
        simulation.send(execution, command)


def _signal(dice: Random, _execution: Execution, now: float) -> c.AnyCommand:
    return c.SendSignal(now=now, name="go", payload=dice.randint(0, 3))


def _patch(dice: Random, _execution: Execution, now: float) -> c.AnyCommand:
    return c.PatchCtx(now=now, values={dice.choice(("flag", "other")): dice.choice((True, False))})


def _item(dice: Random, execution: Execution, now: float) -> c.AnyCommand | None:
    items = list(execution.state.items)
    if not items:
        return None
    acts = (
        "claim", "complete", "complete", "complete", "release", "fail", "cancel", "delegate", "reassign",
        "suspend", "resume", "start", "save", "comment", "dance",
    )  # fmt: skip
    return c.Act(
        now=now, item=dice.choice(items), act=dice.choice(acts), actor=dice.choice((*_HOLDERS, "mal")),
        action=dice.choice(("approve", "reject", None)), to=dice.choice(_HOLDERS), admin=dice.random() < 0.2,
    )  # fmt: skip


def _pause(_dice: Random, execution: Execution, now: float) -> c.AnyCommand:
    return c.Resume(now=now) if execution.state.paused else c.Pause(now=now)


def _resume(_dice: Random, _execution: Execution, now: float) -> c.AnyCommand:
    return c.Resume(now=now)


def _cancel(dice: Random, _execution: Execution, now: float) -> c.AnyCommand | None:
    return c.Cancel(now=now, reason="random") if dice.random() < 0.3 else None


def _group(dice: Random, execution: Execution, now: float) -> c.AnyCommand | None:
    groups = list(execution.state.groups)
    if not groups:
        return None
    change = dice.choice(("add", "add", "close", "cancel", "complete"))
    return c.ChangeGroup(now=now, group=dice.choice(groups), change=change, item=9)


def _override(dice: Random, execution: Execution, now: float) -> c.AnyCommand:
    ok = dice.random() < 0.7
    step = dice.choice(list(execution.program.steps))
    return c.Override(now=now, step=step, ok=ok, result=dice.choice((None, 7)), reason="random")


def _stray_report(dice: Random, execution: Execution, now: float) -> c.AnyCommand | None:
    """A report of a delivery that is not the current one."""
    runs = list(execution.state.runs)
    if not runs:
        return None
    run = dice.choice(runs)
    report = Report(status="ok", result="stray", writes=[Write(key="stray", value=1)])
    delivery = execution.state.runs[run].delivery + dice.choice((-1, 1))
    return c.StepReport(now=now, run=run, report=report, delivery=delivery)


def _stray_lease(dice: Random, execution: Execution, now: float) -> c.AnyCommand | None:
    runs = list(execution.state.runs)
    return c.LeaseExpired(now=now, run=dice.choice(runs), delivery=99) if runs else None


def _stray_child(_dice: Random, execution: Execution, now: float) -> c.AnyCommand | None:
    children = list(execution.state.children)
    error = Error(kind="unknown", message="stray")
    return (
        c.ChildEnded(now=now, child=children[0], status="failed", error=error) if children else None
    )


def _tick(_dice: Random, _execution: Execution, now: float) -> c.AnyCommand:
    return c.Tick(now=now)


_COMMANDS = (
    _signal, _signal, _patch, _patch, _item, _item, _item, _pause, _resume, _cancel, _group, _override,
    _stray_report, _stray_lease, _stray_child, _tick,
)  # fmt: skip
