"""Sends a server of its own, in a folder of its own, what no client would: ``make fuzz``. No answer may be a 5xx.

Every call with every check of schemathesis: statuses, media types, shapes, and links between calls. Streams, which do not
end, are left out. ``--examples`` says how many requests of each call are made up.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

BIN = Path(sys.executable).parent
LEFT_OUT = "(/stream|/livez|/metrics)$"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; the exit code is that of schemathesis."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--phases", default="examples,coverage,fuzzing,stateful")
    parser.add_argument("--only", default="", help="a regular expression of addresses")
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
            code = subprocess.run(_asked(said, given), check=False, cwd=folder).returncode
            alive = server.poll() is None
            print(f"the server {'is still there' if alive else 'died'}")
            return code if alive else 1
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
            tracebacks = Path(folder, "log").read_text().count("Traceback")
            print(f"{tracebacks} tracebacks in its log", file=sys.stderr)


def _asked(said: dict[str, str], given: argparse.Namespace) -> list[str]:
    only = ["--include-path-regex", given.only] if given.only else []
    return [
        str(BIN / "schemathesis"), "run", f"{said['url']}/openapi.json", "--header",
        f"Authorization: Bearer {said['token']}", "--checks", CHECKS, "--phases", given.phases,
        "--max-examples", str(given.examples), "--seed", str(given.seed), "--request-timeout", "90",
        "--suppress-health-check", "all", "--continue-on-failure", "--exclude-path-regex", LEFT_OUT, *only,
    ]  # fmt: skip


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    sys.exit(main())
