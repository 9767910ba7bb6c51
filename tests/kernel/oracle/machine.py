"""The oracle: what can be done with what there is, asked anew after every change (S4, S8, S11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernel.oracle.books import Books, where
from kernel.oracle.draw import Json, Plan
from kernel.oracle.merges import DoesNotFitError, merge


class Oracle(Books):
    """One execution."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.settle()

    def settle(self) -> None:
        """Do what can be done, until nothing can."""
        ways = (self.withdraw_shut, self.judge_groups, self.consider, self.fire_or, self.rest)
        while not self.status and any(way() for way in ways):
            pass

    def withdraw_shut(self) -> bool:
        for run in self.runs:
            spec = self.spec(run["step"])
            if spec["withdraw"] and not spec["gate"].says(self.see(run["hist"], run["stack"])):
                self.runs.remove(run)
                self.once.discard(run["step"])
                self.say("back", run["step"], self.path(run["stack"]))
                self.token(
                    run["step"], run["stack"], run["hist"], run["output"], run["arc"],
                    joined=run["joined"], merged=run["merged"],
                )  # fmt: skip
                return True
        return False

    # Joins of groups

    def arrivals(self, group: Json) -> list[Json]:
        """Find the tokens that wait for the join of a group, by index, and the one that stands for nobody."""
        found = [group["arrived"][index] for index in sorted(group["arrived"])]
        return found + [token for token in self.tokens if token["empty"] == group["id"]]

    def judge_groups(self) -> bool:
        return any(self.judge(group) for group in self.undecided() if not group["paired"])

    def judge(self, group: Json) -> bool:
        word = self.verdict(group)
        if word == "fail":
            return self.fail_group(group)
        if word != "fire":
            return False
        spec, tokens = self.spec(group["join"]), self.arrivals(group)
        join = spec["join"]
        if join["blocking"] and any(
            other["join"] == group["join"] and other["fired"] and self.within(other)
            for other in self.groups
        ):
            return False
        hist = self.united(tokens) if tokens else group["hist"]
        gate = self.gate(group["join"], self.see(hist, group["stack"]))
        if gate == "wait":
            return False
        if gate == "fail":
            return self.fail_group(group)
        if gate == "drop":
            self.leave(group, tokens)
            group["decided"] = True
            for token in tokens:
                self.drop(token)
            return True
        try:
            merged = merge(join["merge"], self.brought(group))
        except DoesNotFitError:
            return self.fail_group(group)
        if self.busy(spec):
            return False
        self.fire_group(group, tokens, hist, merged)
        return True

    def fire_group(
        self, group: Json, tokens: list[Json], hist: Json, merged: Any, *, go: bool = True
    ) -> Json:
        self.leave(group, tokens)
        group["decided"] = group["fired"] = True
        return self.start(
            group["join"], tokens, group["stack"], hist, merged, sorted(group["arrived"]), go=go
        )

    def verdict(self, group: Json) -> str:
        join = self.spec(group["join"])["join"]
        if group["forced"]:
            return "fire"
        if group["late"] and join["unreachable"] == "fail":
            return "fail"
        if self.holds(group, join):
            return "fire"
        if group["late"] or self.unreachable(group, join):
            return {"proceed": "fire", "fail": "fail", "wait": "stuck"}[join["unreachable"]]
        return "wait"

    def holds(self, group: Json, join: Json) -> bool:
        if not group["size"]:
            return True
        mode = join["mode"]
        if isinstance(mode, dict) and "when" in mode:
            tokens = self.arrivals(group)
            hist = self.united(tokens) if tokens else group["hist"]
            arrived = len(group["arrived"])
            return bool(mode["when"].says(self.see(hist, group["stack"], arrived=arrived)))
        return len(group["arrived"]) >= self.needed(group, mode)

    def needed(self, group: Json, mode: Any) -> int:
        if mode == "all":
            return int(group["size"])
        return 1 if mode == "any" else int(mode["m_of_n"])

    def unreachable(self, group: Json, join: Json) -> bool:
        mode = join["mode"]
        if isinstance(mode, dict) and "when" in mode:
            if self.still_open(group) or mode["when"].ctx:
                return False
            own = [*self.arrivals(group), group]
            others = [thing for thing in self.things() if not any(thing is one for one in own)]
            wheres = [where(thing) for thing in others]
            return not any(
                step in self.reach(where) for where in wheres for step in mode["when"].steps
            )
        return len(group["arrived"]) + self.still_open(group) < self.needed(group, mode)

    def leave(self, group: Json, tokens: list[Json]) -> None:
        """Deal with the branches that have not arrived."""
        if self.spec(group["join"])["join"]["early"] == "cancel":
            kept = [*tokens, group]
            rest = [one for one in self.within(group) if not any(one is token for token in kept)]
            self.withdraw(rest)

    def fail_group(self, group: Json) -> bool:
        tokens = self.arrivals(group)
        self.leave(group, tokens)
        group["decided"] = True
        hist = self.united(tokens) if tokens else group["hist"]
        self.never_started(group["join"], tokens, group["stack"], hist)
        return True

    def brought(self, group: Json) -> list[tuple[int, Any, int]]:
        """Say what the branches that arrived bring: index, output, order of arrival."""
        return [
            (index, group["arrived"][index]["brings"], came)
            for came, index in enumerate(group["order"])
        ]

    # Tokens

    def consider(self) -> bool:
        return any(self.consider_one(token) for token in list(self.tokens))

    def consider_one(self, token: Json) -> bool:
        """Start a token's step, drop it, or leave it waiting."""
        step, join = token["step"], self.spec(token["step"])["join"]
        if token["empty"] is not None:
            return False
        if join is not None and not token["joined"]:
            if join["mode"] == "arcs":
                return self.pair(step)
            if join["mode"] == "or":
                return False
            level = self.level(token)
            if level is not None:
                return self.at_join(token, self.group(level[0]), level[1])
        gate = self.gate(step, self.see(token["hist"], token["stack"]))
        if gate == "drop":
            self.drop(token)
        elif gate == "fail":
            self.never_started(step, [token], token["stack"], token["hist"])
        elif gate == "wait":
            return False
        else:
            return self.start_alone(token, join)
        return True

    def start_alone(self, token: Json, join: Json | None, *, by_hand: bool = False) -> bool:
        """Start with one token; at a join it passes as a group of one."""
        spec, merged = self.spec(token["step"]), token["merged"]
        if join is not None and not token["joined"]:
            try:
                merged = merge(join["merge"], [(0, token["output"], 0)])
            except DoesNotFitError:
                if not by_hand:
                    self.never_started(token["step"], [token], token["stack"], token["hist"])
                    return True
                merged = None
        if self.busy(spec):
            return False
        again = token["joined"]
        self.start(
            token["step"], [token], token["stack"], token["hist"], merged, [], go=not by_hand, again=again,
            joined=join is not None,
        )  # fmt: skip
        return True

    def at_join(self, token: Json, group: Json, index: int) -> bool:
        """Deal with a token that came to a join for a branch."""
        if not group["decided"] and group["arrived"].get(index) is token:
            return False
        join = self.spec(token["step"])["join"]
        lets = (
            group["fired"]
            and group["join"] == token["step"]
            and join["early"] == "allow_late_merge"
        )
        if lets and index not in group["arrived"]:
            brings = group["set"].get(index, token["output"])
            try:
                late = (index, brings, len(group["order"]))
                merged = merge(join["merge"], [*self.brought(group), late])
            except DoesNotFitError:
                merged = None
            if merged is not None:
                group["arrived"][index] = {**token, "brings": brings}
                group["order"].append(index)
                if join["merge"]["into"]:
                    self.ctx = {**self.ctx, join["merge"]["into"]: merged[0]}
        self.drop(token)
        return True

    # Joins over arcs

    def meeting(self, join: str) -> Iterator[tuple[Any, list[Json]]]:
        """Yield the tokens that may meet at a join over arcs, by the branches around the split."""
        found: dict[Any, list[Json]] = {}
        for token in self.tokens:
            if token["step"] != join or token["joined"]:
                continue
            stack = token["stack"]
            while stack and self.group(stack[-1][0])["step"] == self.plan.splits[join]:
                stack = stack[:-1]
            found.setdefault(stack, []).append(token)
        yield from found.items()

    def incoming(self, join: str) -> list[tuple[str, int]]:
        return [
            (name, number)
            for name, spec in self.plan.steps.items()
            for number, arc in enumerate(spec["arcs"])
            if arc["to"] == join
        ]

    def heads(self, tokens: list[Json]) -> dict[Any, Json]:
        found: dict[Any, Json] = {}
        for token in tokens:
            found.setdefault(token["arc"], token)
        return found

    def pair(self, join: str) -> bool:
        arcs = self.incoming(join)
        for stack, tokens in self.meeting(join):
            heads = self.heads(tokens)
            if len(heads) == len(arcs) and self.meet(join, [heads[arc] for arc in arcs], stack):
                return True
        return False

    def by_arc(self, join: str, tokens: list[Json]) -> list[Json]:
        arcs = self.incoming(join)
        return sorted(tokens, key=lambda token: (arcs.index(token["arc"]), token["id"]))

    def meet(self, join: str, tokens: list[Json], stack: Any) -> bool:
        """Fire a join over arcs, if its gate and its resource allow it."""
        spec, hist = self.spec(join), self.united(tokens)
        gate = self.gate(join, self.see(hist, stack))
        if gate == "wait":
            return False
        if gate == "drop":
            for token in tokens:
                self.drop(token)
            return True
        merged: Any = None
        try:
            merged = merge(spec["join"]["merge"], self.brought_by(join, tokens, stack))
        except DoesNotFitError:
            gate = "fail"
        if gate == "fail":
            self.never_started(join, tokens, stack, hist)
            return True
        if self.busy(spec):
            return False
        self.start(join, tokens, stack, hist, merged, [])
        return True

    def brought_by(self, join: str, tokens: list[Json], stack: Any) -> list[tuple[int, Any, int]]:
        """Say what tokens bring, by branch index where all are of one group, else by arc."""
        levels = [token["stack"][len(stack)] for token in tokens]
        one = len({gid for gid, _ in levels}) == 1
        arcs, found = self.incoming(join), []
        for token, (gid, index) in zip(tokens, levels, strict=True):
            output = self.group(gid)["set"].get(index, token["output"])
            found.append((index if one else arcs.index(token["arc"]), output, token["id"]))
        return found

    def fire_or(self, *, at_rest: bool = False) -> bool:
        for join, spec in self.plan.steps.items():
            if spec["join"] is None or spec["join"]["mode"] != "or":
                continue
            for stack, tokens in self.meeting(join):
                if not self.may_come(join, stack, at_rest=at_rest) and self.meet(
                    join, self.by_arc(join, tokens), stack
                ):
                    return True
        return False

    def may_come(self, join: str, stack: Any, *, at_rest: bool) -> bool:
        """Whether something lives upstream, in the same branches, that could still arrive."""
        for thing in self.things():
            step = where(thing)
            if thing["stack"][: len(stack)] != stack or step == join:
                continue
            if any(self.group(gid)["decided"] for gid, _ in thing["stack"][len(stack) :]):
                continue
            held = at_rest and thing["is"] == "token" and self.mode(step) == "or"
            if join in self.reach(step) and not held:
                return True
        return False

    # Rest

    def rest(self) -> bool:
        """When nothing else can be done: leftovers of joins over arcs, then the end."""
        if self.runs:
            return False
        if self.fire_or(at_rest=True) or self.leftovers():
            return True
        if not self.things():
            self.status = "partial" if self.stained else "completed"
        return False

    def leftovers(self) -> bool:
        for join, spec in self.plan.steps.items():
            if self.mode(join) != "arcs" or spec["join"]["unreachable"] == "wait":
                continue
            for stack, tokens in self.meeting(join):
                if len(self.heads(tokens)) == len(self.incoming(join)):
                    continue
                if spec["join"]["unreachable"] == "fail":
                    self.never_started(join, tokens, stack, self.united(tokens))
                    return True
                if self.meet(join, self.by_arc(join, tokens), stack):
                    return True
        return False
