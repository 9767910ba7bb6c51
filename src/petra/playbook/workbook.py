"""The workbook: reusable tasks, written as a list with names, as a map, or under ``tasks``, become one map (S5)."""

from __future__ import annotations

from petra.playbook import walk
from petra.playbook.problems import Problems
from petra.playbook.tree import Map, Seq, Tree, as_map, move


def workbook(document: Map, problems: Problems) -> dict[str, Map]:
    """Make the workbook a map of name to task, and return the tasks."""
    written = document.get("workbook")
    book = Map(getattr(written, "mark", document.mark))
    inner = as_map(written)
    if (
        isinstance(inner, Map)
        and set(inner) == {"tasks"}
        and "kind" not in (as_map(inner["tasks"]) or {})
    ):
        written = inner["tasks"]
    if isinstance(written, Map):
        for key, task in written.items():
            named = _named(document, task, key, problems)
            book.write(key, named, written.key_at(key), written.value_at(key))
    elif isinstance(written, Seq):
        for index, item in enumerate(written):
            at = written.item_at(index)
            name = item.get("name") if isinstance(item, Map) else None
            if not isinstance(name, str):
                problems.error(
                    "P102", at, "a workbook task has no 'name'", "add 'name:' to this task"
                )
            elif name in book:
                problems.error(
                    "P105",
                    at,
                    f"workbook task '{name}' is already written on line {book.key_at(name).line}",
                    "rename one of the two",
                )
            else:
                book.write(name, _named(document, item, name, problems), at, at)
    elif written is not None:
        return {}
    if "workbook" in document:
        key_at, value_at = document.key_at("workbook"), document.value_at("workbook")
        document.write("workbook", book, key_at, value_at)
    return {name: task for name, task in book.items() if isinstance(task, Map)}


def _named(document: Map, task: Tree, name: str, problems: Problems) -> Tree:
    """A workbook entry may hold its task under ``tool``."""
    if not isinstance(task, Map):
        return task
    wrapped = task.get("tool")
    if "kind" not in task and isinstance(wrapped, Map):
        if "desc" in task and "desc" not in wrapped:
            move(task, "desc", wrapped)
        foreign = walk.is_foreign(document)
        for key in task.keys() - {"name", "tool"}:
            words = f"'{key}' of workbook task '{name}' stands outside of its 'tool'"
            report, code = (problems.warn, "P208") if foreign else (problems.error, "P101")
            report(code, task.key_at(key), words, "put it beside 'kind', or remove it")
        task = wrapped
    if "name" not in task:
        task.write("name", name, task.mark, task.mark)
    return task
