"""The older dialect, rewritten into canonical words, construct by construct (S1).

| older | becomes |
|---|---|
| ``step.when`` | admission, once |
| ``bind`` | a leading noop task with ``set_ctx``; with a loop, a step ahead of it |
| ``next: […]`` | a router: inclusive without any ``when``, else exclusive |
| ``case: […]`` | arcs |
| ``loop.collection/element`` | ``in``/``iterator`` |
| ``tool.result.as/pick/collect/sink`` | ``set_ctx``, a reducer, a further task |
| ``eval``, ``expr`` | policy rules, ``when`` |
| fields under ``tool.spec``, ``endpoint`` | fields of the task, ``url`` |
| in NoETL files: ``cmds``, ``call.done``, ``call.error`` | ``script``, ``step.done``, ``step.failed`` |

Names that ``bind`` and ``result`` defined could be read bare; those reads become ``ctx.<name>``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from petra.expr import wrap_bare
from petra.expr.scopes import RESERVED
from petra.kinds import KINDS, KNOBS
from petra.playbook import walk
from petra.playbook.detours import Binding, bind_ahead
from petra.playbook.dialects import patch_on_success, workbook_tasks
from petra.playbook.grammar import fields_of
from petra.playbook.notes import Notes
from petra.playbook.problems import Mark, did_you_mean
from petra.playbook.sinks import handing_on, sink_task
from petra.playbook.tree import (
    AnyMap,
    AnySeq,
    Tree,
    as_map,
    as_seq,
    child,
    key_mark,
    move,
    move_comments,
    new_map,
    new_seq,
    put,
    rename,
    text_block,
    value_mark,
)
from petra.reduce import Reducer

# Words of single tools that changed their name.
_FIELD_WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "http": {"endpoint": "url", "payload": "json", "verify_ssl": "verify"},
        "postgres": {"query": "command", "commands": "command"},
        "duckdb": {"query": "command", "commands": "command", "db_path": "database"},
        "sqlite": {"query": "command"},
        "playbook": {"payload": "args"},
        "shell": {"command": "script"},
    }
)
_THIS = frozenset({"this", "response", "result"})
"""What a tool's own result was called."""
_RESULT_KEYS = ("as", "pick", "collect", "sink")
_COLLECT_KEYS = ("into", "mode")
_TRUTH = frozenset({"true", "false"})
_WORD = re.compile(r"\w+")
_TASK_KEYS = frozenset({"policy", "timeout_s"}) | KNOBS


class Legacy:
    """Rewrites one document, in place."""

    def __init__(self, document: AnyMap, notes: Notes) -> None:
        self.document = document
        self.notes = notes
        self.foreign = walk.is_foreign(document)
        self.names: set[str] = set()
        self.bindings: list[Binding] = []

    def rewrite(self) -> None:
        """Rewrite every older construct."""
        for step in walk.steps(self.document):
            self._step(step)
        for task in workbook_tasks(self.document):
            self._task(task, None)
        if self.bindings:
            self._bind_ahead()
        if self.names:
            self._qualify_names()

    def _step(self, step: AnyMap) -> None:
        for task in list(walk.tasks(step)):
            self._task(task, step)
        self._args(step)
        self._bind(step)
        for rule in walk.rules(step, "admit"):
            self._expr(rule)
        self._when(step)
        _qualify_elements(step)
        self._loop(as_map(step.get("loop")))
        told = "case" in step
        self._case(step)
        self._next(step, told=told)
        for arc in walk.arcs(step):
            self._expr(arc)
        if self.foreign:
            self._events(step)

    # Steps

    def _args(self, step: AnyMap) -> None:
        """Older files give arguments to a step; they belong to its tasks."""
        given = as_map(step.get("args"))
        if given is None or not (tasks := list(walk.tasks_of(step.get("tool")))):
            return
        mark = key_mark(step, "args")
        self.notes.legacy(mark, "args on a step", "args of its tasks")
        for task in tasks:
            args = child(task, "args", mark)
            for name, value in given.items():
                if name not in args:
                    put(args, name, value, value_mark(given, name))
        del step["args"]

    def _when(self, step: AnyMap) -> None:
        if "when" not in step:
            return
        mark = key_mark(step, "when")
        self.notes.legacy(mark, "when on a step", "spec.policy.admit with once: true")
        guard = step.pop("when")
        admit = child(child(child(step, "spec", mark), "policy", mark), "admit", mark)
        if admit.get("rules"):
            self.notes.refuse(
                mark,
                "'when' of a step and 'admit.rules' both say when it may start",
                "put the condition into the rules",
            )
            return
        allow = new_map({"allow": True}, mark, like=step)
        rule = new_map({"when": _braced(guard), "then": allow}, mark, like=step)
        put(admit, "rules", new_seq([rule], mark, like=step), mark)
        put(admit, "once", value=True, mark=mark)

    def _bind(self, step: AnyMap) -> None:
        if "bind" not in step:
            return
        mark = key_mark(step, "bind")
        bound = self._mapped(step.pop("bind"), "'bind'", mark)
        self.notes.legacy(mark, "bind", "a noop task with set_ctx")
        for name in bound:
            self._define(name, mark)
        tasks: list[Tree] = []
        for number, names in enumerate(_in_order(bound)):
            patch = new_map({name: bound[name] for name in names}, mark, like=step)
            name = f"bind_{number}" if number else "bind"
            task = {"name": name, "kind": "noop", "set_ctx": patch}
            tasks.append(new_map(task, mark, like=step))
        if step.get("loop") is None:
            self._pipeline(step, mark, first=tasks)
        elif tasks:
            self.bindings.append(Binding(step, tasks, mark))

    def _bind_ahead(self) -> None:
        """What is bound before a loop is bound once, in a step of its own: each iteration would do it again."""
        spec = as_map((as_map(self.document.get("executor")) or {}).get("spec")) or {}
        for step, _, mark in self.bindings:
            if step.get("step") == spec.get("final_step"):
                words = "the final step cannot bind names ahead of a loop"
                self.notes.refuse(mark, words, "bind them in a step before the end")
        bind_ahead(self.document, self.bindings)

    def _pipeline(
        self,
        step: AnyMap,
        mark: Mark,
        first: list[Tree] | None = None,
        last: list[Tree] | None = None,
    ) -> None:
        """Make the step's tool a list, with tasks added in front or at the end."""
        tool = step.get("tool")
        single = as_map(tool)
        if single is not None and "name" not in single:
            put(single, "name", f"{walk.short_name(step)}_task", mark)
        if single is not None and hasattr(single, "ca"):
            single.ca.comment = None  # the key 'tool' holds that comment too, and stays
        present = [single] if single is not None else list(as_seq(tool) or ())
        whole = new_seq([*(first or []), *present, *(last or [])], mark, like=step)
        put(step, "tool", whole, mark)

    def _loop(self, loop: AnyMap | None) -> None:
        if loop is None:
            return
        for old, new in (("collection", "in"), ("element", "iterator")):
            if old in loop and new not in loop:
                self.notes.legacy(key_mark(loop, old), f"loop.{old}", f"loop.{new}")
                rename(loop, old, new)
        for word in ("mode", "max_in_flight"):
            if word in loop:
                mark = key_mark(loop, word)
                self.notes.legacy(mark, f"loop.{word}", f"loop.spec.{word}")
                move(loop, word, child(loop, "spec", mark))
        spec = as_map(loop.get("spec"))
        if spec is not None and spec.get("mode") == "async":
            mark = value_mark(spec, "mode")
            self.notes.legacy(mark, "loop mode: async", "mode: parallel")
            put(spec, "mode", "parallel", mark)
        self._loop(as_map(loop.get("loop")))

    def _case(self, step: AnyMap) -> None:
        if "case" not in step:
            return
        mark = key_mark(step, "case")
        self.notes.legacy(mark, "case", "next.arcs")
        arcs: list[Tree] = []
        for item in self._listed(step.pop("case"), "case", mark):
            arcs.extend(self._case_arcs(self._mapped(item, "a branch of 'case'", mark), mark))
        plain = as_seq(step.get("next")) or ()
        arcs.extend(plain)
        put(step, "next", new_seq(arcs, mark, like=step), mark)

    def _case_arcs(self, case: AnyMap, mark: Mark) -> list[Tree]:
        self._only(case, ("when", "then", "else"), "a branch")
        then = case.get("then", case.get("else"))
        body = as_map(then) or {}
        for item in as_seq(then) or ():  # a list of things to do, one of which is to go on
            if (one := as_map(item)) is not None and "step" not in one:
                body = {**body, **one}
        for key in sorted(set(body) - {"next", "step", "args", "set"}):
            self.notes.refuse(
                key_mark(body, key),
                f"'{key}' inside 'case' has no counterpart",
                "put it into a step of its own and route to it",
            )
            del body[key]
        targets = as_seq(body.get("next")) or ([body] if "step" in body else as_seq(then) or [])
        arcs: list[Tree] = []
        for target in targets:
            arc = as_map(target)
            if arc is None:
                arc = new_map({"step": target}, mark, like=self.document)
            if "when" in case and "when" not in arc:
                put(arc, "when", _braced(case["when"]), value_mark(case, "when"))
            arcs.append(arc)
        return arcs

    def _next(self, step: AnyMap, *, told: bool) -> None:
        target = step.get("next")
        listed = as_seq(target)
        if isinstance(target, str):
            mark = value_mark(step, "next")
            listed = new_seq([new_map({"step": target}, mark, like=step)], mark, like=step)
        elif (single := as_map(target)) is not None and "step" in single and "arcs" not in single:
            listed = new_seq([single], value_mark(step, "next"), like=step)
        if listed is None:
            return
        mark = key_mark(step, "next")
        if not told:
            how = (
                "text"
                if isinstance(target, str)
                else "a list"
                if as_seq(target)
                else "a mapping with 'step'"
            )
            self.notes.legacy(mark, f"next as {how}", "next.spec and next.arcs")
        guarded = False
        listed = self._branches(listed, mark, like=step)
        for index, item in enumerate(listed):
            if isinstance(item, str):
                listed[index] = new_map({"step": item}, mark, like=step)
            elif (arc := as_map(item)) is not None:
                self._expr(arc)
                guarded = guarded or "when" in arc
        mode = "exclusive" if guarded else "inclusive"
        router = new_map({"spec": new_map({"mode": mode}, mark, like=step)}, mark, like=step)
        if len(listed) < 2:
            router = new_map({}, mark, like=step)
        put(router, "arcs", listed, value_mark(step, "next"))
        move_comments(step, "next", router, "arcs")
        put(step, "next", router, mark)

    def _branches(self, listed: AnySeq, mark: Mark, *, like: AnyMap) -> AnySeq:
        """An item of a next list may hold several arcs: ``{when, then: […]}``, ``{else: […]}``."""
        if not any("then" in item or "else" in item for item in listed if as_map(item) is not None):
            return listed
        arcs: list[Tree] = []
        for item in listed:
            branch = as_map(item)
            several = branch is not None and ("then" in branch or "else" in branch)
            arcs += self._case_arcs(branch, mark) if branch is not None and several else [item]
        return new_seq(arcs, mark, like=like)

    def _events(self, step: AnyMap) -> None:
        """NoETL's own engine fires other events than its documents name."""
        done = "loop.done" if "loop" in step else "step.done"
        for arc in walk.arcs(step):
            guard = arc.get("when")
            if not isinstance(guard, str) or "event" not in guard:
                continue
            for old, new in (
                ("call.done", done),
                ("step.exit", done),
                ("call.error", "step.failed"),
            ):
                renamed = re.sub(rf"(['\"]){re.escape(old)}\1", rf"\g<1>{new}\1", guard)
                if renamed != guard:
                    self.notes.legacy(value_mark(arc, "when"), f"event {old}", new)
                    arc["when"] = guard = type(guard)(renamed)

    # Tasks

    def _task(self, task: AnyMap, step: AnyMap | None) -> None:
        """Rewrite a task; one of the workbook has no step yet."""
        self._move_up(task)
        kind = task.get("kind")
        if self.foreign and kind == "shell":
            self._commands(task)
        if self.foreign and kind == "transfer":
            self._ends(task)
        for old, new in _FIELD_WORDS.get(kind if isinstance(kind, str) else "", {}).items():
            if old in task and new not in task:
                self.notes.legacy(key_mark(task, old), f"{kind}.{old}", f"{kind}.{new}")
                rename(task, old, new)
                _join_lines(task, new)
        self._eval(task)
        for rule in walk.rules(task):
            self._expr(rule)
            action = walk.action_of(rule)
            if action is not None and action.get("backoff") == "fixed":
                self.notes.legacy(value_mark(action, "backoff"), "backoff: fixed", "backoff: none")
                put(action, "backoff", "none", value_mark(action, "backoff"))
        self._result(task, step)

    def _commands(self, task: AnyMap) -> None:
        if "cmds" in task and "script" not in task:
            self.notes.legacy(key_mark(task, "cmds"), "shell.cmds", "shell.script")
            rename(task, "cmds", "script")
            _join_lines(task, "script")

    def _ends(self, task: AnyMap) -> None:
        for end in (as_map(task.get("source")), as_map(task.get("target"))):
            word = next((word for word in ("type", "tool") if word in (end or {})), None)
            if end is not None and word is not None and "kind" not in end:
                self.notes.legacy(key_mark(end, word), f"{word} in a transfer", "kind")
                rename(end, word, "kind")

    def _move_up(self, task: AnyMap) -> None:
        """Older tools kept their fields under ``spec``."""
        spec = as_map(task.get("spec"))
        kind = task.get("kind")
        if spec is None or not isinstance(kind, str) or kind not in KINDS:
            return
        known = set(fields_of(KINDS[kind])) | set(_FIELD_WORDS.get(kind, {})) | {"args"}
        for key in [key for key in spec if key in known and key not in _TASK_KEYS]:
            mark = key_mark(spec, key)
            self.notes.legacy(mark, f"{key} under tool.spec", f"{key} of the task")
            move(spec, key, task)
        if not spec:
            del task["spec"]

    def _expr(self, holder: AnyMap) -> None:
        if "expr" in holder and "when" not in holder:
            self.notes.legacy(key_mark(holder, "expr"), "expr", "when")
            rename(holder, "expr", "when")
            holder["when"] = _braced(holder["when"])
        guard = holder.get("when")
        if self.foreign and isinstance(guard, str) and guard.strip().lower() not in _TRUTH:
            wrapped = wrap_bare(guard)
            if wrapped is not None:
                self.notes.legacy(value_mark(holder, "when"), "a condition without braces", wrapped)
                holder["when"] = type(guard)(wrapped)

    def _eval(self, task: AnyMap) -> None:
        if "eval" not in task:
            return
        mark = key_mark(task, "eval")
        self.notes.legacy(mark, "eval", "spec.policy.rules")
        items = self._listed(task.pop("eval"), "eval", mark)
        rules = [self._eval_rule(self._mapped(item, "a rule", mark), mark) for item in items]
        policy = child(child(task, "spec", mark), "policy", mark)
        if policy.get("rules"):
            words = "'eval' and 'spec.policy.rules' both say what to do with an outcome"
            self.notes.refuse(mark, words, "put all rules into spec.policy.rules")
            return
        put(policy, "rules", new_seq(rules, mark, like=task), mark)

    def _eval_rule(self, item: AnyMap, mark: Mark) -> Tree:
        if "else" in item or "then" in item:
            known = ("else",) if "else" in item else ("expr", "when", "then")
            self._only(item, known, "eval")
        body = as_map(item.get("else")) if "else" in item else item
        then = as_map((body or {}).get("then")) or {
            key: value for key, value in (body or {}).items() if key not in ("expr", "when", "else")
        }
        action = new_map(dict(then), mark, like=self.document)
        if "else" in item:
            closing = new_map({"then": action}, mark, like=self.document)
            return new_map({"else": closing}, mark, like=self.document)
        guard = _braced(item.get("when", item.get("expr", True)))
        return new_map({"when": guard, "then": action}, mark, like=self.document)

    def _result(self, task: AnyMap, step: AnyMap | None) -> None:
        if "result" not in task:
            return
        mark = key_mark(task, "result")
        self.notes.legacy(mark, "tool.result", "set_ctx, and a further task for a sink")
        result = self._mapped(task.pop("result"), "'result'", mark)
        self._only(result, _RESULT_KEYS, "result")
        picked = _this(_braced(result.get("pick", "{{ outcome.result }}")), ("outcome", "result"))
        entries: dict[str, Tree] = {}
        if isinstance(name := result.get("as"), str):
            self._define(name, mark)
            entries[name] = picked
        collect = self._mapped(result.get("collect"), "'collect'", mark)
        if isinstance(into := collect.get("into"), str):
            self._define(into, mark)
            entries[into] = picked
            self._only(collect, _COLLECT_KEYS, "result.collect")
            keys = child(child(child(self.document, "executor", mark), "spec", mark), "ctx", mark)
            put(child(keys, into, mark), "reduce", self._reducer(collect), mark)
        patch_on_success(task, {"set_ctx": entries} if entries else {}, mark)
        sinks = as_seq(result.get("sink")) or ([result["sink"]] if result.get("sink") else [])
        if sinks and step is not None:
            self._sinks(task, step, sinks, picked, mark)
        elif sinks:
            words = "a task of the workbook cannot have a sink"
            self.notes.lose(mark, words, "store its result with a further task where it is called")

    def _mapped(self, written: Tree, what: str, mark: Mark) -> AnyMap:
        """Give a mapping back; anything else is told, and read as if it were empty."""
        entries = as_map(written)
        if entries is None and written is not None:
            self.notes.refuse(mark, f"{what} must be a mapping", "give each value a name")
        return entries if entries is not None else new_map({}, mark, like=self.document)

    def _listed(self, written: Tree, word: str, mark: Mark) -> AnySeq:
        """Give a list back; anything else is told, and read as if it were empty."""
        items = as_seq(written)
        if items is None and written is not None:
            self.notes.refuse(mark, f"'{word}' must be a list", "put a '- ' in front of each item")
        return items if items is not None else new_seq([], mark, like=self.document)

    def _only(self, entries: AnyMap | dict[str, Tree], known: tuple[str, ...], where: str) -> None:
        """Tell of keys that mean nothing; none is dropped in silence."""
        for key in entries:
            if key not in known:
                hint = did_you_mean(str(key), known) or f"it takes {', '.join(known)}"
                self.notes.lose(
                    key_mark(entries, key), f"'{key}' in '{where}' has no meaning", hint
                )

    def _reducer(self, collect: AnyMap | dict[str, Tree]) -> str:
        """Return the reducer that a collection's mode names."""
        mode = collect.get("mode", "append")
        if mode not in get_args(Reducer):
            self.notes.refuse(
                value_mark(collect, "mode"),
                f"results cannot be collected by '{mode}'",
                f"one of {', '.join(get_args(Reducer))}",
            )
            return "append"
        return str(mode)

    def _sinks(self, task: AnyMap, step: AnyMap, sinks: Tree, picked: Tree, mark: Mark) -> None:
        """Make each sink a task behind the tool; it reads the tool's result, which stays that of the step."""
        source = _name_of(task, step, mark)
        before = list(walk.tasks_of(step.get("tool")))
        result = _name_of(before[-1], step, mark)
        first = sum(str(one.get("name")).startswith("sink_") for one in before)
        stored = walk.renamed(str(picked), lambda path: _of(path, source))
        made = []
        for number, item in enumerate(sinks, first):
            walk.edit_strings(item, lambda text: str(_this(text, (source,))))
            sink = sink_task(item, stored, mark, self.notes, like=step)
            if sink is None:
                continue
            if "name" not in sink:
                put(sink, "name", f"sink_{number}", mark)
            self._task(sink, step)
            made.append(sink)
        if made:
            made.append(handing_on(result, mark, like=step))
            self._pipeline(step, mark, last=made)

    # Names

    def _define(self, name: str, mark: Mark) -> None:
        if name in RESERVED:
            self.notes.refuse(
                mark, f"'{name}' is reserved and cannot be written to", "choose another name"
            )
        else:
            self.names.add(name)

    def _qualify_names(self) -> None:
        names = self.names

        def qualify(path: tuple[str, ...]) -> tuple[str, ...] | None:
            return ("ctx", *path) if path[0] in names else None

        def edit(text: str) -> str:
            reads_one = not names.isdisjoint(_WORD.findall(text))
            return walk.renamed(text, qualify) if reads_one else text

        for step in walk.steps(self.document):
            walk.edit_strings(step, edit)


def _join_lines(task: AnyMap, key: str) -> None:
    """Older commands could be lists of lines."""
    lines = as_seq(task[key])
    if lines and all(isinstance(line, str) for line in lines):
        task[key] = text_block("\n".join(lines), like=task)


def _braced(guard: Tree) -> Tree:
    """Older conditions could be written without braces."""
    if not isinstance(guard, str) or "{{" in guard or "{%" in guard or not guard.strip():
        return guard
    return type(guard)("{{ " + guard.strip() + " }}")


def _this(text: Tree, becomes: tuple[str, ...]) -> Tree:
    """Give a tool's own result its name."""
    if not isinstance(text, str):
        return text
    return type(text)(
        walk.renamed(text, lambda path: (*becomes, *path[1:]) if path[0] in _THIS else None)
    )


def _name_of(task: AnyMap, step: AnyMap, mark: Mark) -> str:
    """Return the name of a task; one that has none gets the one it would be given."""
    if "name" not in task:
        listed = as_seq(step.get("tool"))
        number = next((n for n, other in enumerate(listed or ()) if other is task), None)
        name = f"{walk.short_name(step)}_task" if number is None else f"task_{number}"
        put(task, "name", name, mark)
    return str(task["name"])


def _of(path: tuple[str, ...], task: str) -> tuple[str, ...] | None:
    return (task, *path[2:]) if path[:2] == ("outcome", "result") else None


def _in_order(bound: AnyMap | dict[str, Tree]) -> list[list[str]]:
    """Return the names of a bind in groups: one that reads an earlier name begins a new group."""
    groups: list[list[str]] = []
    for name, value in bound.items():
        words = set(_WORD.findall(value)) if isinstance(value, str) else set[str]()
        if groups and not words.intersection(groups[-1]):
            groups[-1].append(str(name))
        else:
            groups.append([str(name)])
    return groups


def _qualify_elements(step: AnyMap) -> None:
    """Older loops put their element beside everything else; an outer one is the parent's."""
    loop = as_map(step.get("loop"))
    elements: list[str | None] = []
    while loop is not None:
        walk.edit_strings(loop.get("spec"), lambda text: _qualified(text, elements))
        for word in ("in", "collection"):
            if isinstance(text := loop.get(word), str):
                loop[word] = type(text)(_qualified(text, elements))
        named = loop.get("element") if "iterator" not in loop else None
        elements.append(named if isinstance(named, str) else None)
        loop = as_map(loop.get("loop"))
    walk.edit_strings(step.get("tool"), lambda text: _qualified(text, elements))


def _qualified(text: str, elements: list[str | None]) -> str:
    """Read the elements of the loops around a text, the innermost last, from ``iter``."""

    def qualify(path: tuple[str, ...]) -> tuple[str, ...] | None:
        for level, element in enumerate(reversed(elements)):
            if path[0] == element:
                return ("iter", *("parent",) * level, *path)
        return None

    words = set(_WORD.findall(text))
    return walk.renamed(text, qualify) if words.intersection(elements) else text
