"""What the web UI costs: bytes, first paint, frames, memory, in a real browser against a real server.

``python benchmarks/ui.py`` measures everything and writes benchmarks/results/ui.md. The story of 10,000 and of 100,000
records, and more, is made up in the browser, for an engine needs minutes for it, and so is a run of 1,000 records a second;
everything else comes from a real server. Words behind the name are given to Playwright: ``-g nodes`` measures the graph only,
and is printed, not written.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from build_ui import WEB, environment, node  # noqa: E402
from machine import describe  # noqa: E402
from ui_bytes import sizes  # noqa: E402

RESULTS = ROOT / "benchmarks/results/ui.md"
BUDGETS = {
    "first contentful paint": "≤ 500 ms",
    "list usable": "≤ 800 ms",
    "10,000 iterations usable": "≤ 1,000 ms",
    "10,000 records usable": "≤ 1,000 ms",
    "300 nodes, pan and zoom, readable: fps": "≥ 55 fps",
    "300 nodes, pan and zoom, readable: p95": "≤ 34 ms",
    "1000 nodes, pan and zoom, readable: fps": "≥ 55 fps",
    "1000 nodes, all in view: fps": "≥ 30 fps",
    "100,000 records usable": "≤ 1,000 ms",
    "100,000 log rows, scrolled: fps": "60 fps",
    "100,000 log rows, jump to the end": "≤ 100 ms",
    "memory of a tab on 100,000 records": "≤ 150 MB",
    "1,000 records a second: longest frame": "≤ 50 ms",
}


READING = (
    "Bytes and memory say the same on every machine, and processor time nearly. Times and frames do not: at a load of\n"
    "twelve on two processors a page gets about a sixth of one, so frames are a lower bound, and the budgets for them have\n"
    "to be read on an idle machine."
)


def measured() -> list[tuple[str, str, str]]:
    """Return the rows that a browser measured."""
    binary, _ = node()
    cli = WEB / "node_modules/@playwright/test/cli.js"
    with TemporaryDirectory() as folder:
        out = Path(folder) / "measured"
        out.touch()
        given = {**environment(), "PETRA_MEASURED": str(out)}
        asked = ["test", "--config", "playwright.perf.ts", *sys.argv[1:]]
        subprocess.run([binary, cli, *asked], cwd=WEB, env=given, check=False)
        notes = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    return [
        (one["what"], BUDGETS.get(one["what"], "–"), f"{one['value']:,.0f} {one['unit']}")
        for one in notes
    ]


def main() -> None:
    """Measure, and write the table."""
    before = os.getloadavg()[0]
    rows = [(one.what, f"≤ {one.budget} KB", f"{one.found:.0f} KB") for one in sizes()] + measured()
    after = os.getloadavg()[0]
    about = describe(ROOT)
    where = f"{about['measured']}, {about['cores']}, shared with other work: load {before:.0f} before and {after:.0f} after"
    lines = [
        "# What the web UI costs", "",
        f"`python benchmarks/ui.py`, {where}.",
        "The browser draws without a graphics card. Times are the best of two or three cold visits.", "",
        "| what | budget | measured |", "|---|---|---|",
        *(f"| {what} | {budget} | {found} |" for what, budget, found in rows), "",
        READING, "",
    ]  # fmt: skip
    if not sys.argv[1:]:  # a part of it does not take the place of all
        RESULTS.write_text("\n".join(lines), "utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
