"""Measure what Petra promises about small times: starting up, checking, reading, proving.

    python benchmarks/promises.py

Each is measured in CPU seconds, the best of a few runs, and shown beside what is promised; exit code 1 when one is
broken. These are no tests: a busy machine is no bug.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from petra.net.pnml import read_pnml
from petra.net.soundness import check, read_final
from petra.playbook import read_bytes

ROOT = Path(__file__).parents[1]
NETS = ROOT.parent / "shared" / "nets"
RUNS = 5
PETRA = (sys.executable, "-c", "from petra.cli import main; main()")
STEP = """\
  - step: s{i}
    tool:
      kind: http
      url: "{{{{ workload.url }}}}/{i}"
      spec:
        policy:
          rules:
            - when: "{{{{ outcome.status == 'error' }}}}"
              then: {{do: retry, attempts: 3}}
            - else: {{then: {{do: continue, set_ctx: {{r{i}: "{{{{ outcome.result.data }}}}"}}}}}}
    next:
      arcs:
        - {{step: s{n}, when: "{{{{ ctx.r{i} > {i} }}}}"}}
        - {{step: s{n}}}
"""
FIFTY = (
    "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: fifty}\nworkflow:\n"
    + "".join(STEP.format(i=i, n=i + 1) for i in range(50))
    + "  - step: s50\n    tool: {kind: noop}\n"
)


def seconds(*command: str) -> float:
    """Return what a program takes, itself and its children."""
    code = (
        "import os, subprocess, sys; subprocess.run(sys.argv[1:], capture_output=True);"
        " print(sum(os.times()[2:4]))"
    )
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    runs = [
        subprocess.run(
            [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True, env=kept
        ).stdout
        for _ in range(RUNS)
    ]  # fmt: skip
    return min(map(float, runs))


def best(work: Callable[[], object]) -> float:
    """Return what some work takes in this process."""
    taken = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def slowest_file() -> float:
    files = [*(ROOT / "examples").rglob("*.yaml"), *(ROOT / "tests/playbook").rglob("*.yaml")]
    texts = [(file.read_bytes(), file.name) for file in files]
    return max(best(lambda text=text: read_bytes(*text)) for text in texts)  # type: ignore[misc]


def slowest_net() -> float:
    slowest = 0.0
    for library in sorted(NETS.glob("ibm_*.tar.gz")):
        with tarfile.open(library) as archive:
            files = {
                Path(member.name).name: archive.extractfile(member).read()  # type: ignore[union-attr]
                for member in archive
                if member.isfile()
            }
        for name in [name.removesuffix(".pnml") for name in files if name.endswith(".pnml")]:
            start = time.process_time()
            final = read_final(files[f"{name}.final.json"])
            check(read_pnml(files[f"{name}.pnml"]), final=final)
            slowest = max(slowest, time.process_time() - start)
    return slowest


def measured(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Yield what is measured, what it took and what is promised."""
    file = folder / "fifty.yaml"
    file.write_text(FIFTY)
    bare = seconds(sys.executable, "-c", "import click")
    yield "petra --help", seconds(*PETRA, "--help"), min(0.15, 3 * bare + 0.05)
    yield "petra check, fifty steps", seconds(*PETRA, "check", str(file)), 0.3
    yield "reading fifty steps", best(lambda: read_bytes(FIFTY.encode(), "fifty")), 0.15
    yield "the slowest file of the corpus", slowest_file(), 0.3
    if NETS.is_dir():
        yield "the slowest net of the library", slowest_net(), 0.5


def main() -> int:
    broken = 0
    with TemporaryDirectory() as folder:
        for what, took, promised in measured(Path(folder)):
            broken += took >= promised
            mark = "" if took < promised else "   broken"
            print(f"{what:<32} {took:7.3f} s   promised {promised:.3f} s{mark}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
