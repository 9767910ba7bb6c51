"""Modules that came along with a playbook: imported from their sources, by the code they came with. Standard library only.

Rule 1: a run has modules of its own; nothing of them is in ``sys.modules`` under the names they are imported by.
Rule 2: what did not come along is imported as ever, from the environment of the worker.
"""

from __future__ import annotations

import builtins
import hashlib
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any, Final

TASK: Final = "__task__"
"""What code is called that has no module."""


class Modules:
    """The modules that came along with one run."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
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
        """Return a module, run at its first import."""
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = ModuleType(called(name))
            made.__dict__["__builtins__"] = self.builtins
            try:
                exec(compiled(name, self._sources[name]), made.__dict__)  # noqa: S102 - what an import is
            except BaseException:
                self._made.pop(name, None)
                raise
        return made

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - as in Python
        locals: Mapping[str, Any] | None = None,  # noqa: A002 - as in Python
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if level == 0 and name in self._sources:
            return self.load(name)
        return builtins.__import__(name, globals, locals, fromlist or (), level)


def called(name: str = "") -> str:
    """Return the name that code goes by. A module of that name is there, since dataclasses and others look for it."""
    full = f"{TASK}.{name}" if name else TASK
    if full not in sys.modules:
        sys.modules[full] = ModuleType(full)
    return full


def file_of(name: str, source: str) -> str:
    """Return the name that a module is compiled under: its file, and which text of it."""
    return f"<{name}.py {hashlib.sha256(source.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}>"


@lru_cache(maxsize=512)
def compiled(name: str, source: str) -> CodeType:
    """Compile a module, once."""
    return compile(source, file_of(name, source), "exec", dont_inherit=True)
