"""Sinks of older playbooks, in the shapes they were written in, as tasks that store a result (S1).

| written | becomes |
|---|---|
| ``{tool: postgres, command: …}``, ``{postgres: {command: …}}``, ``{tool: {kind: postgres, …}}`` | a task of that kind; its ``args.data`` is the result |
| ``{postgres: {table: users, mode: upsert, key: id}}`` | a ``transfer`` of the result, or of ``data``, into the table |
"""

from __future__ import annotations

from petra.playbook.model import Task
from petra.playbook.notes import Notes
from petra.playbook.problems import Mark, did_you_mean
from petra.playbook.tree import (
    AnyMap,
    Tree,
    as_map,
    as_seq,
    child,
    key_mark,
    new_map,
    new_seq,
    put,
    rename,
    value_mark,
)

_HANDED_ON = "def main(value): return value"
_TABLES = frozenset({"postgres", "sqlite", "duckdb"})
_MODES = {"insert": "append", "overwrite": "replace"}
_DATA = ("data", "args", "rows")
_TARGET = ("table", "mode", "key", "auth", "url", "database")
_OTHER_WORDS = {"credential": "auth", "db_path": "database", "keys": "key", "key_columns": "key"}


def sink_task(item: Tree, stored: Tree, mark: Mark, notes: Notes, *, like: AnyMap) -> AnyMap | None:
    """Return the task that a sink is, which gets what is to be stored; None where it names no tool."""
    sink = _with_kind(as_map(item), mark, like=like)
    if sink is None:
        notes.refuse(mark, "a sink must name the tool that stores", "write a task of that kind")
        return None
    if sink["kind"] in _TABLES and "table" in sink and "command" not in sink:
        return _into_table(sink, stored, mark, notes, like=like)
    args = child(sink, "args", mark)
    if "data" not in args:
        put(args, "data", stored, mark)
    return sink


def handing_on(task: str, mark: Mark, *, like: AnyMap) -> AnyMap:
    """Return a task whose result is that of another one."""
    args = new_map({"value": "{{ " + task + " }}"}, mark, like=like)
    made = {"name": f"{task}_result", "kind": "python", "args": args, "code": _HANDED_ON}
    return new_map(made, mark, like=like)


def hands_on(task: Task) -> bool:
    """Say whether a task is one that ``handing_on`` made, which its author never wrote."""
    return task.kind == "python" and task.fields == {"code": _HANDED_ON}


def _with_kind(sink: AnyMap | None, mark: Mark, *, like: AnyMap) -> AnyMap | None:
    if sink is not None and len(sink) == 1 and (whole := as_map(sink.get("tool"))) is not None:
        sink = whole
    if sink is not None and "kind" not in sink and "tool" in sink:
        rename(sink, "tool", "kind")
    if sink is not None and "kind" not in sink and len(sink) == 1:
        (kind,) = sink
        with_kind = new_map({"kind": kind}, mark, like=like)
        body = as_map(sink[kind]) or {}
        for key, value in body.items():
            put(with_kind, key, value, key_mark(body, key))
        sink = with_kind
    return sink if sink is not None and isinstance(sink.get("kind"), str) else None


def _into_table(sink: AnyMap, stored: Tree, mark: Mark, notes: Notes, *, like: AnyMap) -> AnyMap:
    """Make a transfer of rows: those that the sink gives, or what was picked."""
    for old, new in _OTHER_WORDS.items():
        if old in sink and new not in sink:
            rename(sink, old, new)
    keys = [word for word in _DATA if word in sink]
    rows = sink[keys[0]] if keys else stored
    target = new_map({"kind": sink["kind"]}, mark, like=like)
    for key in [key for key in sink if key not in ("kind", "name", *keys[:1])]:
        if key in _TARGET:
            put(target, key, _setting(key, sink[key], mark, like=like), value_mark(sink, key))
        else:
            hint = did_you_mean(key, (*_TARGET, *_DATA)) or f"it takes {', '.join(_TARGET)}"
            notes.lose(key_mark(sink, key), f"'{key}' in a sink has no meaning", hint)
    source = new_map({"kind": "rows", "rows": rows}, mark, like=like)
    transfer = new_map({"kind": "transfer", "source": source, "target": target}, mark, like=like)
    if "name" in sink:
        put(transfer, "name", sink["name"], value_mark(sink, "name"))
    return transfer


def _setting(key: str, value: Tree, mark: Mark, *, like: AnyMap) -> Tree:
    if key == "mode" and isinstance(value, str):
        return _MODES.get(value, value)
    if key == "key" and isinstance(value, str) and as_seq(value) is None:
        return new_seq([value], mark, like=like)
    return value
