"""Makes a folder and a database as earlier versions left them, for the tests of upgrades (tests/store/layouts).

    python scripts/layout_fixtures.py          those that are missing
    python scripts/layout_fixtures.py 5        that one anew

Each is made by the code of a commit, the last one on main with that layout, with the packages that are installed now. Its
executions have come to every kind of rest, and its process is killed while a step is with a worker. A new layout gets
its row before a later migration is merged.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.database import BINARIES, Database  # noqa: E402 - after the path is set

INTO = ROOT / "tests/store/layouts"
COMMITS = {
    2: "972f62e", 3: "8c31910", 5: "2748979", 7: "8cf6c05", 8: "42f08bf",
    9: "f68b7fb", 11: "59c642e", 12: "dea7156", 13: "2cfa3a5", 14: "24c2353", 15: "0a36ebe", 16: "108d0bd",
}  # fmt: skip
"""The last commit on main of each layout that was there: 1 is older than the engine, 4 and 6 came together with the next.

9 was on a branch, and came to main after 11: so 11 is without it, and 10 never was (``petra.store.queries``).
"""


def then(step: str, tool: str, result: str) -> str:
    """Write a playbook that goes on after a step, with that result."""
    return f"""
executor: {{spec: {{output: "{{{{ after }}}}"}}}}
workflow:
  - step: {step}
    tool: {tool}
    next: {{arcs: [{{step: after}}]}}
  - step: after
    tool: {{kind: python, code: "result = '{result}'"}}
"""


OPENED = "{kind: wait, any_of: [{as: opened, signal: {name: open}}]}"
BOOKS = {
    "done": """
executor: {spec: {output: {squares: "{{ square }}"}}}
workflow:
  - step: square
    loop: {in: "{{ [1, 2, 3] }}", iterator: n, spec: {mode: parallel}}
    tool: {kind: python, args: {n: "{{ iter.n }}"}, code: "result = n * n"}
""",
    "asks": then("approve", "{kind: human, title: Go on?}", "approved"),
    "hears": then("gate", OPENED, "heard"),
    "child": then("gate", OPENED, "from the child"),
    "late": """
executor: {spec: {output: "{{ gate.which }}"}}
workflow:
  - step: gate
    tool: {kind: wait, any_of: [{as: opened, signal: {name: never}}, {as: late, for_s: 60}]}
""",
    "busy": """
executor: {spec: {output: "{{ work }}"}}
workflow:
  - step: work
    tool:
      kind: python
      code: |
        import os, pathlib, time
        if marker := os.environ.get("PETRA_FIXTURE"):
            pathlib.Path(marker).touch()
            time.sleep(3600)
        result = "done again"
""",
    "parent": """
executor: {spec: {output: "{{ call }}"}}
workflow:
  - step: call
    tool: {kind: playbook, path: layouts/child}
""",
}

PROGRAM = """
import asyncio, inspect, os, pathlib, signal, sys
import petra

home, store = sys.argv[1], sys.argv[2] or None
books = pathlib.Path(sys.argv[3])
marker = pathlib.Path(os.environ["PETRA_FIXTURE"])


async def main():
    async with petra.open(home, store=store) as local:
        labelled = "labels" in inspect.signature(local.start).parameters
        more = {"labels": {"team": "etl"}} if labelled else {}

        async def rest(name):
            execution = await local.start(books / f"{name}.yaml", execution=f"the-{name}", **more)
            return await local.rest(execution)

        print((await rest("done")).status, (await rest("asks")).status, (await rest("hears")).status)
        if hasattr(local, "apply"):
            await local.apply(books / "child.yaml")
        print((await rest("child")).status, (await rest("parent")).status, (await rest("late")).status)
        await local.start(books / "busy.yaml", execution="the-busy", **more)
        while not marker.exists():
            await asyncio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)


asyncio.run(main())
"""


def write_books(folder: Path) -> None:
    for name, text in BOOKS.items():
        head = f"apiVersion: petra/v1\nkind: Playbook\nmetadata: {{name: {name}, path: layouts/{name}}}"
        (folder / f"{name}.yaml").write_text(head + text, "utf-8")


def code_of(commit: str, folder: Path) -> Path:
    """Unpack the package as it was at a commit."""
    packed = subprocess.run(
        ["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def leave(code: Path, folder: Path, home: Path, store: str) -> None:
    """Have a version work, and kill it."""
    marker = folder / "begun"
    marker.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(home), store, str(folder)],
        env={**os.environ, "PYTHONPATH": str(code), "PETRA_FIXTURE": str(marker), "PYTHONSAFEPATH": "1"},
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(done.stdout, done.stderr[-2000:])
    assert done.returncode < 0, "it was to be killed"


def make(layout: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="petra-layout-"))
    try:
        write_books(folder)
        code = code_of(COMMITS[layout], folder)
        leave(code, folder, folder / "home", "")
        with tarfile.open(INTO / f"{layout:04}.sqlite.tar.xz", "w:xz") as archive:
            for file in sorted((folder / "home").rglob("*")):
                if file.is_file() and not file.is_socket():
                    archive.add(file, file.relative_to(folder / "home"))
        database = Database(fsync=False)
        try:
            leave(code, folder, folder / "shared", database.make("layout"))
            dump = subprocess.run(
                [BINARIES / "pg_dump", "-h", database.folder, "-U", "postgres", "--inserts", "--no-owner", "layout"],
                capture_output=True, check=True,
            ).stdout  # fmt: skip
        finally:
            database.remove()
        with tarfile.open(INTO / f"{layout:04}.postgres.tar.xz", "w:xz") as archive:
            about = tarfile.TarInfo("dump.sql")
            about.size = len(dump)
            archive.addfile(about, io.BytesIO(dump))
    finally:
        shutil.rmtree(folder)
    for file in sorted(INTO.glob(f"{layout:04}.*")):
        print(file.name, f"{file.stat().st_size:,} bytes")


if __name__ == "__main__":
    for wanted in map(int, sys.argv[1:] or COMMITS):
        if len(sys.argv) > 1 or not (INTO / f"{wanted:04}.sqlite.tar.xz").exists():
            make(wanted)
