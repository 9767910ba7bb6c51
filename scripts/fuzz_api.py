"""Sends a server of its own, in a folder of its own, what no client would: ``make fuzz``. No answer may be a 5xx.

Every call with every check of schemathesis that ``fuzz_plan`` does not leave out for a reason it gives, alone and along the
links between calls. ``--examples`` says how many requests of each call are made up.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from fuzz_plan import LEFT_OUT_PATHS, NOT_CHECKED, configured, furnish

BIN = Path(sys.executable).parent
_COUNTED = re.compile(r'petra_http_requests_total\{.*status="(\dxx)".*\} (\S+)')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; the exit code is that of schemathesis."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--phases", default="examples,coverage,fuzzing,stateful")
    parser.add_argument("--only", default="", help="a regular expression of addresses")
    parser.add_argument("--seconds", type=float, help="end it then, and judge by what was answered")
    given = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="petra-fuzz-") as folder,
        Path(folder, "log").open("wb") as log,
        subprocess.Popen(
            [BIN / "petra", "serve", "--home", f"{folder}/.petra", "--port", "0", "-o", "json"],
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=folder,
            text=True,
        ) as server,
    ):
        try:
            assert server.stdout is not None
            said = json.loads(server.stdout.readline())
            config = configured(Path(folder), furnish(said["url"], said["token"]))
            code = _run(_asked(said, given, config), folder, given.seconds)
            alive = server.poll() is None
            print(f"the server {'is still there' if alive else 'died'}")
            if not alive:
                return 1
            answered = _answered(said)
            print(f"{sum(answered.values()):,} requests were answered: {answered}")
            return code or int("5xx" in answered)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
            tracebacks = Path(folder, "log").read_text().count("Traceback")
            print(f"{tracebacks} tracebacks in its log", file=sys.stderr)


def _run(command: list[str], folder: str, seconds: float | None) -> int:
    """Run it; ended by the time that it was given, it found nothing."""
    try:
        return subprocess.run(command, check=False, cwd=folder, timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        return 0


def _answered(said: dict[str, str]) -> dict[str, int]:
    """Return how many requests the server has answered, by the class of status."""
    request = urllib.request.Request(
        f"{said['url']}/metrics", headers={"Authorization": f"Bearer {said['token']}"}
    )
    found: dict[str, int] = {}
    with urllib.request.urlopen(request, timeout=60) as answer:
        for line in answer.read().decode().splitlines():
            if match := _COUNTED.match(line):
                found[match[1]] = found.get(match[1], 0) + int(float(match[2]))
    return found


def _asked(said: dict[str, str], given: argparse.Namespace, config: Path) -> list[str]:
    only = ["--include-path-regex", given.only] if given.only else []
    return [
        str(BIN / "schemathesis"), "--config-file", str(config), "run", f"{said['url']}/openapi.json", "--header",
        f"Authorization: Bearer {said['token']}", "--exclude-checks", ",".join(NOT_CHECKED), "--phases", given.phases,
        "--max-examples", str(given.examples), "--seed", str(given.seed), "--request-timeout", "90",
        "--suppress-health-check", "all", "--continue-on-failure", "--exclude-path-regex", LEFT_OUT_PATHS, *only,
    ]  # fmt: skip


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    sys.exit(main())
