"""``kind: shell``: a program of the operating system, or a script for ``sh``.

The environment is ``PATH`` and ``HOME`` of the worker and what ``env`` says, nothing else. The program and everything it
starts is one process group, which ends with the attempt. Its output stays text, also when it looks like JSON:
``fromjson`` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from petra.kinds import Fields, Shell
from petra.tools.base import ToolContext, ToolError, ToolSettings, number, ok
from petra.tools.capture import Capture, Pipes
from petra.tools.processes import ProcessEnd, run_process, surroundings
from petra.wire import Outcome

TAIL: Final = 4_000
"""Characters of each stream that the details of an error keep, from its end."""


LINES: Final = 3
LINE_MAX: Final = 300
"""Lines, and characters of each, that the message of an error has: the last ones, of what it said on standard error."""
_LOOKED_AT: Final = TAIL + 64 * 1024


class ShellTool:
    """Runs a program; an exit code other than 0 is an error."""

    kind: ClassVar[str] = "shell"
    spec: ClassVar[type[Fields]] = Shell

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._settings = settings or ToolSettings()

    async def run(self, fields: Shell, context: ToolContext) -> Outcome:
        """Run the program to its end."""
        most = int(number(context.spec.get("max_bytes"), "max_bytes", self._settings.max_bytes))
        capture = Capture(self._settings.log_max, context)
        try:
            ended = await run_process(
                _argv(fields, context.spec.get("memory_mb")),
                env={**surroundings(), **_texts(fields.env or {})},
                cwd=fields.cwd,
                max_stdout=most,
                max_stderr=most,
                heard=Pipes(capture, {1: "stdout", 2: "stderr"}).heard,
            )
        finally:
            capture.close()
        if ended.over is not None:
            raise ToolError("limit", f"more than max_bytes, {most:,} bytes, on {ended.over}")
        stdout = ended.stdout.decode("utf-8", "replace")
        stderr = ended.stderr.decode("utf-8", "replace")
        if ended.code == 0:
            result = {"stdout": stdout, "stderr": stderr, "exit_code": 0}
            return ok(result, {"shell": {"exit_code": 0}})
        # Scrubbed before it is cut: half a secret would not be recognised.
        tails = [context.scrub(text[-_LOOKED_AT:])[-TAIL:] for text in (stdout, stderr)]
        raise ToolError(
            _kind(ended),
            _message(ended, *tails),
            code=ended.code,
            details=dict(zip(("stdout", "stderr"), tails, strict=True)),
            more={"shell": {"exit_code": ended.code}},
        )


def _argv(fields: Shell, memory_mb: Any) -> list[str]:
    if fields.file is not None and fields.script is None:
        raise ToolError("not_found", f"the file '{fields.file}' did not come with the playbook")
    if (fields.argv is None) == (fields.script is None):
        raise ToolError("client_error", "a shell task has either argv or script")
    if fields.script is not None:
        argv = ["sh", "-c", fields.script]
    else:
        argv = list(fields.argv or [])
        if not argv:
            raise ToolError("client_error", "argv is empty; it takes a program and its arguments")
    if memory_mb is None:
        return argv
    most = int(number(memory_mb, "memory_mb", 0)) * 1024
    return ["sh", "-c", f'ulimit -v {most}; exec "$@"', "sh", *argv]


def _texts(env: Mapping[str, Any]) -> dict[str, str]:
    for name, value in env.items():
        if not isinstance(value, str | int | float | bool):
            raise ToolError("client_error", f"env.{name} takes text or a number")
    return {name: _text(value) for name, value in env.items()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _kind(ended: ProcessEnd) -> Any:
    return {126: "denied", 127: "not_found"}.get(ended.code, "unknown")


def _message(ended: ProcessEnd, stdout: str, stderr: str) -> str:
    how = f"exit code {ended.code}" if ended.code >= 0 else f"killed by signal {-ended.code}"
    lines = [line.strip() for line in (stderr if stderr.strip() else stdout).splitlines()]
    last = [line[:LINE_MAX] for line in lines if line][-LINES:]
    return f"{how}: {' | '.join(last)}" if last else how
