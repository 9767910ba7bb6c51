"""What all code that runs in one interpreter shares, as it was before. Standard library only: a child process uses it too.

Rule 1: what code puts in place of a name that Python gives everybody is put back; what it only adds stays: translations are
added there, by many.
Rule 2: threads begin as they did: a trace or a profile of somebody's own would end those that others need.
Rule 3: after each run, what Petra itself goes on with is looked at; all there is, when a thread's go is over, which may be many
short runs of one chunk. To compare 150 names took longer than such a run.
Rule 4: what nobody could take back is refused.
"""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Callable
from operator import is_not, itemgetter
from typing import Any, Final, NoReturn

_NAMES: Final = vars(builtins)
_BUILTINS: Final = dict(_NAMES)
_FUNCTIONS: Final = tuple(_BUILTINS.values())
_NEEDED: Final = itemgetter(
    "BaseException", "Exception", "KeyError", "StopIteration", "TypeError", "ValueError", "all", "any", "bool", "bytes", "callable",
    "dict", "enumerate", "float", "frozenset", "getattr", "hasattr", "id", "int", "isinstance", "issubclass", "iter", "len", "list",
    "map", "max", "min", "next", "object", "range", "repr", "reversed", "set", "sorted", "str", "sum", "tuple", "type", "zip",
)  # fmt: skip
_AS_NEEDED: Final = _NEEDED(_BUILTINS)
_any, _map = any, map
"""What is called here is not looked up where it may be somebody else's by then."""

Hooks = tuple[Any, Any]


def refuse_what_stays() -> None:
    """Let nobody add a hook of audits here: it hears of all that everybody opens, imports or starts, may forbid it, and stays."""
    sys.addaudithook = _no_hook


def _no_hook(hook: Callable[[str, tuple[Any, ...]], Any]) -> NoReturn:  # noqa: ARG001 - as it is called
    raise RuntimeError(
        "a hook of audits would be there for all that ever runs here; say spec.isolation: process"
    )


def hooks() -> Hooks:
    """Return what threads begin with: who traces, and who profiles."""
    return threading.gettrace(), threading.getprofile()


def put_back(before: Hooks) -> None:
    """Put back what code took away from others."""
    # what is added stands behind what was there
    if _any(_map(is_not, _NAMES.values(), _FUNCTIONS)):
        _NAMES.update(_BUILTINS)
    trace, profile = before
    if threading.gettrace() is not trace:
        threading.settrace(trace)
    if threading.getprofile() is not profile:
        threading.setprofile(profile)


def put_back_what_is_needed() -> None:
    """Put back what code took away, if the rest of this go needs it; what claims to equal everything is found at its end."""
    try:
        if _NEEDED(_NAMES) == _AS_NEEDED:
            return
    except _BUILTINS["KeyError"]:
        pass  # it was deleted
    _NAMES.update(_BUILTINS)
