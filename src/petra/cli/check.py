"""``petra check``: every problem of every file, at once, and whether it can get stuck."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from petra.cli.documents import checked_in as document_in
from petra.cli.files import library_option, load, playbook_files
from petra.cli.output import as_json, count, print_json, print_problem, tell
from petra.library import Library, beside, gather, missing
from petra.playbook import Problem, Reading
from petra.playbook.calls import calls
from petra.playbook.problems import problem_data

if TYPE_CHECKING:
    from petra.cli.nets import Judged
    from petra.net.budget import Budget
    from petra.net.proof import Proof

_SHOWN_PER_FILE = 50
EFFORT_S = 2.0
HOME = Path(".petra")
PATIENCE = 3
"""So many times the effort goes by on the clock, at most."""


class CheckedFile(Struct, frozen=True):
    """A playbook, everything that was found about it, and how long the proof took."""

    reading: Reading
    proof: Proof | None
    milliseconds: float
    missing: tuple[Problem, ...] = ()
    """What it calls and nobody finds."""

    @property
    def name(self) -> str:
        """The file."""
        return self.reading.name

    @property
    def problems(self) -> list[Problem]:
        """All problems in the order of the text."""
        proved = self.proof.problems if self.proof else ()
        problems = [*self.reading.problems, *self.missing, *proved]
        return sorted(problems, key=lambda problem: (problem.mark, problem.severity, problem.code))


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option("--strict", is_flag=True, help="Warnings are errors too.")
@click.option(
    "--final",
    type=click.Path(path_type=Path),
    help="JSON with the markings in which a .pnml net ends.",
)
@click.option(
    "--effort", type=click.FloatRange(min=0), default=EFFORT_S, show_default=True, metavar="SECONDS",
    help="How much work the proof of a file may be: about so many seconds.",
)  # fmt: skip
@click.option(
    "--home", type=click.Path(path_type=Path), default=HOME, envvar="PETRA_HOME", show_envvar=True,
    help="Where playbooks that others call may have been applied.",
)  # fmt: skip
@library_option
@as_json
def command(
    paths: tuple[str, ...],
    *,
    strict: bool,
    final: Path | None,
    effort: float,
    home: Path,
    library: tuple[Path, ...],
    output: str,
) -> None:
    """Check playbooks: every problem, with its place and its fix, and whether they can get stuck.

    Folders are searched for *.yaml, *.yml and *.pnml. A net ends as NAME.final.json beside it says, if there
    is one. Exits with 1 when a problem keeps a playbook from running, or a net is not sound.
    """
    begin = perf_counter()
    files = [path for path in playbook_files(paths) if path.suffix != ".pnml"]
    libraries = {path.parent: beside(path, library) for path in files}
    playbooks = [
        CheckedFile(held, None, 0.0)
        if (held := document_in(path, libraries[path.parent], home)) is not None
        else check_file(path, effort, home, libraries[path.parent])
        for path in files
    ]
    playbooks += broken_callees(playbooks, library, effort)
    nets = _judge_nets(paths, final, effort)
    if not playbooks and not nets:
        raise click.UsageError(
            f"no playbook (.yaml, .yml) or net (.pnml) in {', '.join(paths)}; 'petra init NAME' writes one"
        )
    failed = any(strict or x.severity == "error" for file in playbooks for x in file.problems)
    if output == "json":
        print_json({"files": [*map(_as_data, playbooks), *map(_net_as_data, nets)]})
    else:
        _print_all(playbooks, nets, (perf_counter() - begin) * 1000, strict=strict)
    sys.exit(1 if failed or not all(net.is_well for net in nets) else 0)


def check_file(
    path: Path, effort: float = EFFORT_S, home: Path = HOME, library: Library | None = None
) -> CheckedFile:
    """Read a playbook and, when it has no errors, prove it sound or find out why not, with so much effort.

    What it calls is looked for in the library, which is its folder unless another one is given, and in the home.
    """
    return check_reading(load(path), library or beside(path), effort, home)


def check_reading(
    reading: Reading, library: Library, effort: float = EFFORT_S, home: Path = HOME
) -> CheckedFile:
    """Prove a playbook that was read sound or find out why not; of one with errors, only what it calls is looked for."""
    unfound = _missing(reading, library, home)
    if not reading.ok:
        return CheckedFile(reading, None, 0.0, unfound)
    from petra.net.proof import prove  # noqa: PLC0415 - not needed for a file with errors

    begin = perf_counter()
    proof = prove(reading, budget=budget_of(effort))
    return CheckedFile(reading, proof, (perf_counter() - begin) * 1000, unfound)


def broken_callees(
    callers: Sequence[CheckedFile],
    shelves: Sequence[Path] = (),
    effort: float = EFFORT_S,
    read: Callable[[Path], Reading] = load,
) -> list[CheckedFile]:
    """Return what is called by name, and cannot run or has an unsound net, with its errors; but none of the callers."""
    known = {Path(caller.name).resolve() for caller in callers}
    checked: list[CheckedFile] = []
    for caller in callers:
        playbook = caller.reading.playbook
        if playbook is None or next(calls(playbook), None) is None:
            continue
        around = gather(Path(caller.name), playbook, shelves, read=read)
        for reading in (
            *around.faulty,
            *(around.readings[place] for place in sorted(around.named)),
        ):
            if Path(reading.name).resolve() not in known:
                known.add(Path(reading.name).resolve())
                checked.append(_errors_of(reading, effort))
    return [file for file in checked if file.problems]


def _errors_of(reading: Reading, effort: float) -> CheckedFile:
    """Prove what a playbook calls; its warnings are not its caller's."""
    errors = tuple(problem for problem in reading.problems if problem.severity == "error")
    reading = replace(reading, problems=errors)
    if not reading.ok:
        return CheckedFile(reading, None, 0.0)
    from petra.net.proof import prove  # noqa: PLC0415 - not needed for a file with errors

    begin = perf_counter()
    proof = prove(reading, budget=budget_of(effort))
    wrong = tuple(problem for problem in proof.problems if problem.severity == "error")
    return CheckedFile(reading, replace(proof, problems=wrong), (perf_counter() - begin) * 1000)


def _missing(reading: Reading, library: Library, home: Path) -> tuple[Problem, ...]:
    lacking = missing(reading, library)
    if lacking:
        from petra.cli.catalogue import catalogue_of  # noqa: PLC0415 - most call nothing, or what lies beside them

        catalogue = catalogue_of(home)
        lacking = missing(reading, library, catalogue) if catalogue is not None else lacking
    return tuple(lacking)


def budget_of(seconds: float) -> Budget:
    """Return a budget of about so much time; a machine on which it takes very much longer stops by the clock."""
    from petra.net.budget import Budget  # noqa: PLC0415 - not needed for a file with errors

    end = perf_counter() + PATIENCE * seconds
    return Budget(seconds, lambda: perf_counter() > end)


def _judge_nets(paths: tuple[str, ...], final: Path | None, effort: float) -> list[Judged]:
    if not any(Path(path).is_dir() or path.endswith(".pnml") for path in paths):
        return []
    from petra.cli.nets import judge, net_files  # noqa: PLC0415 - not needed for playbooks

    return [judge(path, final, budget_of(effort)) for path in net_files(paths)]


# JSON


def _as_data(checked: CheckedFile) -> dict[str, Any]:
    problems = [problem_data(problem) for problem in checked.problems]
    told: dict[str, Any] = {"file": checked.name, "problems": problems}
    if checked.proof is not None:
        proof = checked.proof
        notes = [*filter(None, [proof.note, "sound if guards allow" if proof.gated else ""])]
        told["soundness"] = _soundness(
            proof.verdict, proof.states, checked.milliseconds, proof.counterexample, notes
        )
    return told


def _net_as_data(judged: Judged) -> dict[str, Any]:
    if judged.verdict is None:
        problem = {"severity": "error", "message": judged.trouble}
        return {"file": judged.name, "problems": [problem]}
    verdict = judged.verdict
    firings = verdict.counterexample.firings if verdict.counterexample is not None else ()
    sentence = [verdict.counterexample.sentence] if verdict.counterexample is not None else []
    return {
        "file": judged.name,
        "problems": [],
        "soundness": _soundness(
            verdict.verdict,
            verdict.states,
            judged.milliseconds,
            firings,
            [*sentence, *verdict.notes],
        ),
    }


def _soundness(
    verdict: str, states: int, milliseconds: float, firings: tuple[str, ...], notes: list[str]
) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "states": states,
        "milliseconds": round(milliseconds, 3),
        "counterexample": list(firings),
        "notes": notes,
    }


# Text


def _print_all(
    playbooks: list[CheckedFile], nets: list[Judged], milliseconds: float, *, strict: bool
) -> None:
    for checked in playbooks:
        _print(checked)
    if playbooks:
        _summary(playbooks, strict=strict)
    if nets:
        from petra.cli.nets import print_judged, summary  # noqa: PLC0415 - not needed for playbooks

        for judged in nets:
            if len(nets) == 1 or not judged.is_well:
                print_judged(judged)
        if len(nets) > 1:
            tell(summary(nets, milliseconds))


def _print(checked: CheckedFile) -> None:
    lines = checked.reading.lines
    problems = checked.problems
    # errors first to be shown where there are very many; the order of the text otherwise
    shown = sorted(problems, key=lambda problem: problem.severity != "error")[:_SHOWN_PER_FILE]
    for problem in sorted(shown, key=lambda problem: problem.mark):
        print_problem(problem, lines, checked.name)
    if left := len(problems) - len(shown):
        tell(f"{checked.name}: and {count(left, 'more problem')}; '-o json' shows all")
    if checked.proof is not None and checked.proof.note:
        tell(click.style(f"{checked.name}: note: {checked.proof.note}", dim=True))


def _summary(playbooks: list[CheckedFile], *, strict: bool) -> None:
    problems = [problem for file in playbooks for problem in file.problems]
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    if problems:
        tell()
    words = [count(errors, "error")] if errors else []
    refused = " that --strict does not let pass" if strict else ""
    words += [count(warnings, "warning") + refused] if warnings else []
    failed = errors or (strict and warnings)
    mark = click.style("✗", fg="red") if failed else click.style("✓", fg="green")
    files = playbooks[0].name if len(playbooks) == 1 else count(len(playbooks), "file")
    sound = all(file.proof is not None and file.proof.verdict == "sound" for file in playbooks)
    gated = any(file.proof is not None and file.proof.gated for file in playbooks)
    words_of_proof = "sound if guards allow" if gated else "proved sound"
    ending = f", {words_of_proof}" if sound else ""
    tell(f"{mark} {files}: {', '.join(words) or 'no problems'}{ending}")
