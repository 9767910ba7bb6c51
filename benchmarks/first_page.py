"""How soon there is a first page: ``petra dev`` on the examples, from its start to all that a browser needs to draw it.

    .venv/bin/python benchmarks/first_page.py [--rounds 5] [FOLDER]

Each round starts it on a copy of the folder, in a home of its own. Told are the seconds until it says its address, until the page behind
the printed log-in is there with everything that it names (scripts, styles, the picture), and until the calls are answered with
which the first page begins: who am I, what is this server, the first executions. The aims are 1 s and 2 s. What a browser itself takes
to draw it is in ``ui.py``. Before the first round files may not be in memory; the median is of all rounds.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
from in_turn import cpu_s

EXAMPLES = Path(__file__).parents[1] / "examples"
_NAMED = re.compile(r"""(?:src|href)="(?:\./)?(assets/[^"]+|icon\.svg)""")
FIRST_CALLS = ("/api/v1/me", "/api/v1/meta", "/api/v1/executions?limit=50")
COLUMNS = ("address", "page", "first calls", "CPU of the server")


def round_of(folder: Path) -> list[float]:
    """Start it once; return the seconds until each of the columns, and what it took of the processor."""
    with tempfile.TemporaryDirectory(prefix="petra-bench-") as place:
        books = shutil.copytree(folder, Path(place, "books"))
        begun = time.perf_counter()
        command = [sys.executable, "-m", "petra", "dev", str(books), "--home", f"{place}/.petra"]
        server = subprocess.Popen(
            [*command, "--port", "0", "-o", "json"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=place,
        )  # fmt: skip
        try:
            assert server.stdout is not None
            said = json.loads(server.stdout.readline())
            found = [time.perf_counter() - begun]
            with httpx2.Client(base_url=said["url"], timeout=60, follow_redirects=True) as browser:
                page = browser.get(said["login_url"])
                assert page.status_code == 200, page.text
                named = set(_NAMED.findall(page.text))
                assert named, "the page names its scripts; 'make ui' builds it"
                found += [_asked(browser, named, begun), _asked(browser, FIRST_CALLS, begun)]
            return [*found, cpu_s(server.pid)]
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate()


def _asked(browser: httpx2.Client, addresses: tuple[str, ...] | set[str], begun: float) -> float:
    """Ask for all of them; return the seconds that have passed since the start."""
    for address in sorted(addresses):
        answer = browser.get(address)
        assert answer.status_code == 200, (address, answer.text)
    return time.perf_counter() - begun


def main() -> None:
    """Start it so often, and say the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("folder", type=Path, nargs="?", default=EXAMPLES)
    given = parser.parse_args()
    rounds = [round_of(given.folder) for _ in range(given.rounds)]
    for column, name in enumerate(COLUMNS):
        seconds = [one[column] for one in rounds]
        print(
            f"{name}: {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
        )


if __name__ == "__main__":
    main()
