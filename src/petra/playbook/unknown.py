"""Keys that the grammar does not know: what each may be, and what to say to its author."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from petra.kinds import KINDS, SERVER_KINDS, Knobs, Source, Target
from petra.playbook import model, other_words
from petra.playbook.credentials import CREDENTIAL_KINDS
from petra.playbook.decode import Decoder, Path, where
from petra.playbook.grammar import Field, extra_of, fields_of
from petra.playbook.problems import Mark, Problems, did_you_mean
from petra.playbook.tree import Map, Seq, as_seq, rename

UNSAID = "unsaid"
"""The kind of a keychain entry that has none: nobody can read it."""
_WHEN = "say 'when'; it is the one word for a condition"
_POLICY = "what to do with an outcome belongs to a task: spec.policy.rules"
_ADVICE: Mapping[type[msgspec.Struct], Mapping[str, str]] = MappingProxyType(
    {
        model.Playbook: {
            "vars": "inputs go under 'workload', state under 'ctx' ('set_ctx' of a task or step)",
            "steps": "the steps go under 'workflow'",
            "name": "it goes under 'metadata'",
            "spec": "settings of the whole playbook go under 'executor: {spec: …}'",
            "tasks": "reusable tasks go under 'workbook'",
            "path": "it goes under 'metadata'", "version": "it goes under 'metadata'", "description": "it goes under 'metadata'",
            "secrets": "credentials go under 'keychain'", "credentials": "credentials go under 'keychain'",
            "test": "cases go into a file of their own, of kind Test", "tests": "cases go into a file of their own, of kind Test",
        },
        model.Arc: {
            "cond": _WHEN, "condition": _WHEN, "if": _WHEN, "then": "an arc has 'step', 'when' and 'args'",
            "spec": "the settings of an arc are flat: priority, foreach, as, copies",
            "set_ctx": "an arc passes 'args'; ctx is written by 'set_ctx' of a task or step",
            "data": "say 'args'",
        },
        model.Step: {
            "vars": "keep state with 'set_ctx'", "name": "say 'step'", "id": "say 'step'",
            "type": "give it a 'tool' with a 'kind'", "kind": "put it inside 'tool'",
            "if": "admission goes under spec.policy.admit", "retry": _POLICY, "policy": "put it under 'spec'", "join": "put it under 'spec'",
            "timeout": "write spec.policy.lifecycle.timeout_s", "timeout_s": "write spec.policy.lifecycle.timeout_s",
            "result": "it belongs to the task, inside 'tool'", "output": "it belongs to the task, inside 'tool'",
            "command": "it belongs to the task, inside 'tool'", "code": "it belongs to the task, inside 'tool'",
            "args": "arguments come with the arc that leads here, or go to a task",
            "depends_on": "say it the other way round: the earlier step's 'next' leads here",
        },
        model.Task: {
            "retry": "retry with a rule of spec.policy.rules", "sink": "store it with a further task", "libs": "import them in the code",
            "mode": "put it under 'target'",
            "cmds": "say 'script', and pass values through 'env'", "timeout_seconds": "say spec.timeout_s",
            "return_step": "the child's executor.spec.output is the result",
            "return_result": "the child's executor.spec.output is the result", "save": "store it with a further task",
        },
        model.StepPolicy: {"rules": _POLICY, "retry": _POLICY, "timeout_s": "put it under 'lifecycle'"},
        model.PolicyRule: {"if": _WHEN, "expr": _WHEN},
        model.AdmitRule: {"if": _WHEN, "expr": _WHEN},
        model.Loop: {"mode": "put it under 'spec'", "max_in_flight": "put it under 'spec'"},
        model.Router: {"mode": "put it under 'spec'", "step": "put it into 'arcs'", "when": "put it into 'arcs'"},
    }
)  # fmt: skip
# Words that mean a key of ours; what stands under them is read as meant, beside the complaint.
_MEANT: Mapping[type[msgspec.Struct], Mapping[str, str]] = MappingProxyType(
    {
        model.Playbook: {"steps": "workflow"},
        model.Step: {"name": "step", "id": "step"},
        model.Arc: {"cond": "when", "condition": "when", "if": "when", "data": "args"},
        model.Loop: {
            **dict.fromkeys(
                ("items", "over", "list", "values", "each", "foreach", "for_each", "with_items"),
                "in",
            ),
            **dict.fromkeys(("as", "item", "var", "variable", "name", "alias"), "iterator"),
        },
        model.MOfN: {"n_of_m": "m_of_n"},
        model.PolicyRule: {"if": "when", "expr": "when"},
        model.AdmitRule: {"if": "when", "expr": "when"},
    }
)
# Keys of a step that are another dialect's, and not misspelt.
_DIALECT_WORDS = frozenset({"when", "bind", "case", "args", "input", "set", "set_ctx", "set_iter"})
_OF_STEPS = frozenset({"next", "loop", "case"})
_LENIENT = frozenset({"tool", "loop", "workbook"})
_WITH_AUTH = frozenset({model.Task, Source, Target})
_STARTS_STEPS = frozenset({"step", "next", "steps", "goto"})


class UnknownKeys:
    """Decides about every key that a struct has no field for."""

    def __init__(self, problems: Problems, *, foreign: bool) -> None:
        self.problems = problems
        self.foreign = foreign

    def enter(self, struct: type[msgspec.Struct], node: Map, path: Path, at: Mark) -> None:
        """Read misspelt keys as meant, so that one slip is one problem; then check a kind before its keys."""
        self.mend(struct, node, path)
        if struct is model.Task:
            self._kind(node, path, at)
        if self.foreign:
            self._soften(struct, node)
        if struct is model.Credential:
            self._credential_kind(node)
        if self.foreign and struct in _WITH_AUTH and isinstance(node.get("auth"), Map):
            hint = "declare the credential in the keychain, and write its name here"
            self.problems.warn(
                "P208", node.value_at("auth"), "'auth' as a mapping is ignored", hint
            )
            del node["auth"]

    def _soften(self, struct: type[msgspec.Struct], node: Map) -> None:
        """Ignore, with a warning, what other engines take and Petra does not know."""
        args = node.get("args")
        if struct in (model.Task, model.Arc) and isinstance(args, Seq | str):
            hint = "arguments have names: write a mapping"
            self.problems.warn(
                "P208", node.value_at("args"), "'args' without names is ignored", hint
            )
            del node["args"]
        if struct is model.Credential and node.get("kind") is None:
            words = f"keychain entry '{node.get('name')}' has no 'kind' and is ignored"
            self.problems.warn("P208", node.mark, words, "say where it comes from: 'kind: env'")
            node.write("kind", UNSAID, node.mark, node.mark)

    def mend_early(self, document: Map) -> None:
        """Mend the keys that the dialects look for, before they do."""
        self.mend(model.Playbook, document, ())
        for index, step in enumerate(as_seq(document.get("workflow")) or ()):
            if isinstance(step, Map):
                self.mend(model.Step, step, ("workflow", index))
                spec = step.get("spec")
                if isinstance(spec, Map):
                    self.mend(model.StepSpec, spec, ("workflow", index, "spec"))
                undo = spec.get("compensate") if isinstance(spec, Map) else None
                if isinstance(undo, Map):
                    self.mend(model.Compensate, undo, ("workflow", index, "spec", "compensate"))

    def mend(self, struct: type[msgspec.Struct], node: Map, path: Path) -> None:
        """Report keys that are almost right and give them the name that was meant."""
        grammar = self._grammar(struct, node)
        if grammar is None or (self.foreign and _is_lenient(path)):
            return
        known = [*grammar, *fields_of(struct)]
        for key in [key for key in node if key not in known and key not in _DIALECT_WORDS]:
            absent = [word for word in known if word not in node]
            meant = _meant(struct, node, key, absent)
            if meant is not None:
                self._report(struct, node, key, path, known)
                rename(node, key, meant)

    def take(
        self, decoder: Decoder, struct: type[msgspec.Struct], node: Map, key: str, path: Path
    ) -> bool:
        """Return whether the extra field of the struct takes the key; else it has been reported."""
        grammar = self._grammar(struct, node)
        if grammar is None:
            return True
        if key in grammar:
            if self.foreign and struct is model.Task and node.get("kind") not in SERVER_KINDS:
                return self._fits(node, key, grammar[key], path)
            if grammar[key] is not None:
                self._decode(decoder, node, key, grammar[key], path)
            return True
        if struct is model.Action and key in _STARTS_STEPS:
            hint = "route to it with an arc of 'next'"
            self.problems.error("P110", node.key_at(key), "a task policy never starts a step", hint)
            return False
        self._report(struct, node, key, path, [*grammar, *fields_of(struct)])
        return False

    def _grammar(
        self, struct: type[msgspec.Struct], node: Map
    ) -> Mapping[str, Field | None] | None:
        """Return the further keys a struct may have; None where every key is free."""
        kind = str(node.get("kind"))
        if struct is model.Task:
            return fields_of(KINDS[kind]) if kind in KINDS else None
        if struct is model.Credential:
            known = CREDENTIAL_KINDS.get(kind)
            return None if known is None or self.foreign else dict.fromkeys(known)
        if struct is model.Metadata:
            return None
        return fields_of(Knobs) if extra_of(struct) == "knobs" else {}

    def _fits(self, node: Map, key: str, field: Field | None, path: Path) -> bool:
        """Whether a field is what its kind takes here; other engines take more, and then it is ignored."""
        trial = Problems()
        self._decode(Decoder(trial, UnknownKeys(trial, foreign=True)), node, key, field, path)
        wrong = next((problem for problem in trial if problem.severity == "error"), None)
        if wrong is None:
            self.problems.extend(trial)
            return True
        words = f"'{key}' in {where(path)} is ignored: {wrong.message}"
        self.problems.warn(
            "P208", node.value_at(key), words, wrong.hint or "Petra does not know this form"
        )
        return False

    def _decode(
        self, decoder: Decoder, node: Map, key: str, field: Field | None, path: Path
    ) -> None:
        """Check a value by the grammar it belongs to."""
        assert field is not None
        if node[key] is not None or field.required:
            decoder.value(node[key], field.shape, (*path, key), node.value_at(key))

    def _report(
        self, struct: type[msgspec.Struct], node: Map, key: str, path: Path, known: list[str]
    ) -> None:
        if struct is model.Task and key in _OF_STEPS:  # routing that is skipped is a flow that ends
            hint = "it belongs to the step: indent it less"
        elif self.foreign and (_is_lenient(path) or (struct is model.Arc and key == "spec")):
            words = f"'{key}' in {where(path)} is ignored"
            hint = _ADVICE.get(struct, {}).get(key, "Petra does not know this key")
            self.problems.warn("P208", node.key_at(key), words, hint)
            return
        else:
            hint = _advice(struct, node, key) or _inside_spec(struct, key)
            hint = hint or did_you_mean(key, known)
        self.problems.error("P101", node.key_at(key), f"unknown key '{key}' in {where(path)}", hint)

    def _credential_kind(self, node: Map) -> None:
        kind = node.get("kind")
        if not isinstance(kind, str) or kind in ("", UNSAID) or kind in CREDENTIAL_KINDS:
            return
        at, words = node.value_at("kind"), f"unknown keychain kind '{kind}'"
        if self.foreign:
            self.problems.warn("P208", at, words, "this secret cannot be read without a plug-in")
        else:
            self.problems.error("P106", at, words, did_you_mean(kind, CREDENTIAL_KINDS))

    def _kind(self, node: Map, path: Path, at: Mark) -> None:
        """Check that the kind is known, and that the fields it needs are there."""
        kind = node.get("kind")
        if not isinstance(kind, str) or not kind:
            return
        report = self.problems.warn if self.foreign else self.problems.error
        if kind not in KINDS:
            hint = (
                "this task cannot run here without a plug-in"
                if self.foreign
                else other_words.kind_of(kind) or did_you_mean(kind, KINDS)
            )
            report("P115", node.value_at("kind"), f"unknown kind '{kind}'", hint)
            return
        for key, field in fields_of(KINDS[kind]).items():
            if field.required and node.get(key) is None:
                report(
                    "P102", at, f"{where(path)} of kind '{kind}' has no '{key}'", f"add '{key}:'"
                )


def _inside_spec(struct: type[msgspec.Struct], key: str) -> str:
    """Say so where a key is one of the struct's ``spec``, written a level too high."""
    spec = fields_of(struct).get("spec")
    inner = spec.shape.struct if spec is not None else None
    return "put it under 'spec'" if inner is not None and key in fields_of(inner) else ""


def _advice(struct: type[msgspec.Struct], node: Map, key: str) -> str:
    """Return what we say to a word that is not ours, where we know it."""
    advice = _ADVICE.get(struct, {}).get(key)
    return advice or other_words.key_of(struct, key, str(node.get("kind")))


def _meant(struct: type[msgspec.Struct], node: Map, key: str, absent: list[str]) -> str | None:
    if (word := _MEANT.get(struct, {}).get(key)) is not None:
        return word if word in absent else None
    if _advice(struct, node, key) or _inside_spec(struct, key):
        return None
    swapped = [word for word in absent if sorted(word) == sorted(key)]
    from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

    near = swapped or get_close_matches(key.lower(), absent, n=1, cutoff=0.75)
    return near[0] if near else None


def _is_lenient(path: Path) -> bool:
    return (
        not _LENIENT.isdisjoint(path) or path[:1] == ("executor",) or path[-2:] == ("next", "spec")
    )
