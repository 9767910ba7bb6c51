"""``make demo``: the tour playbook, checked, drawn, tested and explained."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PETRA = Path(sys.executable).with_name("petra")
TOUR = "examples/tour.yaml"

SHOWN = [
    ("Petra reads the playbook and proves that it cannot get stuck.", ["check", TOUR]),
    ("It draws what it read.", ["graph", TOUR]),
    (
        "It runs the playbook's tests: the real machine, scripted tools, virtual time.",
        ["test", "examples/tour.test.yaml"],
    ),
]


def main() -> int:
    for words, arguments in SHOWN:
        print(f"\n\033[1m{words}\033[0m" if sys.stdout.isatty() else f"\n{words}", flush=True)
        print(f"$ petra {' '.join(arguments)}", flush=True)
        code = subprocess.run([PETRA, *arguments], cwd=ROOT, check=False).returncode
        if code:
            return code
    print("\nNext: petra init hello, and docs/tutorial/.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
