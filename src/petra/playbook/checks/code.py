"""The code of Python tasks: compiled here as it will be on a worker, and never run."""

from __future__ import annotations

import warnings

from petra.playbook.checks.document import Document
from petra.playbook.decode import Path
from petra.playbook.model import Task
from petra.playbook.problems import Mark, lines_of

_BLOCK = ("|", ">")


def check_code(document: Document) -> None:
    """Report Python code that no worker could compile, where the author wrote it."""
    for path, _step, tasks in document.pipelines():
        for index, task in enumerate(tasks):
            if task.kind == "python" and isinstance(task.fields.get("code"), str):
                _check(document, (*path, index, "code"), task)


def _check(document: Document, path: Path, task: Task) -> None:
    code: str = task.fields["code"]
    fault = _fault(code)
    if fault is None:
        return
    message, line, column = fault
    file = task.fields.get("file")
    if isinstance(file, str):
        at, whose = document.at(*path[:-1], "file"), f"{file}, line {line}: the Python code"
    else:
        at, whose = _place(document, path, code, line, column), "the Python code"
    words = f"{whose} of task '{task.name}' cannot be compiled: {message}"
    # what another engine would do with it is not ours to say
    report = document.problems.warn if document.is_foreign else document.problems.error
    report("P127", at, words, "correct this line")


def _fault(code: str) -> tuple[str, int, int] | None:
    """Compile code; return what is wrong with it and where, both counted from 1."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<code>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.msg, error.lineno or 1, error.offset or 1
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__, 1, 1
    return None


def _place(document: Document, path: Path, code: str, line: int, column: int) -> Mark:
    """Find a line of the code in the text: line by line in a block, by its words elsewhere."""
    mark = document.at(*path)
    lines, written = lines_of(document.text), code.splitlines()
    if not written or mark.line > len(lines):
        return mark
    row = min(line, len(written))
    wanted = written[row - 1]
    bare = wanted.strip()
    within = min(max(column - 1 - (len(wanted) - len(wanted.lstrip())), 0), max(len(bare) - 1, 0))
    block = lines[mark.line - 1][mark.column - 1 :].startswith(_BLOCK)
    first = mark.line + row if block else mark.line
    for number in range(first, len(lines) + 1):
        start = lines[number - 1].find(bare, 0 if number > mark.line else mark.column - 1)
        if bare and start >= 0:
            return Mark(number, start + within + 1)
    return mark
