"""Environments that have just what an installer would bring for Petra and some of its extras, made of the one that is here.

Nothing is fetched: the packages are those that the tests run with, and what each needs is read in what it says of itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Collection, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

Packages = Mapping[str, Distribution]


def called(
    *command: str | Path, cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a program that hears nothing of how the tests are run."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PETRA_", "PYTHON"))}
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**kept, **more},
        capture_output=True,
        text=True,
        check=False,
    )


def packages_of(environment: Path) -> dict[str, Distribution]:
    """Return what is installed there, by name."""
    found = distributions(path=[str(_place(environment))])
    return {canonicalize_name(one.name): one for one in found}


def wanted(packages: Packages, extras: Collection[str]) -> set[str]:
    """Return the names of what Petra needs with these extras, itself included."""
    seen: set[tuple[str, str]] = set()
    todo = [("petra", extra) for extra in ("", *extras)]
    while todo:
        name, extra = todo.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for line in packages[name].requires or ():
            asked = Requirement(line)
            if asked.marker is None or asked.marker.evaluate({"extra": extra}):
                other = canonicalize_name(asked.name)
                assert asked.specifier.contains(packages[other].version, prereleases=True), line
                todo += [(other, more) for more in ("", *asked.extras)]
    return {name for name, _ in seen}


def made_of(packages: Packages, names: Collection[str], folder: Path) -> Path:
    """Make an environment that has these and nothing else; return it."""
    venv.create(folder)
    place = _place(folder)
    for name in names:
        for file in packages[name].files or ():
            if ".." not in file.parts:  # programs say which Python they are for
                link = place / file
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(str(packages[name].locate_file(file)))
    return folder


def install(environment: Path, wheel: Path) -> None:
    """Install a wheel and nothing else, with the pip that is here; compile nothing that nobody imports."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python")
    alone = ("install", "--quiet", "--no-compile", "--no-index", "--no-deps")
    done = called(*pip, environment / "bin/python", *alone, wheel)
    assert done.returncode == 0, done.stderr


_ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


def only(packages: Packages, names: Collection[str]) -> str:
    """Return the beginning of a program for which nothing but these is installed: an environment takes longer to make."""
    there = {module for name in names for module in _modules(packages[name])}
    every = {module for package in packages.values() for module in _modules(package)}
    return f"ABSENT = {every - there!r}{_ABSENT}"


def _modules(package: Distribution) -> set[str]:
    files = (file for file in package.files or () if file.suffix in {".py", ".so"})
    return {file.parts[0].partition(".")[0] for file in files}


def _place(environment: Path) -> Path:
    (place,) = (environment / "lib").glob("python*/site-packages")
    return place
