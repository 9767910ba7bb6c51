"""``kind: python``: the author's code, in a thread, or in a process that can be killed.

A thread costs microseconds and cannot be stopped: after a timeout or a cancel the attempt is over, while its
code runs on unseen. ``spec.isolation: process`` starts a child with a memory limit and without the worker's
environment; whatever it does, it ends with the attempt. ``spec.python`` names packages: then the child is the
interpreter of an environment that has them, and nothing of the worker's (``petra.tools.environments``).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar, cast

import msgspec

from petra.kinds import Fields, Python
from petra.tools.base import (
    MESSAGE_MAX,
    ToolContext,
    ToolError,
    ToolSettings,
    cut,
    number,
    ok,
)
from petra.tools.capture import Capture, Pipes
from petra.tools.code import CodeFailure, Job, Ran, names_read, run_code
from petra.tools.environments import BUILD_S, Environments
from petra.tools.modules import Modules
from petra.tools.places import middle_out
from petra.tools.processes import ProcessEnd, run_process, surroundings
from petra.tools.threads import Threads
from petra.wire import ErrorKind, Outcome

T = TypeVar("T")

RESULT_MAX: Final = 64 * 1024 * 1024
"""Bytes of JSON that a child may answer with."""
TRACEBACK_MAX: Final = 8_000
"""Characters of a traceback that the log of a run and ``outcome.py`` have."""
DETAILS_MAX: Final = 3_000
"""Characters of a traceback that the error itself keeps, and with it the log of the execution."""
_START: Final = (
    "import sys; sys.path[:] = {path!r}; from petra.tools.child import main; main({parent})"
)
# Of Petra only what the child needs: the packages of the worker stay out of sight.
_START_APART: Final = """
import sys, types
for name, path in (("petra", {home!r}), ("petra.tools", {home!r} + "/tools")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
from petra.tools.child import main
main({parent})
"""


class PythonTool:
    """Runs Python code; the result is what ``main`` returns, or the value of ``result``."""

    kind: ClassVar[str] = "python"
    spec: ClassVar[type[Fields]] = Python

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._settings = settings or ToolSettings()
        self._threads = Threads(self._settings.threads)
        self._environments = Environments()

    def run(self, fields: Python, context: ToolContext) -> Coroutine[Any, Any, Outcome]:
        """Run the code once."""
        _check(fields)
        where = context.spec.get("isolation") or "thread"
        if context.spec.get("python") is not None:
            return self._apart(fields, context)
        if where == "process":
            return self._in_process(fields, context)
        if where != "thread":
            raise ToolError("client_error", f"isolation is '{where}'; it takes thread or process")
        return self._in_thread(fields, context)

    def stuck(self) -> int:
        """Return how many threads run on for tasks that were given up."""
        return self._threads.stuck

    async def close(self) -> None:
        """Let the threads end, and builds of environments."""
        self._threads.close()
        await self._environments.close()

    def reads(self, fields: Mapping[str, Any]) -> frozenset[str] | None:
        """Return the names that the code may take from args and scope; of a function of the worker nobody knows."""
        code = fields.get("code")
        if isinstance(code, str):
            return names_read(code)
        sources = fields.get("modules") or {}
        if str(fields.get("function")).partition(":")[0] not in Modules(sources):
            return None
        names: set[str] = set()
        for source in sources.values():  # a package may have its functions from any of its modules
            read = names_read(source)
            if read is None:
                return None
            names |= read
        return frozenset(names)

    def blocks(self, spec: Mapping[str, Any]) -> bool:
        """Tell whether a task runs in a thread, for as long as it likes."""
        thread = spec.get("isolation") in (None, "thread") and spec.get("python") is None
        return thread and spec.get("timeout_s") is None

    def call(self, fields: Python, context: ToolContext) -> Outcome:
        """Run the code once, in the calling thread."""
        _check(fields)
        capture = Capture(self._settings.log_max, context)
        try:
            ran = capture.around(lambda: _run(fields, context))
        finally:
            capture.close()
        return _outcome(ran, context)

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Call a function in one of the threads that run code."""
        return await self._threads.call(function)

    async def _in_thread(self, fields: Python, context: ToolContext) -> Outcome:
        capture = Capture(self._settings.log_max, context)
        try:
            ran = await self._threads.call(lambda: capture.around(lambda: _run(fields, context)))
        finally:
            capture.close()
        return _outcome(ran, context)

    async def _apart(self, fields: Python, context: ToolContext) -> Outcome:
        """Run the code with packages of its own; which they were is part of the outcome."""
        if context.spec.get("isolation") == "thread":
            message = "python.requirements need a process of their own, and isolation is 'thread'"
            raise ToolError("client_error", message)
        asked = context.spec["python"]
        if not isinstance(asked, Mapping):
            raise ToolError("client_error", "spec.python takes requirements")
        limit_s = number(asked.get("timeout_s"), "python.timeout_s", BUILD_S)
        environment = await self._environments.get(asked.get("requirements") or [], limit_s)
        try:
            outcome = await self._in_process(fields, context, environment.python)
        except ToolError as error:
            own = {**error.more.get("py", {}), "environment": environment.digest}
            error.more["py"] = own
            raise
        return ok(outcome.result, {"py": {"environment": environment.digest}})

    async def _in_process(
        self, fields: Python, context: ToolContext, python: Path | None = None
    ) -> Outcome:
        spec, settings = context.spec, self._settings
        memory_mb = int(number(spec.get("memory_mb"), "memory_mb", settings.memory_mb))
        max_output = int(number(spec.get("max_bytes"), "max_bytes", settings.max_bytes))
        task = {
            "code": fields.code,
            "function": fields.function,
            "args": dict(context.args),
            "scope": dict(context.scope),
            "memory_mb": memory_mb,
            "modules": fields.modules,
            "written": _written(fields, context),
        }
        capture = Capture(settings.log_max, context)
        try:
            ended = await run_process(
                [
                    str(python or sys.executable),
                    "-I",
                    "-X",
                    "utf8",
                    "-c",
                    _start(apart=python is not None),
                ],
                env={"PATH": surroundings()["PATH"]},
                stdin=_encoded(task),
                max_stdout=RESULT_MAX,
                max_stderr=max_output,
                heard=Pipes(capture, {2: "stdout"}).heard,
            )
        finally:
            capture.close()
        return _outcome(_answer(ended, memory_mb=memory_mb, max_output=max_output), context)


def _check(fields: Python) -> None:
    if fields.file is not None and fields.code is None:
        raise ToolError("not_found", f"the file '{fields.file}' did not come with the playbook")
    if (fields.code is None) == (fields.function is None):
        raise ToolError("client_error", "a python task has either code or function")


def _run(fields: Python, context: ToolContext) -> Ran:
    job = Job(
        code=None if fields.function is not None else fields.code,
        function=fields.function,
        modules=fields.modules,
        written=_written(fields, context),
    )
    return run_code(job, context.args, context.scope)


def _written(fields: Python, context: ToolContext) -> tuple[str, int, bool] | None:
    """Return where the code was written: in a file of its own, or where the playbook says."""
    return (fields.file, 1, True) if fields.file is not None else context.written.get("code")


def _outcome(ran: Ran, context: ToolContext) -> Outcome:
    return ok(ran.result) if ran.failure is None else _raised(ran.failure, context)


def _start(*, apart: bool) -> str:
    if apart:
        return _START_APART.format(home=str(Path(__file__).parents[1]), parent=os.getpid())
    path = [str(Path(entry).absolute()) for entry in sys.path]
    return _START.format(path=path, parent=os.getpid())


def _encoded(task: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(task)
    except (TypeError, ValueError) as error:
        raise ToolError("transform", f"the scope cannot be sent to a process: {error}") from error


def _answer(ended: ProcessEnd, *, memory_mb: int, max_output: int) -> Ran:
    if ended.over == "standard error":
        message = f"the code printed more than max_bytes, {max_output:,} bytes"
        raise ToolError("limit", message)
    if ended.over is not None:
        raise ToolError("limit", f"the result has more than {RESULT_MAX:,} bytes of JSON")
    answer = _decoded(ended.stdout)
    if answer is None:
        raise ToolError("unknown", f"the process {_how(ended.code)} before it gave a result")
    if (failure := answer.get("failure")) is None:
        return Ran(result=answer["result"])
    if failure["kind"] == "limit":
        failure["message"] = f"the code needs more than memory_mb, {memory_mb} MB"
    return Ran(failure=CodeFailure(**failure))


def _decoded(text: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"


def _raised(failure: CodeFailure, context: ToolContext) -> Outcome:
    """Say in the log how the code failed, line by line, and raise it as the error of the task."""
    # Scrubbed before it is cut: half a secret would not be recognised.
    trace = middle_out(context.scrub(failure.traceback or ""), TRACEBACK_MAX)
    if trace:
        context.log(trace, "stderr")
    details = {"at": failure.at, "traceback": middle_out(trace, DETAILS_MAX)}
    details = {name: value for name, value in details.items() if value}
    raise ToolError(
        cast("ErrorKind", failure.kind),
        _placed(failure.message, failure.at, context),
        details=details or None,
        more={"py": {"exception_type": failure.exception_type, "traceback": trace}}
        if failure.exception_type is not None
        else None,
    )


def _placed(message: str, at: str | None, context: ToolContext) -> str:
    """Say where it failed, behind what went wrong: of a long message, that is not what is cut away."""
    if not at:
        return message
    said, where = context.scrub(message), context.scrub(at)[: MESSAGE_MAX // 2]
    return f"{cut(said, MESSAGE_MAX - len(where) - 2)}; {where}"
