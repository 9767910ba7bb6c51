"""Files beside a playbook: code, SQL and scripts that a task names become part of the playbook when it is read (S22).

What a file says is written into the task under ``code``, ``command`` or ``script``, beside the ``file`` it came from; modules
that Python code imports from beside the playbook go under ``modules``. So the digest of a playbook covers them, and a worker
elsewhere, or a replay years later, has the same text.

Rule 1: this module opens nothing: ``Files`` does, for whoever reads a playbook from a folder.
Rule 2: a text that comes without a folder must have its files in it already.
Rule 3: of modules, only those are taken that lie beside the playbook and are not part of Python. The rest is the worker's.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Protocol

from petra.playbook import walk
from petra.playbook.problems import Mark, Problems
from petra.playbook.tree import Map, as_map, new_map

CONTENT: Mapping[str, str] = MappingProxyType(
    {
        "python": "code", "shell": "script",
        "postgres": "command", "sqlite": "command", "duckdb": "command",
    }
)  # fmt: skip
"""The field that takes what a file says, by kind."""


class UnreadableFileError(Exception):
    """A file cannot be read: what is wrong, and the next move."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Files(Protocol):
    """The files beside a playbook."""

    def text(self, path: str) -> str:
        """Return what a file says.

        Raises:
            UnreadableFileError: it is not there, not text, too large, or not beside the playbook.
        """

    def module(self, name: str) -> str | None:
        """Return the source of a Python module that lies beside the playbook; None if none does.

        Raises:
            UnreadableFileError: it is there, and cannot be read.
        """


def pin(document: Map, files: Files | None, problems: Problems) -> Mark | None:
    """Write what files say into the tasks that name them; return where the first of them is named."""
    first: Mark | None = None
    tasks = [task for step in walk.steps(document) for task in walk.tasks(step)]
    tasks += [
        task for task in (as_map(document.get("workbook")) or {}).values() if isinstance(task, Map)
    ]
    for task in tasks:
        assert isinstance(task, Map), "the reader's own tree"
        at = _file(task, files, problems)
        if files is not None and task.get("kind") == "python" and "modules" not in task:
            at = _modules(task, files, problems) or at
        first = first or at
    return first


def _file(task: Map, files: Files | None, problems: Problems) -> Mark | None:
    field = CONTENT.get(str(task.get("kind")))
    path = task.get("file")
    if field is None or not isinstance(path, str):
        return None
    at = task.value_at("file")
    if files is None:
        if not isinstance(task.get(field), str):
            problems.error(
                "P130", at, f"the file '{path}' is not here: this playbook comes without its folder",
                "start it by its file name, or write the text under '" + field + "'",
            )  # fmt: skip
        return None
    if field in task:
        problems.error(
            "P122", task.key_at(field), f"'{field}' and 'file' both say what to run", "keep one"
        )
        return None
    try:
        task.write(field, files.text(path), at, at)
    except UnreadableFileError as error:
        problems.error("P130", at, error.message, error.hint)
        task.write(field, "", at, at)  # so that nothing else is said about it
        return None
    return at


def _modules(task: Map, files: Files, problems: Problems) -> Mark | None:
    """Collect the modules beside the playbook that code, or a function, imports, and those that they import."""
    key = next((key for key in ("function", "file", "code") if isinstance(task.get(key), str)), "")
    if not key:
        return None
    at = task.value_at(key)
    waiting = list(_imported(task.get("code")))
    if key == "function":
        waiting.append(task["function"].partition(":")[0])
    found: dict[str, str] = {}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name in sys.stdlib_module_names or not name.isidentifier():
            continue
        seen.add(name)
        try:
            source = files.module(name)
        except UnreadableFileError as error:
            problems.error("P130", at, error.message, error.hint)
            continue
        if source is not None:
            found[name] = source
            waiting += _imported(source)
    if not found:
        return None
    task.write("modules", new_map(dict(sorted(found.items())), at), at, at)
    return at


def _imported(code: object) -> Iterator[str]:
    """Yield the names of modules that code imports by one word; what cannot be compiled is told elsewhere."""
    if not isinstance(code, str) or "import" not in code:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
