"""A plan as a playbook."""

from __future__ import annotations

from kernel.oracle.draw import Json, Plan


def playbook(plan: Plan) -> Json:
    """Write a plan as a playbook."""
    steps = [_step(name, spec) for name, spec in plan.steps.items()]
    spec: Json = {"entry_step": plan.entry, "resources": {"db": 1}}
    if plan.best_effort:
        spec["policy"] = {"failure": {"mode": "best_effort"}}
    return {
        "apiVersion": "petra/v1", "kind": "Playbook", "metadata": {"name": f"nested-{plan.shape}"},
        "executor": {"spec": spec}, "workload": {"items": [10, 11, 12]}, "workflow": steps,
    }  # fmt: skip


def _step(name: str, spec: Json) -> Json:
    made: Json = {"step": name, "spec": {"policy": _policy(spec)}}
    if spec["join"] is not None:
        made["spec"]["join"] = _join(spec["join"])
    if spec["loop"]:
        made["loop"] = {"in": list(range(spec["items"])), "iterator": "n"}
    if spec["kind"] == "wait":
        made["tool"] = {"kind": "wait", "for_s": spec["for_s"]}
    elif spec["kind"] != "router":
        made["tool"] = {"kind": spec["kind"], **({"code": "x"} if spec["kind"] == "python" else {})}
    if spec["arcs"] or spec["kind"] == "router":
        made["next"] = {"arcs": [_arc(one) for one in spec["arcs"]]}
        if spec["inclusive"]:
            made["next"]["spec"] = {"mode": "inclusive"}
    return made


def _policy(spec: Json) -> Json:
    policy: Json = {}
    if spec["gate"] is not None or spec["once"]:
        admit: Json = {"on_deny": spec["on_deny"]}
        if spec["gate"] is not None:
            admit["rules"] = [{"when": spec["gate"].text, "then": {"allow": True}}]
        admit |= {"once": True} if spec["once"] else {}
        admit |= {"withdraw": True} if spec["withdraw"] else {}
        policy["admit"] = admit
    if spec["best_effort"] is not None:
        policy["failure"] = {"mode": "best_effort" if spec["best_effort"] else "fail_fast"}
    if spec["resource"]:
        policy["resources"] = [{"name": "db"}]
    return policy


def _arc(arc: Json) -> Json:
    made: Json = {"step": arc["to"]}
    if arc["when"] is not None:
        made["when"] = arc["when"].text
    if "foreach" in arc:
        made["foreach"] = list(range(10, 10 + arc["foreach"]))
    if "copies" in arc:
        made["copies"] = arc["copies"]
    return made


def _join(join: Json) -> Json:
    mode = join["mode"]
    made: Json = {
        "mode": {"when": mode["when"].text} if isinstance(mode, dict) and "when" in mode else mode,
        "on_unreachable": join["unreachable"], "on_early_complete": join["early"], "blocking": join["blocking"],
    }  # fmt: skip
    made |= {"of": join["of"]} if join["of"] else {}
    made |= {"timeout_s": join["timeout_s"]} if join["timeout_s"] else {}
    if join["merge"] is not None:
        made["merge"] = {key: value for key, value in join["merge"].items() if value is not None}
    return made
