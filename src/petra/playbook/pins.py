"""Files beside a playbook: code, SQL and scripts that a task names become part of the playbook when it is read (S22).

What a file says is written into the task under ``code``, ``command`` or ``script``, beside the ``file`` it came from; modules
that Python code imports from beside the playbook go under ``modules``. So the digest of a playbook covers them, and a worker
elsewhere, or a replay years later, has the same text.

Rule 1: this module opens nothing: ``Files`` does, for whoever reads a playbook from a folder.
Rule 2: a text that comes without a folder must have its files in it already.
Rule 3: of modules and packages, only those are taken that lie beside the playbook, that are imported, and that are not part of
Python. The rest is the worker's.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

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


PACKAGE = "__init__"
"""The part of its name by which the source of a package is kept."""


class UnreadableFileError(Exception):
    """A file cannot be read: what is wrong, and the next move."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Module(NamedTuple):
    """A Python module: its source, that of ``__init__`` if it is a folder of modules."""

    source: str
    is_package: bool


class Files(Protocol):
    """The files beside a playbook."""

    def text(self, path: str) -> str:
        """Return what a file says.

        Raises:
            UnreadableFileError: it is not there, not text, too large, or not beside the playbook.
        """

    def module(self, name: str) -> Module | None:
        """Return a Python module that lies beside the playbook, by its dotted name; None if none does.

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
    waiting = list(_imported(task.get("code"), ""))
    if key == "function":
        waiting += _with_parents(task["function"].partition(":")[0])
    pinned: dict[str, str] = {}
    seen: set[str] = set()
    packages: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or not _may_be_beside(name, seen, packages):
            continue
        seen.add(name)
        try:
            module = files.module(name)
        except UnreadableFileError as error:
            problems.error("P130", at, error.message, error.hint)
            continue
        if module is not None:
            pinned[f"{name}.{PACKAGE}" if module.is_package else name] = module.source
            packages |= {name} if module.is_package else set()
            package = name if module.is_package else name.rpartition(".")[0]
            waiting += _imported(module.source, package)
    if not pinned:
        return None
    task.write("modules", new_map(dict(sorted(pinned.items())), at), at, at)
    return at


def _may_be_beside(name: str, seen: set[str], packages: set[str]) -> bool:
    """Tell whether a module can lie beside the playbook: its packages do, and none of them is part of Python."""
    first, _, rest = name.partition(".")
    if first in sys.stdlib_module_names or not all(map(str.isidentifier, name.split("."))):
        return False
    parent = name.rpartition(".")[0]
    return not rest or parent not in seen or parent in packages


def _with_parents(name: str) -> list[str]:
    """Return a dotted name and the packages that lead to it, innermost first: whoever takes from the end has them in order."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _imported(code: object, package: str) -> Iterator[str]:
    """Yield the names of all that code in a package may import; what cannot be compiled is told elsewhere."""
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
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom) and (module := _meant(node, package)):
            for alias in node.names:  # each may be a module of a package
                yield from _with_parents(f"{module}.{alias.name}")


def _meant(node: ast.ImportFrom, package: str) -> str:
    """Return the module from which something is imported; nothing where dots lead out of everything."""
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    base = parts[: len(parts) - node.level + 1]
    if not base or node.level > len(parts):
        return ""
    return ".".join([*base, *([node.module] if node.module else [])])
