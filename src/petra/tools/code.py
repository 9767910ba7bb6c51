"""Running the code of a ``python`` task, wherever it runs. Standard library only: a child process uses it too.

Rule 1: every run has globals of its own; only the compiled code is kept.
Rule 2: a parameter of ``main`` is filled by its name from ``args``, then from the scope; what it gets is a copy.
Rule 3: code without ``main`` finds the same names as globals and sets ``result``.
Rule 4: modules that came along with the playbook are imported from there, before any of the environment.
Rule 5: a failure names the innermost line of the author's own code, as it stands in the author's file.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any, Final

from petra.tools.jsonable import fresh, to_json
from petra.tools.modules import NONE, Modules, called, file_of
from petra.tools.places import Own, one_line
from petra.tools.untouched import put_back_what_is_needed

_MISSING: Final = object()
_PLAIN: Final = frozenset({dict, list, str, int, float, bool, type(None)})
"""What code nearly always comes to, and nobody awaits."""


@dataclass(frozen=True, slots=True)
class CodeFailure:
    """Why the code gave no result: an error kind, and the exception if the code raised one.

    ``at`` is the line of the author's that it comes from: ``orders.yaml:41, main, line 3: rows[0]['price']``.
    """

    kind: str
    message: str
    exception_type: str | None = None
    traceback: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """What the code came to: a result in JSON types, or a failure."""

    result: Any = None
    failure: CodeFailure | None = None


class _Refused(Exception):  # noqa: N818 - a way out, not an error of its own
    """The task asks for what cannot be run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to run: code, or a function to call; with the modules that came along, by name.

    ``written`` says where the code stands: the file, the line it begins on, and whether each further line is one there.
    """

    code: str | None = None
    function: str | None = None
    modules: Mapping[str, str] | None = None
    written: tuple[str, int, bool] | None = None


def run_code(job: Job, args: Mapping[str, Any], scope: Mapping[str, Any]) -> Ran:
    """Run a task's code, or call its function; whatever that raises is in what is returned."""
    try:
        return _ran(job, args, scope)
    finally:
        put_back_what_is_needed()


def _ran(job: Job, args: Mapping[str, Any], scope: Mapping[str, Any]) -> Ran:
    own = Own(job.written)
    modules = Modules(job.modules) if job.modules else NONE
    try:
        if job.function is not None:
            result = _called(job.function, modules, own, args, scope)
        else:
            assert job.code is not None, "a task has code or a function"
            own.source, own.file = job.code, _file_of(job.code)
            result = _result_of(job.code, modules, args, scope)
    except _Refused as error:
        return Ran(failure=CodeFailure("client_error", str(error)))
    except MemoryError as error:
        return Ran(failure=_failure("limit", "the code ran out of memory", error, own))
    except BaseException as error:  # noqa: BLE001 - a cancellation that the code raises is its own
        kind = "client_error" if own.is_syntax(error) else "unknown"
        return Ran(failure=_failure(kind, one_line(error), error, own))
    try:
        return Ran(result=to_json(result))
    except (TypeError, ValueError) as error:
        return Ran(failure=CodeFailure("transform", f"the result cannot be stored: {error}"))
    except BaseException as error:  # noqa: BLE001 - what types of the author's own do when they are looked at
        message = f"the result cannot be stored: {one_line(error)}"
        return Ran(failure=CodeFailure("transform", message))


def _called(
    function: str, modules: Modules, own: Own, args: Mapping[str, Any], scope: Mapping[str, Any]
) -> Any:
    module = function.partition(":")[0]
    if module in modules:
        own.source = modules.source(module)
        file = modules.file(module)
        own.file, own.written = file_of(file, own.source), (file, 1, True)
    callee = _imported(function, modules)
    if module not in modules:
        own.file = getattr(getattr(callee, "__code__", None), "co_filename", "")
    return _call(callee, function, args, scope)


def _result_of(
    code: str, modules: Modules, args: Mapping[str, Any], scope: Mapping[str, Any]
) -> Any:
    program = _compiled(code)
    space: dict[str, Any] = {"__name__": called(), "__builtins__": modules.builtins}
    for name in program.names:
        value = _value(name, args, scope)
        if value is not _MISSING:
            space[name] = value
    # A value that came in under one of these names is no answer of the code.
    space.pop("result", None)
    space.pop("main", None)
    exec(program.code, space)  # noqa: S102 - what a python task is
    main = space.get("main")
    if callable(main):
        return _call(main, "main", args, scope)
    if "result" not in space:
        raise _Refused("the code defines no main(…) and sets no result")
    return _settled(space["result"])


@dataclass(frozen=True, slots=True)
class _Program:
    code: CodeType
    names: frozenset[str]


@lru_cache(maxsize=512)
def _compiled(code: str) -> _Program:
    compiled = compile(code, _file_of(code), "exec", dont_inherit=True)
    return _Program(compiled, frozenset(_names_in(compiled)))


@lru_cache(maxsize=512)
def names_read(code: str) -> frozenset[str] | None:
    """Return every name that code may take from args and scope; None: all there are, for whoever takes ``context``."""
    try:
        program = _compiled(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()  # it will not run
    names, waiting = set(program.names), [program.code]
    while waiting:
        compiled = waiting.pop()
        if compiled.co_flags & inspect.CO_VARKEYWORDS:
            names.add("args")
        names.update(compiled.co_varnames)
        waiting += [constant for constant in compiled.co_consts if isinstance(constant, CodeType)]
    return None if "context" in names else frozenset(names)


@lru_cache(maxsize=512)
def _file_of(code: str) -> str:
    return f"<python {hashlib.sha256(code.encode()).hexdigest()[:12]}>"


def _names_in(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_in(constant)
    return names


def _imported(function: str, modules: Modules) -> Callable[..., Any]:
    module, colon, path = function.partition(":")
    if not (module and colon and path):
        raise _Refused(f"function is '{function}'; it takes 'module:function'")
    try:
        callee: Any = modules.load(module) if module in modules else import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise _Refused(
            f"function '{function}': there is no module '{error.name}', neither beside the playbook nor on the worker"
        ) from error
    for name in path.split("."):
        callee = getattr(callee, name, _MISSING)
    if not callable(callee):
        raise _Refused(f"function '{function}': the module has no such function")
    return callee  # type: ignore[no-any-return]  # callable, as just checked


def _call(
    function: Callable[..., Any], name: str, args: Mapping[str, Any], scope: Mapping[str, Any]
) -> Any:
    before, by_name = _filled(function, name, args, scope)
    return _settled(function(*before, **by_name))


def _settled(result: Any) -> Any:
    """Return what code came to: itself, or what it is awaited to be."""
    if type(result) in _PLAIN or not inspect.isawaitable(result):
        return result
    return asyncio.run(_awaited(result))


async def _awaited(value: Any) -> Any:
    return await value


def _filled(
    function: Callable[..., Any], name: str, args: Mapping[str, Any], scope: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Find a value for every parameter: the positional-only ones, and the others by name."""
    before: list[Any] = []
    by_name: dict[str, Any] = {}
    parameters, takes_rest = _parameters(function)
    for parameter, default, by_position in parameters:
        value = _value(parameter, args, scope)
        if value is _MISSING:
            value = default
        if value is _MISSING:
            raise _Refused(f"{name} needs '{parameter}', which neither args nor scope has")
        if by_position:
            before.append(value)
        else:
            by_name[parameter] = value
    if takes_rest:
        named = {parameter for parameter, _, _ in parameters}
        by_name |= {key: fresh(value) for key, value in args.items() if key not in named}
    return before, by_name


_Parameters = tuple[list[tuple[str, Any, bool]], bool]


def _parameters(function: Callable[..., Any]) -> _Parameters:
    """Return name, default and whether it is positional-only, of each; and whether ``**rest`` is there."""
    if type(function) is FunctionType and not function.__dict__:
        return _parameters_of_def(function)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise _Refused(f"nobody knows the parameters of {function!r:.80}") from error
    every = signature.parameters.values()
    return (
        [
            (p.name, _MISSING if p.default is p.empty else p.default, p.kind is p.POSITIONAL_ONLY)
            for p in every
            if p.kind not in {p.VAR_POSITIONAL, p.VAR_KEYWORD}
        ],
        any(p.kind is p.VAR_KEYWORD for p in every),
    )


def _parameters_of_def(function: FunctionType) -> _Parameters:
    """Read a plain ``def`` from its code: twenty times as fast as a signature."""
    code = function.__code__
    count, only = code.co_argcount, code.co_posonlyargcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    defaults = dict(
        zip(reversed(names[:count]), reversed(function.__defaults__ or ()), strict=False)
    )
    defaults |= function.__kwdefaults__ or {}
    parameters = [(name, defaults.get(name, _MISSING), n < only) for n, name in enumerate(names)]
    return parameters, bool(code.co_flags & inspect.CO_VARKEYWORDS)


def _value(name: str, args: Mapping[str, Any], scope: Mapping[str, Any]) -> Any:
    if name in args:
        return fresh(args[name])
    if name in scope:
        return fresh(scope[name])
    if name == "args":
        return fresh(dict(args))
    if (
        name == "context"
    ):  # keys of ctx are there by their own names, where nothing else has them (S22)
        own = scope.get("ctx")
        return fresh({**(own if isinstance(own, Mapping) else {}), **scope, "args": dict(args)})
    return _MISSING


def _failure(kind: str, message: str, error: BaseException, own: Own) -> CodeFailure:
    return CodeFailure(kind, message, type(error).__name__, own.traceback(error), own.place(error))
