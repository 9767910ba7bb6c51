"""Bare nets on the command line: finding PNML files, reading them, and judging them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import click

from petra.cli.output import tell
from petra.errors import NetError
from petra.net.budget import Budget
from petra.net.net import Net
from petra.net.pnml import read_pnml
from petra.net.soundness import Final, Limits, Verdict, check, read_final

SUFFIX = ".pnml"
_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Judged:
    """One net, what was found, and how long that took; ``trouble`` where it cannot be read."""

    name: str
    verdict: Verdict | None
    milliseconds: float
    trouble: str = ""

    @property
    def is_well(self) -> bool:
        """Whether nothing speaks against the net."""
        return self.verdict is not None and self.verdict.verdict in ("sound", "undecided")

    @property
    def words(self) -> str:
        """What there is to say about it."""
        if self.verdict is None:
            return self.trouble
        shown = self.verdict.counterexample
        said = shown.sentence if shown is not None else "; ".join(self.verdict.notes[:2])
        if self.verdict.verdict == "sound" or not said:
            return self.verdict.verdict
        return f"{self.verdict.verdict}: {said}"


def net_files(paths: Iterable[str]) -> Iterator[Path]:
    """Yield the nets that are meant: files as given, and those below folders, sorted."""
    for named in paths:
        path = Path(named)
        if path.is_dir():
            yield from sorted(path.rglob(f"*{SUFFIX}"))
        elif path.suffix == SUFFIX:
            yield path


def read_net(path: Path) -> Net:
    """Read a PNML file.

    Raises:
        NetError: it cannot be read, or is no net.
    """
    return read_pnml(_read(path))


def judge(path: Path, final: Path | None, budget: Budget | None = None) -> Judged:
    """Judge one net; ``NAME.final.json`` beside it tells where it ends, unless ``final`` does."""
    begin = perf_counter()
    beside = path.with_suffix(".final.json")
    told = final or (beside if beside.exists() else None)
    try:
        ending: Final | None = read_final(_read(told)) if told is not None else None
        verdict = check(read_net(path), final=ending, limits=Limits(budget=budget))
    except NetError as error:
        return Judged(str(path), None, _since(begin), str(error))
    return Judged(str(path), verdict, _since(begin))


def print_judged(judged: Judged) -> None:
    """Print one net with its verdict in a line."""
    mark = click.style("✓", fg="green") if judged.is_well else click.style("✗", fg="red")
    tell(f"{mark} {click.style(judged.name, bold=True)}: {judged.words}")


def summary(nets: list[Judged], milliseconds: float) -> str:
    """Count the verdicts and say how long all took."""
    counts: dict[str, int] = {}
    for net in nets:
        word = net.verdict.verdict if net.verdict is not None else "unreadable"
        counts[word] = counts.get(word, 0) + 1
    words = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
    slowest = max(net.milliseconds for net in nets)
    return (
        f"{len(nets)} nets: {words}; {milliseconds / 1000:.2f} s in all, slowest {slowest:.0f} ms"
    )


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(_BYTES_MAX + 1)
    except OSError as error:
        raise NetError(f"{path}: {error.strerror or error}") from error
    if len(raw) > _BYTES_MAX:
        raise NetError(f"{path}: larger than 64 MiB")
    return raw


def _since(begin: float) -> float:
    return (perf_counter() - begin) * 1000
