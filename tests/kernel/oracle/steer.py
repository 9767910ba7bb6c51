"""What operators do to an oracle, and why it rests (S8, S11, S13)."""

from __future__ import annotations

from kernel.oracle.draw import Json
from kernel.oracle.machine import Oracle
from kernel.oracle.merges import DoesNotFitError, merge


def act(oracle: Oracle, one: Json) -> None:
    """Let an operator act; what cannot be done changes nothing."""
    if "patch" in one:
        oracle.ctx = {**oracle.ctx, **one["patch"]}
    elif "cancel" in one:
        oracle.withdraw([*oracle.tokens, *oracle.runs])
        oracle.status = "aborted"
    elif "override" in one:
        run = _run_of(oracle, one["override"])
        if run is not None:
            oracle.end(run, ok=one["ok"], result=7 if one["ok"] else None)
    else:
        groups = [
            group
            for group in oracle.groups
            if not group["decided"] and (group["join"] is not None or oracle.within(group))
        ]
        if groups:
            _change(oracle, groups[one["which"] % len(groups)], one["group"])


def _change(oracle: Oracle, group: Json, change: str) -> None:
    if change == "close":
        group["closed"] = True
    elif change == "cancel":
        oracle.withdraw(oracle.within(group))
    elif change == "complete":
        group["forced"] = True
        kept = oracle.arrivals(group)
        oracle.withdraw(
            [one for one in oracle.within(group) if not any(one is token for token in kept)]
        )
    elif not group["closed"]:
        arcs = oracle.spec(group["step"])["arcs"]
        number = group["arcs"][-1] if group["arcs"] else 0
        stack = (*group["stack"], (group["id"], group["size"]))
        group["size"] += 1
        oracle.token(arcs[number]["to"], stack, group["hist"], None, (group["step"], number))


# An outcome decided by hand


def _run_of(oracle: Oracle, step: str) -> Json | None:
    """Find the run of a step, or start one with what waits there, whatever holds it back."""
    for run in oracle.runs:
        if run["step"] == step:
            return run
    if oracle.busy(oracle.spec(step)):
        return None
    join = oracle.spec(step)["join"]
    for token in oracle.tokens:
        if token["step"] != step:
            continue
        if join is not None and join["mode"] in ("arcs", "or") and not token["joined"]:
            return _meet(oracle, step, token)
        level = oracle.level(token)
        if token["empty"] is not None or (level is not None and not token["joined"]):
            group = oracle.group(token["empty"] or level[0])
            return _group(oracle, group)
        oracle.start_alone(token, join, by_hand=True)
        return oracle.runs[-1]
    for group in oracle.undecided():
        if group["join"] == step and not oracle.still_open(group):
            return _group(oracle, group)
    return None


def _group(oracle: Oracle, group: Json) -> Json:
    tokens = oracle.arrivals(group)
    hist = oracle.united(tokens) if tokens else group["hist"]
    try:
        merged = merge(oracle.spec(group["join"])["join"]["merge"], oracle.brought(group))
    except DoesNotFitError:
        merged = None
    return oracle.fire_group(group, tokens, hist, merged, go=False)


def _meet(oracle: Oracle, step: str, token: Json) -> Json:
    join = oracle.spec(step)["join"]
    stack, tokens = next(one for one in oracle.meeting(step) if any(token is own for own in one[1]))
    tokens = oracle.by_arc(step, tokens)
    if join["mode"] == "arcs":
        tokens = list(oracle.heads(tokens).values())
    try:
        merged = merge(join["merge"], oracle.brought_by(step, tokens, stack))
    except DoesNotFitError:
        merged = None
    return oracle.start(step, tokens, stack, oracle.united(tokens), merged, [], go=False)


# Rest


def reason(oracle: Oracle) -> str:
    """Say what an execution came to, or what it waits for when nothing happens any more."""
    if oracle.status:
        return oracle.status
    if any(run["due"] is not None for run in oracle.runs):
        return "running"
    held = list(_at_gates(oracle))
    if any(oracle.spec(step)["gate"].ctx for step in held) or _conditions(oracle):
        return "waiting gate"
    if any(oracle.verdict(group) == "stuck" for group in oracle.undecided()) or _unpaired(oracle):
        return "stuck join"
    waiting = {token["step"] for token in oracle.tokens} | {
        group["join"] for group in oracle.undecided()
    }
    for step in held:
        read = oracle.spec(step)["gate"].steps
        if not any(
            one in oracle.reach(other) for other in waiting if other != step for one in read
        ):
            return "stuck starved"
    return "stuck deadlock"


def _at_gates(oracle: Oracle) -> list[str]:
    """Find the steps whose gate, and nothing else, holds something back."""
    found = []
    arrived = [id(token) for group in oracle.undecided() for token in oracle.arrivals(group)]
    for token in oracle.tokens:
        spec = oracle.spec(token["step"])
        if spec["gate"] is None or id(token) in arrived:
            continue
        if (
            token["joined"]
            or oracle.mode(token["step"]) != "arcs"
            or _is_paired(oracle, token["step"])
        ):
            found.append(token["step"])
    found += [
        group["join"]
        for group in oracle.undecided()
        if oracle.spec(group["join"])["gate"] is not None and oracle.verdict(group) == "fire"
    ]
    return found


def _is_paired(oracle: Oracle, join: str) -> bool:
    tokens = [token for token in oracle.tokens if token["step"] == join]
    return len(oracle.heads(tokens)) == len(oracle.incoming(join))


def _conditions(oracle: Oracle) -> bool:
    for group in oracle.undecided():
        mode = oracle.mode(group["join"])
        reads = isinstance(mode, dict) and "when" in mode and mode["when"].ctx
        if reads and oracle.verdict(group) == "wait":
            return True
    return False


def _unpaired(oracle: Oracle) -> bool:
    for token in oracle.tokens:
        pairs = oracle.mode(token["step"]) in ("arcs", "or") and not token["joined"]
        gated = oracle.spec(token["step"])["gate"] is not None
        if pairs and not (gated and _is_paired(oracle, token["step"])):
            return True
    return False
