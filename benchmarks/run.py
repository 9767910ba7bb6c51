"""``make bench-parts``: what each part costs on its own, one after the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = (
    "promises",
    "kernel",
    "expr",
    "pipeline",
    "soundness",
    "tools",
    "store",
    "worker",
    "http_calls",
    "engine",
)


def main() -> None:
    for name in BENCHMARKS:
        print(f"\n== {name}", flush=True)
        subprocess.run([sys.executable, HERE / f"{name}.py"], cwd=HERE.parent, check=False)


if __name__ == "__main__":
    main()
