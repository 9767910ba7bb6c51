"""Drawing nested fan-outs: every mode of join, every policy, gates, resources, failures, ways round, operators.

The same seed gives the same plan on every machine; a few in a row share a playbook and live it differently. A condition is drawn as a pair: its text, for the kernel, and a
function over plain values, for the oracle. What a worker reports depends on the step, the branch and the visit
alone, never on an order, so that both sides get the same answers whatever they ask first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - seeded, and only in tests
from typing import Any

Json = dict[str, Any]
Path = tuple[tuple[str, int], ...]
"""The branches around something, by the step that fanned out and the index, outermost first."""


@dataclass(frozen=True)
class Cond:
    """A condition: its text, what it says of plain values, and what it reads."""

    text: str
    says: Callable[[Any], bool]
    ctx: bool = False
    steps: tuple[str, ...] = ()
    handles: bool = False


OK = Cond("{{ event.status == 'ok' }}", lambda see: see.ok, handles=True)
ERROR = Cond("{{ event.status == 'error' }}", lambda see: not see.ok, handles=True)
NEVER = Cond("{{ ctx.never }}", lambda see: bool(see.ctx.get("never")), ctx=True)


def _odd(parity: int) -> Cond:
    return Cond(
        f"{{{{ branch.index % 2 == {parity} }}}}",
        lambda see: see.index is not None and see.index % 2 == parity,
    )


def _below(limit: int) -> Cond:
    return Cond(f"{{{{ event.result < {limit} }}}}", lambda see: see.result < limit, handles=True)


def _key(key: str) -> Cond:
    return Cond(f"{{{{ ctx.{key} }}}}", lambda see: bool(see.ctx.get(key)), ctx=True)


def _no_key(key: str) -> Cond:
    return Cond(f"{{{{ not ctx.{key} }}}}", lambda see: not see.ctx.get(key), ctx=True)


def _done(step: str) -> Cond:
    return Cond(f"{{{{ done('{step}') }}}}", lambda see: see.done(step), steps=(step,))


def _completed(step: str, least: int) -> Cond:
    text = f"{{{{ step.{step}.status.completed >= {least} }}}}"
    return Cond(text, lambda see: see.completed(step) >= least, steps=(step,))


def _arrived(least: int) -> Cond:
    return Cond(f"{{{{ arrived >= {least} }}}}", lambda see: see.arrived >= least)


def _both(one: Cond, other: Cond) -> Cond:
    text = "{{ " + one.text[3:-3] + " and " + other.text[3:-3] + " }}"
    return Cond(
        text,
        lambda see: one.says(see) and other.says(see),
        ctx=one.ctx or other.ctx,
        steps=one.steps + other.steps,
    )


@dataclass
class Plan:
    """A playbook with everything that happens to it."""

    seed: int
    shape: int
    steps: dict[str, Json] = field(default_factory=dict)
    closes: dict[str, str | None] = field(default_factory=dict)
    """Which join closes the groups of a fan-out, where that is certain."""
    splits: dict[str, str] = field(default_factory=dict)
    """For a join over arcs, the step whose fan-out it closes."""
    entry: str = ""
    best_effort: bool = False
    world: list[Json] = field(default_factory=list)

    def outcome(self, step: str, path: Path, visit: int) -> Json:
        """Say what a worker reports for one run, and when."""
        spec = self.steps[step]
        text = f"{self.seed}/{step}/{path}/{visit}"
        dice = Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
        made: Json = {"after": 0.05 + dice.random() * spec["slow"], "ok": True, "result": None}
        if spec["kind"] == "python":
            made["result"] = visit if spec["counts"] else _result(dice, step, path)
            made["ok"] = dice.random() >= spec["fails"]
        if not made["ok"]:
            made["result"] = None
        if spec["set_branch"] and made["ok"]:
            made["branch"] = f"set by {step}"
        if spec["set_ctx"] and made["ok"]:
            made["write"] = spec["set_ctx"]
        return made


def _result(dice: Random, step: str, path: Path) -> Any:
    where = f"{step}{[index for _, index in path]}"
    kinds: list[Any] = [where, where, [where], {"k": {"v": where}, where: 1}, None]
    return dice.choice(kinds)


LIVES = 5
"""So many seeds in a row share one playbook: reading it takes longer than living it."""


def draw(seed: int) -> Plan:
    """Draw a plan."""
    drawing = _Drawing(seed // LIVES, seed)
    drawing.world(Random(f"world {seed}"))
    return drawing.plan


class _Drawing:
    def __init__(self, shape: int, seed: int) -> None:
        self.dice = Random(shape)
        self.plan = Plan(seed, shape)
        self.names = 0
        self.level = 0
        self.loops: list[str] = []
        self.joins: list[str] = []
        self.fans: dict[str, str] = {}
        dice = self.dice
        self.plan.best_effort = dice.random() < 0.2
        last = self.step("last", [])
        self.side = self.step("side", []) if dice.random() < 0.5 else ""
        entry = self.group(3, last)
        if self.side:
            entry = self.step(
                "begin", [self.arc(entry), self.arc(self.side)], kind="router", inclusive=True
            )
            self.plan.closes[entry] = None
        self.plan.entry = entry

    # Parts

    def chance(self, part: float) -> bool:
        return self.dice.random() < part

    def arc(self, to: str, when: Cond | None = None, **more: Any) -> Json:
        return {"to": to, "when": when, **more}

    def step(self, word: str, arcs: list[Json], **more: Any) -> str:
        self.names += 1
        name = f"{word}{self.names}"
        kind = self.dice.choice(("python", "python", "python", "noop"))
        self.plan.steps[name] = {
            "kind": kind, "arcs": arcs, "inclusive": False, "join": None, "gate": None, "once": False,
            "on_deny": "wait", "withdraw": False, "resource": False, "best_effort": None, "fails": 0.0,
            "slow": self.dice.choice((1.0, 4.0, 12.0)), "counts": False, "set_branch": False,
            "set_ctx": "", "loop": False, "items": 0, "for_s": 0.0, **more,
        }  # fmt: skip
        return name

    def gate(self, name: str) -> None:
        """Put a gate in front of a step, now and then."""
        dice, spec = self.dice, self.plan.steps[name]
        if self.chance(0.8):
            return
        gates = [_key("open"), _no_key("hold"), _key("go")]
        gates += [_done(self.side)] if self.side else []
        gates += [_completed(loop, 1) for loop in self.loops]
        spec["gate"] = dice.choice(gates)
        spec["on_deny"] = dice.choice(("wait", "wait", "wait", "discard", "fail"))
        spec["once"] = self.chance(0.1)

    def milestone(self, spec: Json) -> None:
        """Let a step that waits be withdrawn when its gate shuts."""
        if spec["kind"] != "wait" or self.chance(0.3):
            return
        if spec["gate"] is None and self.chance(0.6):
            spec["gate"] = _no_key("hold")
        spec["withdraw"] = spec["gate"] is not None

    def policy(self, name: str, after: str) -> None:
        """Let a step fail, and say what follows."""
        spec = self.plan.steps[name]
        if spec["kind"] == "python" and not spec["loop"] and self.chance(0.3):
            spec["fails"] = self.dice.choice((0.2, 0.5))
        if not spec["fails"] and spec["join"] is None and spec["on_deny"] != "fail":
            return
        way = self.dice.choice(("best_effort", "handler", "handler", "over", "none"))
        if way == "best_effort":
            spec["best_effort"] = True
        elif way == "handler":
            mended = self.step("mended", [self.arc(after)])
            spec["arcs"] = [
                *({**one, "when": one["when"] or OK} for one in spec["arcs"]),
                self.arc(mended, ERROR),
            ]
        elif way == "over":
            over = self.step("over", [])
            spec["arcs"] = [*spec["arcs"], self.arc(over, ERROR)]

    # Blocks

    def block(self, depth: int, after: str) -> str:
        kinds: list[Callable[[int, str], str]] = [self.task, self.task]
        if depth:
            kinds += [self.group, self.group, self.arcs, self.round]
        entry = self.dice.choice(kinds)(depth - 1 if depth else 0, after)
        return self.block(0, entry) if self.chance(0.2) else entry

    def task(self, _depth: int, after: str) -> str:
        arcs = [self.arc(after)]
        if self.level and self.chance(0.2):  # a way round the join
            arcs = [self.arc(after, self.dice.choice((_odd(0), _odd(1), _key("flag"), NEVER)))]
        if len(self.joins) > 1 and self.chance(0.15):  # a way to an outer one
            outer = self.dice.choice(self.joins[:-1])
            self.plan.steps[outer]["join"]["of"] = self.fans[outer]
            arcs = [
                self.arc(outer, self.dice.choice((_odd(0), _odd(1), _key("flag")))),
                self.arc(after),
            ]
        name = self.step("task", arcs)
        spec, dice = self.plan.steps[name], self.dice
        what = dice.random()
        if what < 0.18:
            spec.update(kind="wait", for_s=round(0.5 + dice.random() * 6, 3))
        elif what < 0.26:
            spec.update(kind="router")
        elif what < 0.34:
            spec.update(kind="python", loop=True, items=dice.choice((0, 2, 3)))
            self.loops.append(name)
        spec["resource"] = (
            spec["kind"] in ("python", "noop") and not spec["loop"] and self.chance(0.15)
        )
        spec["set_branch"] = spec["kind"] == "python" and not spec["loop"] and self.chance(0.15)
        spec["set_ctx"] = (
            "go" if spec["kind"] == "python" and not spec["loop"] and self.chance(0.1) else ""
        )
        self.gate(name)
        self.milestone(spec)
        self.policy(name, after)
        return name

    def round(self, depth: int, after: str) -> str:
        """A block that is gone through again."""
        name = self.step("again", [], kind="python", counts=True)
        body = self.block(depth, name)
        self.plan.steps[name]["arcs"] = [self.arc(body, _below(1)), self.arc(after)]
        return body

    def join(self, fan: str, after: str, *, size: int) -> str:
        dice = self.dice
        modes: list[Any] = ["all", "all", "all", "any", {"m_of_n": dice.choice((1, 2, 2, 3, 5))}]
        when = [_arrived(1), _arrived(max(1, size)), _both(_arrived(1), _key("go")), _key("flag")]
        if self.side:
            when += [_done(self.side), _both(_arrived(1), _done(self.side))]
        modes += [{"when": dice.choice(when)}, {"when": dice.choice(when)}]
        merge = None
        if self.chance(0.75):
            strategies = (
                "append",
                "append",
                "collect",
                "extend",
                "merge_object",
                "keyed_by_branch",
                "last_wins",
            )
            merge = {
                "strategy": dice.choice(strategies),
                "into": dice.choice((None, "m", "m", f"m_{fan}")),
                "source": dice.choice((None, None, None, "k.v", "0")),
            }
        join = {
            "of": fan if self.chance(0.5) else None,
            "mode": dice.choice(modes),
            "early": dice.choice(("cancel", "cancel", "abandon", "allow_late_merge")),
            "unreachable": dice.choice(("fail", "proceed", "proceed", "wait")),
            "timeout_s": round(dice.random() * 12 + 0.5, 3) if self.chance(0.3) else None,
            "blocking": self.chance(0.1),
            "merge": merge,
        }
        kind = dice.choice(("router", "noop", "python", "wait"))
        arcs = [self.arc(after)]
        if self.level and self.chance(0.1):
            arcs = [self.arc(after, self.dice.choice((_key("flag"), NEVER)))]
        name = self.step("join", arcs, kind=kind, join=join)
        spec = self.plan.steps[name]
        if kind == "wait":
            spec["for_s"] = round(0.5 + dice.random() * 4, 3)
        spec["resource"] = self.chance(0.15)
        self.gate(name)
        self.milestone(spec)
        self.policy(name, after)
        return name

    def group(self, depth: int, after: str) -> str:
        dice = self.dice
        fan = self.step("fan", [], kind=dice.choice(("router", "router", "python")))
        spec = self.plan.steps[fan]
        many = self.chance(0.5)
        size = dice.choice((0, 1, 2, 2, 3, 3)) if many else dice.choice((2, 2, 3))
        join = self.join(fan, after, size=size)
        self.plan.closes[fan], self.fans[join] = join, fan
        self.joins.append(join)
        self.level += 1
        if many:
            body = self.block(depth, join)
            spec["arcs"] = [self.arc(body, None, **{dice.choice(("foreach", "copies")): size})]
        else:
            spec["inclusive"] = True
            spec["arcs"] = [
                self.arc(self.block(depth if one == 0 else min(depth, 1), join))
                for one in range(size)
            ]
            if self.chance(0.2):
                spec["arcs"][-1]["when"] = self.dice.choice((_key("flag"), _no_key("flag")))
        self.level -= 1
        self.joins.pop()
        return fan

    def arcs(self, depth: int, after: str) -> str:
        """A split whose branches meet at a join over arcs."""
        dice = self.dice
        fan = self.step("split", [], kind="router", inclusive=True)
        join = self.join(fan, after, size=2)
        spec = self.plan.steps[join]
        spec["join"].update(
            of=None,
            mode=dice.choice(("arcs", "or")),
            timeout_s=None,
            blocking=False,
            early="cancel",
        )
        self.plan.closes[fan], self.plan.splits[join] = None, fan
        around, self.joins = self.joins, []  # no way leads out of the split
        self.level += 1
        ways = [self.block(min(depth, 1), self.step("way", [self.arc(join)])) for _ in range(2)]
        self.level -= 1
        self.joins = around
        self.plan.steps[fan]["arcs"] = [self.arc(way) for way in ways]
        return fan

    # The world

    def world(self, dice: Random) -> None:
        """Draw what operators do."""
        for _ in range(dice.choice((0, 1, 2, 3, 5, 8))):
            at = round(dice.random() * 25, 4) + 0.00001
            what = dice.random()
            if what < 0.55:
                key = dice.choice(("open", "hold", "hold", "go", "flag"))
                act: Json = {"patch": {key: dice.random() < 0.6}}
            elif what < 0.75:
                change = dice.choice(("add", "add", "close", "cancel", "complete"))
                act = {"group": change, "which": dice.randrange(4)}
            elif what < 0.97:
                act = {"override": dice.choice(list(self.plan.steps)), "ok": dice.random() < 0.7}
            else:
                act = {"cancel": True}
            self.plan.world.append({"at": at, **act})
        if dice.random() < 0.7:
            self.plan.world.append({"at": 60.0, "patch": {"open": True, "hold": False, "go": True}})
        self.plan.world.sort(key=lambda act: act["at"])
