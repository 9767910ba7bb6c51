"""Who asks what an execution has come to gets the data, however large (S18)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from engine_support import playbook

from petra.cli import petra as command
from petra.desk import whole_values as module
from petra.embedded import Home
from petra.playbook import to_yaml
from petra.references import is_reference

pytestmark = [pytest.mark.spec("S18"), pytest.mark.slow]

ROWS = 3_000
BIG = f"""
  - step: make
    tool:
      kind: python
      code: "result = [{{'n': i, 'text': 'x' * 40}} for i in range({ROWS})]"
      spec: {{policy: {{rules: [{{when: "{{{{ outcome.status == 'ok' }}}}", then: {{do: continue, set_ctx: {{rows: "{{{{ outcome.result }}}}"}}}}}}]}}}}
"""
OUTPUT = "{spec: {output: {first: '{{ make[0] }}', all: '{{ make }}'}}}"


def test_a_program_gets_the_data_of_output_and_ctx(tmp_path: Path) -> None:
    async def running() -> None:
        async with Home.open(tmp_path / "home") as petra:
            result = await petra.run(playbook(BIG, executor=OUTPUT), execution="e1")
            assert result.status == "completed"
            assert len(result.output["all"]) == ROWS
            assert result.output["first"] == {"n": 0, "text": "x" * 40}
            assert len(result.ctx["rows"]) == ROWS
            assert (await petra.get("e1")).output == result.output
            entry = await petra.engine.cache.load("e1")
            assert is_reference(entry.state.ctx["rows"]), "the engine keeps the reference"

    asyncio.run(running())


def test_what_is_beyond_the_bound_stays_a_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WHOLE_MAX", 100_000)

    async def running() -> None:
        async with Home.open(tmp_path / "home") as petra:
            result = await petra.run(playbook(BIG), execution="e1")
            assert is_reference(result.output)

    asyncio.run(running())


def test_json_of_the_command_line_holds_the_data(tmp_path: Path) -> None:
    file = tmp_path / "big.yaml"
    file.write_text(to_yaml(playbook(BIG, executor=OUTPUT)), "utf-8")
    home = str(tmp_path / "home")
    run = CliRunner().invoke(command, ["run", str(file), "--home", home, "-o", "json"])
    shown = json.loads(run.stdout)
    assert len(shown["output"]["all"]) == ROWS
    again = CliRunner().invoke(command, ["get", shown["id"], "--home", home, "-o", "json"])
    assert json.loads(again.stdout)["ctx"]["rows"] == shown["ctx"]["rows"]


def test_explain_shows_what_a_gate_reads_of_a_large_value(tmp_path: Path) -> None:
    gated = BIG + (
        "    next: {arcs: [{step: gate}]}\n"
        "  - step: gate\n"
        '    spec: {policy: {admit: {rules: [{when: "{{ make | length > 5000 and ctx.go }}", then: {allow: true}}]}}}\n'
        "    tool: {kind: noop}\n"
    )
    file = tmp_path / "gated.yaml"
    file.write_text(to_yaml(playbook(gated)), "utf-8")
    home = str(tmp_path / "home")
    run = CliRunner().invoke(command, ["run", str(file), "--home", home, "-o", "json"])
    shown = CliRunner().invoke(command, ["explain", json.loads(run.stdout)["id"], "--home", home])
    assert "make | length > 5000 is false" in shown.output, shown.output
