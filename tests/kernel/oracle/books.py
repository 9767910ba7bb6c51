"""Books of the oracle: what a nested fan-out comes to, worked out in the most obvious way (S4, S7, S8, S9, S11).

Plain dicts and lists; nothing is indexed, nothing is remembered that can be found by looking. After every change all
questions are asked anew: does a branch live, does a condition hold, may this token start? It knows a plan, not a
playbook, and shares no code with the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernel.oracle.draw import Json, Path, Plan


@dataclass
class See:
    """What a condition sees."""

    ctx: Json
    done: Callable[[str], bool]
    completed: Callable[[str], int]
    index: int | None = None
    ok: bool = True
    result: Any = None
    arrived: int = 0


class Books:
    """What there is, and how it moves."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.now = 0.0
        self.count = 0
        self.tokens: list[Json] = []
        self.runs: list[Json] = []
        self.groups: list[Json] = []
        self.ctx: Json = {}
        self.latest: dict[str, Json] = {}
        self.once: set[str] = set()
        self.visits: Counter[tuple[str, Path]] = Counter()
        self.stained = False
        self.status = ""
        self.trace: list[Any] = []
        self.token(plan.entry, (), {}, None, None)

    def next(self) -> int:
        """Number things in the order in which they come."""
        self.count += 1
        return self.count

    def say(self, *words: Any) -> None:
        """Note something that happened."""
        self.trace.append((round(self.now, 6), *words))

    def path(self, stack: Any) -> Path:
        """Name the branches around something."""
        return tuple((self.group(gid)["step"], index) for gid, index in stack)

    def group(self, gid: int) -> Json:
        """Find a group."""
        return next(group for group in self.groups if group["id"] == gid)

    def spec(self, step: str) -> Json:
        """Find a step."""
        return self.plan.steps[step]

    def mode(self, step: str) -> Any:
        join = self.spec(step)["join"]
        return join["mode"] if join is not None else None

    # Tokens

    def token(self, step: str, stack: Any, hist: Json, output: Any, arc: Any, **more: Any) -> Json:
        """Put a token in front of a step; at a join it may be the arrival of a branch."""
        made = {
            "id": self.next(), "is": "token", "step": step, "stack": tuple(stack), "hist": hist, "output": output, "arc": arc,
            "joined": False, "merged": None, "empty": None, **more,
        }  # fmt: skip
        self.tokens.append(made)
        level = self.level(made)
        if level is not None and not made["joined"] and made["empty"] is None:
            group, index = self.group(level[0]), level[1]
            free = not group["decided"] and group["join"] in (None, step)
            if free and index not in group["arrived"]:
                group["join"] = step
                group["arrived"][index] = made
                group["order"].append(index)
                made["brings"] = group["set"].get(index, output)
                # it has left the groups inside that one
                made["stack"] = made["stack"][
                    : [gid for gid, _ in made["stack"]].index(level[0]) + 1
                ]
        return made

    def level(self, token: Json) -> Any:
        """Find the branch that a token stands for at a join of groups: the innermost, or the one ``of`` names."""
        join = self.spec(token["step"])["join"]
        if join is None or join["mode"] in ("arcs", "or"):
            return None
        for gid, index in reversed(token["stack"]):
            group = self.group(gid)
            if join["of"] in (None, group["step"]) or group["decided"]:
                return gid, index  # what an inner join left behind cannot feed an outer one
        return None

    # What lives

    def undecided(self) -> list[Json]:
        """Find the groups that a join has not decided about."""
        return [
            group for group in self.groups if not group["decided"] and group["join"] is not None
        ]

    def things(self) -> list[Json]:
        """Find everything that lives: tokens, runs, joins that have not decided."""
        return [*self.tokens, *self.runs, *self.undecided()]

    def within(self, group: Json, index: int | None = None) -> list[Json]:
        """Find what lives in the branches of a group, or in one; what an inner join left behind is detached."""
        return [thing for thing in self.things() if self.is_within(thing, group, index)]

    def is_within(self, thing: Json, group: Json, index: int | None) -> bool:
        for depth, (gid, branch) in enumerate(thing["stack"]):
            if gid == group["id"] and index in (None, branch):
                return not any(
                    self.group(inner)["decided"] for inner, _ in thing["stack"][depth + 1 :]
                )
        return False

    def still_open(self, group: Json) -> int:
        """Count the branches that may still arrive."""
        return sum(
            1
            for index in range(group["size"])
            if index not in group["arrived"] and self.within(group, index)
        )

    def withdraw(self, things: list[Json]) -> None:
        """Take things away."""
        gone = []
        for thing in things:
            if thing["is"] == "group":
                thing["decided"] = thing["gone"] = True
                continue
            gone.append((thing["step"], self.path(thing["stack"])))
            (self.tokens if thing["is"] == "token" else self.runs).remove(thing)
            for group in self.groups:
                for index, arrived in list(group["arrived"].items()):
                    if arrived is thing and not group["decided"]:
                        del group["arrived"][index]
                        group["order"].remove(index)
        for step, path in sorted(gone):
            self.say("gone", step, path)

    # What is seen

    def see(self, hist: Json, stack: Any, **more: Any) -> See:
        """Look from somewhere: its own history first, else the latest of all."""

        def active(step: str) -> bool:
            return any(run["step"] == step for run in self.runs)

        def done(step: str) -> bool:
            return step in hist or (step in self.latest and not active(step))

        def completed(step: str) -> int:
            if step in hist:
                return int(hist[step]["completed"])
            if active(step):
                return int([run for run in self.runs if run["step"] == step][-1]["completed"])
            return int(self.latest[step]["completed"]) if step in self.latest else 0

        index = stack[-1][1] if stack else None
        return See(self.ctx, done, completed, index, **more)

    def united(self, tokens: list[Json]) -> Json:
        """Unite histories: of each step, the activation that ended last."""
        found: Json = {}
        for token in tokens:
            for step, act in token["hist"].items():
                if step not in found or found[step]["id"] < act["id"]:
                    found[step] = act
        return found

    def reach(self, step: str) -> set[str]:
        """Find the steps that a token at a step may come to, that step among them."""
        found, left = {step}, [step]
        while left:
            for arc in self.spec(left.pop())["arcs"]:
                if arc["to"] not in found:
                    found.add(arc["to"])
                    left.append(arc["to"])
        return found

    # Starting

    def gate(self, step: str, see: See) -> str:
        """Say what a gate does with a token: pass, wait, drop or fail."""
        spec = self.spec(step)
        if spec["gate"] is None and not spec["once"]:
            return "pass"
        if spec["once"] and step in self.once:
            return "drop"
        if spec["gate"] is None or spec["gate"].says(see):
            return "pass"
        return {"wait": "wait", "discard": "drop", "fail": "fail"}[spec["on_deny"]]

    def busy(self, spec: Json) -> bool:
        return spec["resource"] and any(self.spec(run["step"])["resource"] for run in self.runs)

    def drop(self, token: Json) -> None:
        self.say("drop", token["step"], self.path(token["stack"]))
        self.tokens.remove(token)

    def start(  # noqa: PLR0913, PLR0917
        self, step: str, tokens: list[Json], stack: Any, hist: Json, merged: Any, indices: list[int], *,
        go: bool = True, again: bool = False, joined: bool = True,
    ) -> Json:  # fmt: skip
        """Fire the start of a step."""
        spec = self.spec(step)
        for token in tokens:
            self.tokens.remove(token)
        path = self.path(stack)
        visit = self.visits[step, path]
        self.visits[step, path] += 1
        self.once.add(step)
        self.say("start", step, path, indices, None if again or merged is None else merged[0])
        if merged is not None and not again and spec["join"]["merge"]["into"]:
            self.ctx = {**self.ctx, spec["join"]["merge"]["into"]: merged[0]}
        run = {
            "id": self.next(), "is": "run", "step": step, "stack": tuple(stack), "hist": hist, "merged": merged, "joined": joined,
            "output": tokens[0]["output"] if tokens else None, "arc": tokens[0]["arc"] if tokens else None,
            "visit": visit, "completed": 0, "due": None,
        }  # fmt: skip
        self.runs.append(run)
        if not go:
            return run
        if spec["kind"] == "router":
            self.end(run, ok=True, result=None)
        elif spec["kind"] == "wait":
            run["due"] = self.now + spec["for_s"]
        elif spec["loop"]:
            self.iterate(run)
        else:
            run["due"] = self.now + self.plan.outcome(step, path, visit)["after"]
        return run

    def iterate(self, run: Json) -> None:
        """Begin the next iteration, or end the loop."""
        items = self.spec(run["step"])["items"]
        if run["completed"] == items:
            results = [self.iteration(run, index)["result"] for index in range(items)]
            self.end(run, ok=True, result=results, completed=items)
        else:
            run["due"] = self.now + self.iteration(run, run["completed"])["after"]

    def iteration(self, run: Json, index: int) -> Json:
        path = (*self.path(run["stack"]), ("iteration", index))
        return self.plan.outcome(run["step"], path, run["visit"])

    # Ending

    def end(  # noqa: PLR0913
        self, run: Json, *, ok: bool, result: Any, completed: int = 0, branch: Any = None, write: str = "",
    ) -> None:  # fmt: skip
        """A run ended: what it wrote, what it came to, and the tokens that routing makes."""
        if any(run is one for one in self.runs):
            self.runs.remove(run)
        step, spec = run["step"], self.spec(run["step"])
        if write:
            self.ctx = {**self.ctx, write: True}
        has_result = result is not None
        if ok and result is None and run["merged"] is not None:
            result, has_result = run["merged"][0], True
        act = {"id": self.next(), "ok": ok, "result": result, "completed": completed}
        hist = {**run["hist"], step: act}
        if not ok:
            self.ctx = {**self.ctx, "_last_error": step}
        output = result if has_result and ok else run["output"]
        if branch is not None:
            output = branch
            if run["stack"]:
                gid, index = run["stack"][-1]
                self.group(gid)["set"][index] = branch
        best_effort = self.plan.best_effort if spec["best_effort"] is None else spec["best_effort"]
        see = self.see(hist, run["stack"], ok=ok, result=result)
        try:
            chosen = self.chosen(spec, see, only_handlers=not ok and not best_effort)
        except TypeError:  # a guard compared what cannot be compared
            ok, chosen = False, []
            act["ok"] = False
            self.ctx = {**self.ctx, "_last_error": step}
        self.latest[step] = act
        self.say("done" if ok else "failed", step, self.path(run["stack"]))
        handled = any(arc["when"] is not None and arc["when"].handles for _, arc in chosen)
        self.produce(run, spec, chosen, hist, output)
        if not ok and not handled:
            if best_effort:
                self.stained = True
            else:
                self.withdraw([*self.tokens, *self.runs])
                self.groups.clear()
                self.status = "failed"

    def chosen(self, spec: Json, see: See, *, only_handlers: bool) -> list[tuple[int, Json]]:
        """Choose arcs: the first that matches, or all; after a failure nobody lets pass, only handlers."""
        found = []
        for number, arc in enumerate(spec["arcs"]):
            when = arc["when"]
            if only_handlers and not (when is not None and when.handles):
                continue
            if when is None or when.says(see):
                found.append((number, arc))
                if not spec["inclusive"]:
                    break
        return found

    def produce(
        self, run: Json, spec: Json, chosen: list[tuple[int, Json]], hist: Json, output: Any
    ) -> None:
        """Make the tokens of the arcs that were chosen, and their group."""
        step, stack = run["step"], run["stack"]
        many = spec["inclusive"] or any("foreach" in arc or "copies" in arc for _, arc in chosen)
        if not chosen:
            return
        if not many:
            number, arc = chosen[0]
            self.token(arc["to"], stack, hist, output, (step, number))
            return
        made = [
            (number, arc)
            for number, arc in chosen
            for _ in range(arc["foreach"] if "foreach" in arc else arc.get("copies", 1))
        ]
        join = self.plan.closes[step]
        if not made and join is None:
            return
        gid = self.next()
        group: Json = {
            "id": gid, "is": "group", "step": step, "stack": stack, "size": len(made), "join": join, "hist": hist,
            "arrived": {}, "order": [], "set": {}, "decided": False, "fired": False, "forced": False, "late": False,
            "closed": False, "gone": False, "paired": False, "arcs": [number for number, _ in made], "born": self.now,
        }  # fmt: skip
        self.groups.append(group)
        for index, (number, arc) in enumerate(made):
            self.token(arc["to"], (*stack, (gid, index)), hist, None, (step, number))
        if not made and join is not None:
            self.token(join, stack, hist, None, (step, 0), empty=gid)

    def never_started(self, step: str, tokens: list[Json], stack: Any, hist: Json) -> None:
        """A step failed for tokens that it never started with."""
        for token in tokens:
            self.tokens.remove(token)
        run = {"step": step, "stack": stack, "hist": hist, "output": None, "merged": None}
        self.end(run, ok=False, result=None)


def where(thing: Json) -> str:
    """Say at which step something lives; a group, at the join that has not decided about it."""
    return str(thing["join"] if thing["is"] == "group" else thing["step"])
