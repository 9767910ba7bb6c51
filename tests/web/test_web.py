"""The web UI: its own checks and tests, run with the node that builds it, and flows in a real browser against a real server."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import build_ui
import click
import pytest
import ui_fixtures
from support import forks

from petra.cli import petra
from petra.net.proof import prove
from petra.playbook import read_bytes

WEB = build_ui.WEB
PATIENT = pytest.mark.patient(5)
"""Each of them is a dozen tests and a browser; where a machine was busy they took more than three minutes."""


@pytest.fixture(scope="module")
def node() -> Path:
    if not (WEB / "node_modules/.package-lock.json").exists():
        pytest.skip("web/node_modules is not there; 'make ui' brings it")
    return build_ui.node()[0]


@pytest.fixture(scope="module")
def petra_of_flows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that is a forked ``petra``: Python and its server take longer to start than a browser."""
    program = tmp_path_factory.mktemp("flows") / "petra"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(forks.SERVER.command())} "$@"\n')
    program.chmod(0o755)
    return program


def run(node: Path, *command: str, **more: str) -> None:
    surroundings = {**build_ui.environment(), "CI": "1", "NO_COLOR": "1", **more}
    with subprocess.Popen(
        [str(node), *command],
        cwd=WEB,
        env=surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            said, _ = process.communicate()
        finally:
            process.kill()
    assert process.returncode == 0, said[-20_000:]


@pytest.mark.slow
@PATIENT
def test_the_sources_are_tidy_and_typed(node: Path) -> None:
    run(node, "node_modules/@biomejs/biome/bin/biome", "ci", "--error-on-warnings", ".")
    run(node, "node_modules/typescript/bin/tsc", "-p", "tsconfig.json")


@pytest.mark.slow
@PATIENT
def test_the_parts_of_the_pages_do_what_they_say(node: Path) -> None:
    run(node, "node_modules/vitest/vitest.mjs", "run")


FLOWS = WEB / "tests/flows"
_FILES = sorted(path.name for path in FLOWS.glob("*.spec.ts"))
SHARES = 5
"""As many as ``make test`` has workers on two cores: of what a file takes, two seconds are its node, browser and server."""


@pytest.mark.slow
@PATIENT
@pytest.mark.parametrize(
    "flows",
    [_FILES[share::SHARES] for share in range(SHARES)],
    ids=lambda files: " ".join(name.removesuffix(".spec.ts") for name in files),
)
def test_the_flows_of_people_in_a_real_browser(
    node: Path, petra_of_flows: Path, flows: list[str]
) -> None:
    if not (build_ui.BUILT / "index.html").exists():
        pytest.skip("the web UI is not built; 'make ui' builds it")
    # those that run at once leave one another's alone
    results = f"--output=test-results/{flows[0]}"
    programs = {"PETRA": str(petra_of_flows), "PETRA_PYTHON": sys.executable}
    run(node, "node_modules/@playwright/test/cli.js", "test", results, *flows, **programs)


TITLE = re.compile(r"^ *test\(\s*['`](\d+ .*?)['`], ", re.MULTILINE)
ROW = re.compile(r"^\| (\d+) \| .* \| (.+) \|$", re.MULTILINE)


def test_every_flow_of_the_table_has_its_tests_and_none_is_left_out() -> None:
    titles = [
        title
        for file in FLOWS.glob("*.spec.ts")
        for title in TITLE.findall(file.read_text("utf-8"))
    ]
    rows = {int(number): told for number, told in ROW.findall((FLOWS / "README.md").read_text())}
    assert list(rows) == list(range(1, 26))
    assert sorted(title for told in rows.values() for title in told.split(" · ")) == sorted(titles)
    for number, told in rows.items():
        assert all(title.startswith(f"{number} ") for title in told.split(" · "))


def test_the_tour_reads_and_is_sound() -> None:
    tour = read_bytes((WEB / "src/features/executions/tour.yaml").read_bytes(), "tour.yaml")
    assert prove(tour).verdict == "sound"


def test_the_stories_that_pages_are_tested_with_are_those_of_the_kernel() -> None:
    assert ui_fixtures.FILE.read_text("utf-8") == ui_fixtures.text(), (
        "run scripts/ui_fixtures.py, and read what changed"
    )


LINES = json.loads((WEB / "tests/fixtures/cli.json").read_text("utf-8"))


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line)[:60])
def test_what_is_copied_as_a_command_line_is_one(line: list[str]) -> None:
    with click.Context(petra, **petra.context_settings) as context:
        name, command, rest = petra.resolve_command(context, list(line))
        assert command is not None
        if isinstance(command, click.Group):
            name, command, rest = command.resolve_command(context, rest)
        assert command is not None
        command.make_context(name, rest, parent=context)


def test_locks_name_no_address() -> None:
    for lock in (WEB / "package-lock.json", WEB / "tools/api-types/package-lock.json"):
        found = json.loads(lock.read_text("utf-8"))["packages"]
        assert "://" not in json.dumps(found), "run 'npm run lock'"
        assert all("integrity" in one for name, one in found.items() if name)


def test_types_of_the_api_are_those_of_its_description() -> None:
    described = json.loads((WEB / "openapi.json").read_text("utf-8"))["paths"]
    types = (WEB / "src/api/schema.d.ts").read_text("utf-8")
    missing = [path for path in described if f'"{path}": {{' not in types]
    assert not missing, "run 'npm run types' in web/tools/api-types"


def test_a_feature_takes_nothing_of_another() -> None:
    folder = WEB / "src/features"
    names = {one.name for one in folder.iterdir()}
    for file in sorted(folder.rglob("*.ts*")):
        own = file.relative_to(folder).parts[0]
        depth = len(file.relative_to(folder).parts) - 1
        for line in file.read_text("utf-8").splitlines():
            for other in names - {own}:
                assert f"'{'../' * depth}{other}/" not in line, f"{file}: {line}"
                assert "@mantine" not in line or own == "shell", f"{file}: {line}"


def test_nothing_of_a_machine_is_in_the_sources() -> None:
    for file in sorted((WEB / "src").rglob("*.ts*")):
        text = file.read_text("utf-8")
        assert os.sep + "work" + os.sep not in text
        code = re.sub(
            r"/\*.*?\*/", "", text, flags=re.DOTALL
        )  # examples of the API are comments of its types
        assert ": any" not in code
        assert "as any" not in code
