"""May this playbook be started? It is read and its net is proved, as by ``petra check`` (S1, S19).

Errors refuse the start, warnings are told before it. Errors of the net alone may be passed over.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

from petra.cli.check import HOME, CheckedFile, broken_callees, check_file
from petra.cli.files import load
from petra.cli.home import shown_data
from petra.cli.output import count, print_json, print_problem, tell
from petra.desk.result import refusal
from petra.library import Gathered, beside, gather
from petra.net.proof import Proof
from petra.playbook import Playbook, Problem, Reading
from petra.playbook.problems import problem_data

_SHOWN = 10


def ready(
    file: Path,
    output: str = "text",
    *,
    home: Path = HOME,
    allow_unsound: bool = False,
    library: Sequence[Path] = (),
) -> tuple[Playbook, Proof, Gathered]:
    """Read a playbook that may be started, with its proof and what it may call; otherwise say why not and leave."""
    checked_file = checked(file, output, home=home, allow_unsound=allow_unsound, library=library)
    once = cache(load)
    for callee in broken_callees([checked_file], library, read=once):
        if callee.proof is None or not allow_unsound:
            _refuse(callee.reading, callee.problems, output, of_net=callee.proof is not None)
    playbook, proof = checked_file.reading.checked(), checked_file.proof
    assert proof is not None  # it may be started
    return playbook, proof, gather(file, playbook, library, read=once)


def checked(
    file: Path,
    output: str = "text",
    *,
    home: Path = HOME,
    allow_unsound: bool = False,
    library: Sequence[Path] = (),
) -> CheckedFile:
    """Read a playbook that may be started, and prove it; otherwise say why not and leave.

    The engine asks for a proof too: here it speaks of the lines that the author wrote, and there it holds.
    """
    checked_file = check_file(file, home=home, library=beside(file, library))
    ignored = (
        checked_file.proof.problems if checked_file.proof is not None and allow_unsound else ()
    )
    errors = [
        problem
        for problem in checked_file.problems
        if problem.severity == "error" and problem not in ignored
    ]
    playbook = checked_file.reading.playbook
    if playbook is None or checked_file.proof is None or errors:
        of_net = checked_file.proof is not None and set(errors) <= set(checked_file.proof.problems)
        _refuse(checked_file.reading, errors, output, of_net=of_net)
    _warn(
        [problem for problem in checked_file.problems if problem not in errors],
        checked_file.reading,
    )
    if checked_file.proof.note:
        tell(f"{checked_file.reading.name}: {checked_file.proof.note}", err=True)
    return checked_file


def _refuse(reading: Reading, errors: list[Problem], output: str, *, of_net: bool) -> NoReturn:
    if output == "json":
        message = f"{reading.name}: {errors[0].message}" if errors else "it cannot run"
        failed = refusal("", "", message)
        print_json(
            {**shown_data(failed), "problems": [problem_data(problem) for problem in errors]}
        )
    else:
        for problem in errors:
            print_problem(problem, reading.lines, reading.name)
        if of_net:
            tell("it is not started; '--allow-unsound' starts it nevertheless", err=True)
    sys.exit(1)


def _warn(problems: list[Problem], reading: Reading) -> None:
    """Tell what may not be as meant, on stderr: stdout is for the result."""
    for problem in problems[:_SHOWN]:
        print_problem(problem, reading.lines, reading.name, err=True)
    if (left := len(problems) - _SHOWN) > 0:
        words = f"{reading.name}: and {count(left, 'more problem')}; 'petra check' shows all"
        tell(words, err=True)
