"""Nothing that nobody uses: every function, class, method and constant of Petra is named by another line of it, or by its pages.

Rule 1: what stands at the head of a module is used where that module, or one that imports it from there, names it.
Rule 2: a method is used where anything of its name is: one that nobody calls may hide behind a namesake.
Rule 3: a word in a string is a name of the modules that strings beside it name, and of its own.
Rule 4: tests are no users: what serves only them lives beside them, or has a reason here.
Rule 5: what a decorator takes in (a verb, a handler, a claim) is used by whoever the decorator tells.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ALLOWED = {
    "petra.engine.limits.LIMITS": "docs/reference/limits.md is made of it",
    "petra.net.tasks.is_done": "petra.net.tasks is public as a whole",
    "petra.store.queries.NEVER_USED": "says which migration there is not, and why",
    "petra.store.memory.MemoryStore": "the reference of a protocol that others implement: docs/reference/store.md",
    "petra.server.resources.*.router": "the server asks each module of that folder for it",
    "petra.testing.plugin.pytest_collect_file": "pytest calls it",
    "petra.tools.child.main": "a process of its own begins there",
    "petra.wire.frames.FromServer": "the other half of FromWorker",
    "petra.worker.transport.in_process": "for programs that hold both ends: benchmarks, and tests of either",
}
CALLED_FROM_OUTSIDE = {
    "asyncio": "connection_lost connection_made pipe_data_received process_exited",
    "click": "format_commands",
    "datetime": "dst",
    "litestar": "_get_default_plugins",
    "a file": "writelines",
    "pytest": "reportinfo runtest",
    "uvicorn": "capture_signals",
    "yaml": "ignore_aliases",
}
"""Methods that somebody else calls by their name."""
ON_THE_SPOT = frozenset(
    {"asynccontextmanager", "cache", "cached_property", "classmethod", "contextmanager", "dataclass", "final"}
    | {"lru_cache", "overload", "property", "runtime_checkable", "setter", "staticmethod"}
)  # fmt: skip
"""Decorators that hand what they decorate to nobody."""
_DOTTED = re.compile(r"[\w.:]+")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Name = tuple[str, str]
"""A module, and a name in it."""


class Module:
    """What one module defines, imports from others of ours, and names."""

    def __init__(self, name: str, text: str, ours: Collection[str]) -> None:
        self.name = name
        self.heads: set[str] = set()
        """What stands at its head, but for what a decorator hands to somebody."""
        self.members: set[str] = set()
        """Methods of its classes, likewise."""
        self.names: set[str] = set()
        """What it reads, calls or looks up, outside of the definition of that itself."""
        self.uses: set[Name] = set()
        """What it names of modules."""
        self.exports: defaultdict[str, set[Name]] = defaultdict(set)
        """What others may import from it though it comes from elsewhere."""
        self._modules: dict[str, str] = {}
        self._words: set[str] = set()
        self._places = {name}
        tree = ast.parse(text)
        self._ours = ours
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom | ast.Import):
                self._import(node)
        for node in tree.body:
            if not _is_all(node):
                self._read(node, "")
        self.uses |= {(place, word) for place in self._places for word in self._words}
        self._define(tree.body, self.heads)
        self.heads |= {name for node in tree.body for name in _constants(node)}

    def _import(self, node: ast.ImportFrom | ast.Import) -> None:
        for alias in node.names:
            here = alias.asname or alias.name
            if isinstance(node, ast.Import):
                if alias.asname and alias.name in self._ours:
                    self._modules[here] = alias.name
                continue
            if f"{node.module}.{alias.name}" in self._ours:
                self._modules[here] = f"{node.module}.{alias.name}"
            if node.module in self._ours:
                self.exports[here].add((node.module or "", alias.name))

    def _define(self, body: Iterable[ast.stmt], into: set[str]) -> None:
        for node in body:
            if isinstance(node, Definition):
                if not node.name.startswith("__") and not _is_handed_on(node):
                    into.add(node.name)
                if isinstance(node, ast.ClassDef):
                    self._define(node.body, self.members)

    def _read(self, node: ast.AST, owner: str) -> None:
        """Note what is named below a node, but for what a definition says of itself."""
        if isinstance(node, Definition):
            owner = owner or node.name
        elif isinstance(node, ast.Name) and node.id != owner and isinstance(node.ctx, ast.Load):
            self.names.add(node.id)
            self.uses |= self.exports.get(node.id) or {(self.name, node.id)}
        elif isinstance(node, ast.Attribute):
            self.names.add(node.attr)
            if isinstance(node.value, ast.Name) and node.value.id in self._modules:
                self.uses.add((self._modules[node.value.id], node.attr))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self._read_text(node.value)
        for child in ast.iter_child_nodes(node):
            self._read(child, owner)

    def _read_text(self, text: str) -> None:
        """Note what a table names that is looked up while Petra runs: words, and in which modules they are meant."""
        if _DOTTED.fullmatch(text):
            place, _, word = text.rpartition(":")
            self._words.add(word)
            self._places |= {name for name in (place, word) if name in self._ours}
            self.names.add(word.rpartition(".")[2])


def _is_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _constants(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and not target.id.startswith("__"):
                yield target.id


def _is_handed_on(node: Definition) -> bool:
    words = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return any(ast.unparse(word).rpartition(".")[2] not in ON_THE_SPOT for word in words)


def unused(texts: Mapping[str, str], shown: Iterable[str] = ()) -> Iterator[str]:
    """Yield what of some modules nothing names; ``shown`` are names that their pages show."""
    modules = {name: Module(name, text, texts.keys()) for name, text in texts.items()}
    uses = {use for module in modules.values() for use in module.uses}
    left = list(uses)
    while left:  # what a package hands on is used where it comes from
        place, name = left.pop()
        origins = modules[place].exports.get(name, set()) if place in modules else set()
        left += origins - uses
        uses |= origins
    names = {name for module in modules.values() for name in module.names} | set(shown)
    for module in modules.values():
        for head in sorted(module.heads.difference(shown)):
            if (module.name, head) not in uses:
                yield f"{module.name}.{head}"
        for member in sorted(module.members - names):
            yield f"{module.name}: {member}"


@cache
def sources() -> dict[str, str]:
    folder, texts = ROOT / "src", {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        texts[".".join(parts).removesuffix(".__init__")] = path.read_text("utf-8")
    return texts


def shown() -> set[str]:
    """What the pages of the public face describe."""
    pages = "\n".join(
        page.read_text("utf-8") for page in (ROOT / "docs/reference/python").iterdir()
    )
    return {name for words in re.findall(r"^###+ ([\w.]+)$", pages, re.MULTILINE) for name in words.split(".")}  # fmt: skip


@pytest.mark.slow
def test_nothing_is_there_that_nobody_uses() -> None:
    outside = {name for names in CALLED_FROM_OUTSIDE.values() for name in names.split()}
    nobodys = {
        name for name in unused(sources(), shown()) if name.rpartition(": ")[2] not in outside
    }
    assert {
        name for name in nobodys if not any(fnmatch.fnmatchcase(name, one) for one in ALLOWED)
    } == set()
    assert [one for one in ALLOWED if not fnmatch.filter(nobodys, one)] == []


SMALL = {
    "a": "def used(): ...\ndef forgotten(): return forgotten()\ndef handed(): ...\ndef table(): ...\nREAD = LEFT = 1\nprint(READ)",
    "b": "from a import handed, used as it\n__all__ = ['forgotten', 'handed']",
    "c": "import b as names\nfrom b import handed\nTABLE = {'x': 'a:table'}\nTABLE['x']\nhanded()\nnames.it()",
    "d": "class Kept:\n    def asked(self): ...\n    def ignored(self): ...\nKept().asked()\n'LEFT'",
    "e": "@app.get('/')\ndef handler(): ...\n@property\ndef lonely(): ...",
}


def test_what_nobody_uses_is_found() -> None:
    assert list(unused(SMALL)) == ["a.LEFT", "a.forgotten", "d: ignored", "e.lonely"]
    assert list(unused(SMALL, ["LEFT", "forgotten", "ignored"])) == ["e.lonely"]


def test_what_only_an_import_names_is_not_used() -> None:
    assert list(unused({"a": "def f(): ...", "b": "from a import f"})) == ["a.f"]
