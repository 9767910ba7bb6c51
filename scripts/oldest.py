"""Prints the oldest version of every dependency that pyproject.toml allows, for pip: what ``make test-oldest`` installs."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def oldest(pyproject: str) -> list[str]:
    """Return ``name==version`` for every lower bound; one without a bound cannot be tested, so it is an error."""
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"]
    named = [
        *project["dependencies"],
        *(one for name in extras if name != "all" for one in extras[name]),
    ]
    pins = []
    for requirement in named:
        bound = re.fullmatch(r"([A-Za-z0-9._-]+)\s*>=\s*([0-9.]+)(\s*;.*)?", requirement)
        if bound is None:
            raise SystemExit(f"'{requirement}' has no lower bound that could be tested")
        pins.append(f"{bound[1]}=={bound[2]}{bound[3] or ''}")
    return sorted(set(pins))


if __name__ == "__main__":
    sys.stdout.write("\n".join(oldest((ROOT / "pyproject.toml").read_text("utf-8"))) + "\n")
