"""Modules that came along with a playbook: imported from their sources, by the code they came with. Standard library only.

Rule 1: a run has modules of its own; nothing of them is in ``sys.modules`` under the names they are imported by.
Rule 2: a package comes under ``name.__init__``. It is loaded before the modules in it, and has them by name.
Rule 3: what did not come along is imported as ever, from the environment of the worker.
"""

from __future__ import annotations

import builtins
import hashlib
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any, Final

_PACKAGE: Final = ".__init__"
TASK: Final = "__task__"
"""What code is called that has no module."""


class Modules:
    """The modules that came along with one run."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = {name.removesuffix(_PACKAGE): text for name, text in sources.items()}
        self._packages = {
            name.removesuffix(_PACKAGE) for name in sources if name.endswith(_PACKAGE)
        }
        self._made: dict[str, ModuleType] = {}
        self.builtins = (
            {**vars(builtins), "__import__": self._import} if sources else vars(builtins)
        )

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def source(self, name: str) -> str:
        """Return the text of a module."""
        return self._sources[name]

    def load(self, name: str) -> ModuleType:
        """Return a module, run at its first import, after the packages it is in."""
        parent, _, last = name.rpartition(".")
        above = self.load(parent) if parent else None
        module = self._made.get(name)
        if module is None:
            module = self._made[name] = ModuleType(called(name))
            module.__dict__["__builtins__"] = self.builtins
            module.__package__ = parent
            if name in self._packages:
                module.__package__, module.__path__ = name, []
            try:
                exec(compiled(self.file(name), self._sources[name]), module.__dict__)  # noqa: S102 - what an import is
            except BaseException:
                self._made.pop(name, None)
                raise
            if above is not None:
                setattr(above, last, module)
        return module

    def file(self, name: str) -> str:
        """Return the file that a module came from."""
        path = name.replace(".", "/")
        return f"{path}/__init__.py" if name in self._packages else f"{path}.py"

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - as in Python
        locals: Mapping[str, Any] | None = None,  # noqa: A002 - as in Python
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        full = _absolute(name, globals, level)
        first = full.partition(".")[0]
        if first not in self._sources:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        if full not in self._sources:
            raise ModuleNotFoundError(f"No module named {full!r}", name=full)
        module = self.load(full)
        if not fromlist:
            return self.load(first)
        for attribute in fromlist:
            below = f"{full}.{attribute}"
            if below in self._sources and not hasattr(module, attribute):
                self.load(below)
        return module


NONE: Final = Modules({})
"""What code has that came alone."""


def _absolute(name: str, globals: Mapping[str, Any] | None, level: int) -> str:  # noqa: A002 - as in Python
    """Return the full name of what is imported: dots before it start at the package of whoever imports it."""
    if level == 0:
        return name
    parts = str((globals or {}).get("__package__") or "").split(".")
    if not parts[0] or level > len(parts):
        raise ImportError("attempted relative import beyond the packages beside the playbook")
    return ".".join([*parts[: len(parts) - level + 1], *([name] if name else [])])


def called(name: str = "") -> str:
    """Return the name that code goes by. A module of that name is there, since dataclasses and others look for it."""
    full = f"{TASK}.{name}" if name else TASK
    if full not in sys.modules:
        sys.modules[full] = ModuleType(full)
    return full


def file_of(file: str, source: str) -> str:
    """Return the name that a module is compiled under: its file, and which text of it."""
    return f"<{file} {hashlib.sha256(source.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}>"


@lru_cache(maxsize=512)
def compiled(file: str, source: str) -> CodeType:
    """Compile a module, once."""
    return compile(source, file_of(file, source), "exec", dont_inherit=True)
