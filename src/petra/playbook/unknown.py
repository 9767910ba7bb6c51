"""Keys that the grammar does not know: what each may be, and what to say to its author."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from petra.kinds import KINDS, KNOBS, Knobs
from petra.playbook import model
from petra.playbook.decode import Decoder, Path, where
from petra.playbook.grammar import extra_of, fields_of
from petra.playbook.problems import Mark, Problems, did_you_mean
from petra.playbook.tree import Map

_WHEN = "say 'when'; it is the one word for a condition"
_POLICY = "what to do with an outcome belongs to a task: spec.policy.rules"
_ADVICE: Mapping[type[msgspec.Struct], Mapping[str, str]] = MappingProxyType(
    {
        model.Playbook: {
            "vars": "inputs go under 'workload', state under 'ctx' (a task policy's set_ctx)",
            "steps": "the steps go under 'workflow'",
            "name": "it goes under 'metadata'",
            "spec": "settings of the whole playbook go under 'executor: {spec: …}'",
            "tasks": "reusable tasks go under 'workbook'",
        },
        model.Arc: {
            "cond": _WHEN, "condition": _WHEN, "if": _WHEN, "then": "an arc has 'step', 'when' and 'args'",
            "spec": "the settings of an arc are flat: priority, foreach, as, copies",
            "set_ctx": "an arc passes 'args'; ctx is written by a task policy",
            "data": "say 'args'",
        },
        model.Step: {
            "vars": "keep state with a task policy's set_ctx", "name": "say 'step'", "id": "say 'step'",
            "type": "give it a 'tool' with a 'kind'", "kind": "put it inside 'tool'",
            "if": "admission goes under spec.policy.admit", "retry": _POLICY, "set_ctx": _POLICY,
            "set_iter": _POLICY, "policy": "put it under 'spec'", "join": "put it under 'spec'",
            "timeout": "write spec.policy.lifecycle.timeout_s", "timeout_s": "write spec.policy.lifecycle.timeout_s",
            "result": "it belongs to the task, inside 'tool'", "output": "it belongs to the task, inside 'tool'",
            "command": "it belongs to the task, inside 'tool'", "code": "it belongs to the task, inside 'tool'",
            "args": "arguments come with the arc that leads here, or go to a task",
            "depends_on": "say it the other way round: the earlier step's 'next' leads here",
        },
        model.StepPolicy: {"rules": _POLICY, "retry": _POLICY, "timeout_s": "put it under 'lifecycle'"},
        model.PolicyRule: {"do": "put it under 'then'", "if": _WHEN, "expr": _WHEN},
        model.AdmitRule: {"allow": "put it under 'then'", "if": _WHEN},
        model.Loop: {"mode": "put it under 'spec'", "max_in_flight": "put it under 'spec'"},
        model.Router: {"mode": "put it under 'spec'", "step": "put it into 'arcs'", "when": "put it into 'arcs'"},
    }
)  # fmt: skip
_STARTS_STEPS = frozenset({"step", "next", "steps", "goto"})


class UnknownKeys:
    """Decides about every key that a struct has no field for."""

    def __init__(self, problems: Problems, *, foreign: bool) -> None:
        self.problems = problems
        self.foreign = foreign
        self.decoder: Decoder | None = None

    def __call__(self, struct: type[msgspec.Struct], node: Map, key: str, path: Path) -> bool:
        """Return whether the key has been dealt with; otherwise the struct's extra field takes it."""
        if struct is model.Metadata:
            return False
        if struct is model.Task:
            return self._of_task(node, key, path)
        if struct is model.Credential:
            return self._of_credential(node, key, path)
        if extra_of(struct) == "knobs" and key in KNOBS:
            self._decode(node, key, Knobs, path)
            return False
        if struct is model.Action and key in _STARTS_STEPS:
            self.problems.error(
                "P110",
                node.key_at(key),
                "a task policy never starts a step",
                "route to it with an arc of 'next'",
            )
            return True
        known = [*fields_of(struct), *(KNOBS if extra_of(struct) == "knobs" else ())]
        self._report(struct, node, key, path, known)
        return True

    def _of_task(self, node: Map, key: str, path: Path) -> bool:
        kind = node.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            return False
        if key in fields_of(KINDS[kind]):
            self._decode(node, key, KINDS[kind], path)
            return False
        self._report(model.Task, node, key, path, [*fields_of(KINDS[kind]), *fields_of(model.Task)])
        return True

    def _of_credential(self, node: Map, key: str, path: Path) -> bool:
        known = model.CREDENTIAL_KINDS.get(str(node.get("kind")))
        if known is None or key in known or self.foreign:
            return False
        self._report(model.Credential, node, key, path, known)
        return True

    def _decode(self, node: Map, key: str, struct: type[msgspec.Struct], path: Path) -> None:
        """Check a value by the grammar it belongs to."""
        assert self.decoder is not None
        found = fields_of(struct)[key]
        if node[key] is not None or found.required:
            self.decoder.value(node[key], found.shape, (*path, key), node.value_at(key))

    def _report(
        self,
        struct: type[msgspec.Struct],
        node: Map,
        key: str,
        path: Path,
        known: list[str] | tuple[str, ...],
    ) -> None:
        if self.foreign and _is_lenient(path):
            self.problems.warn(
                "P208",
                node.key_at(key),
                f"'{key}' in {where(path)} is ignored",
                "Petra does not know this key",
            )
            return
        hint = _ADVICE.get(struct, {}).get(key) or did_you_mean(key, known)
        self.problems.error("P101", node.key_at(key), f"unknown key '{key}' in {where(path)}", hint)


def check_kind(problems: Problems, node: Map, path: Path, at: Mark, *, foreign: bool) -> None:
    """Check a task's kind, and that the fields its kind needs are there."""
    kind = node.get("kind")
    if not isinstance(kind, str) or not kind:
        return
    if kind not in KINDS:
        if foreign:
            problems.warn(
                "P115",
                node.value_at("kind"),
                f"unknown kind '{kind}'",
                "this task cannot run here without a plug-in",
            )
        else:
            problems.error(
                "P115", node.value_at("kind"), f"unknown kind '{kind}'", did_you_mean(kind, KINDS)
            )
        return
    for key, found in fields_of(KINDS[kind]).items():
        if found.required and node.get(key) is None:
            report = problems.warn if foreign else problems.error
            report("P102", at, f"{where(path)} of kind '{kind}' has no '{key}'", f"add '{key}:'")


def _is_lenient(path: Path) -> bool:
    return bool({"tool", "loop", "workbook"} & set(path)) or path[:1] == ("executor",)
