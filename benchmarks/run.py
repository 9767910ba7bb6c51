"""``make bench``: every benchmark, one after the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    for path in sorted(HERE.glob("*.py")):
        if path.name != "run.py":
            print(f"\n== {path.stem}", flush=True)
            subprocess.run([sys.executable, path], cwd=HERE.parent, check=False)


if __name__ == "__main__":
    main()
