"""The commands that Petra suggests can be sent as they are."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from cli.processes import petra
from click.testing import CliRunner
from texts import workflow

from petra.cli import petra as command
from petra.cli.show import complete_command, signal_command
from petra.desk import Result

ITEM = {
    "id": "abcdef123456", "step": "approve", "title": "Pay?", "state": "offered", "holder": None,
    "users": ["ada", "bob"], "roles": [], "actions": ["approve", "reject"], "excluded": [], "required": [],
}  # fmt: skip


def test_who_is_excluded_is_not_suggested() -> None:
    assert complete_command("x", ITEM).endswith("--as ada")
    assert complete_command("x", ITEM | {"excluded": ["ada"]}).endswith("--as bob")
    assert "--as" not in complete_command("x", ITEM | {"excluded": ["ada", "bob"]})


def test_what_a_form_needs_is_part_of_the_command() -> None:
    suggested = complete_command("x", ITEM | {"data": {"note": "it's…", "amount": 0}})
    words = shlex.split(suggested)
    assert words[-2:] == ["--data", '{"note": "it\'s…", "amount": 0}']


def waiting(signals: list[dict[str, object]]) -> Result:
    return Result("x", "p", "waiting", "signal", None, {}, {}, [], None, signals=signals)


def test_the_signal_that_is_waited_for_is_named() -> None:
    with_key = waiting([{"step": "s", "name": "paid", "key": "A-7"}])
    assert signal_command(with_key) == "petra signal x paid --key A-7"
    assert signal_command(waiting([])) == "petra signal x NAME"


@pytest.mark.slow
@pytest.mark.spec("S15")
def test_a_signal_that_nobody_waits_for_says_who_waits_for_what(tmp_path: Path, root: Path) -> None:
    (tmp_path / "d.yaml").write_text((root / "examples/jobs/delivery.yaml").read_text())
    said = petra(tmp_path, "run", "d.yaml", code=3)
    suggested = said.split("then: ")[1].strip()
    execution = shlex.split(suggested)[2]
    home = ["--home", str(tmp_path / ".petra")]
    wrong = CliRunner().invoke(command, ["signal", execution, "payment", *home])
    assert wrong.exit_code == 0
    assert (
        "nobody waits for 'payment' without a key now; "
        "step 'await_payment' waits for 'payment' with key 'A-7'" in wrong.stderr
    )
    other = CliRunner().invoke(command, ["signal", execution, "payment", "--key", "B-8", *home])
    assert "nobody waits for 'payment' with key 'B-8' now" in other.stderr
    (tmp_path / "paid.json").write_text('{"amount": 1}')
    right = [*shlex.split(suggested)[1:], "--payload", f"@{tmp_path / 'paid.json'}", *home]
    done = CliRunner().invoke(command, right)
    assert "✓ completed" in done.stdout
    assert "nobody waits" not in done.stderr


@pytest.mark.slow
@pytest.mark.spec("S15")
@pytest.mark.parametrize("signal", ["arrived", "{name: arrived, key: 12}"])
def test_a_signal_that_serves_is_not_called_one_that_nobody_waits_for(tmp_path: Path, signal: str) -> None:  # fmt: skip
    text = f"- step: wait\n  tool: {{kind: wait, signal: {signal}}}\n"
    (tmp_path / "p.yaml").write_text(workflow(text))
    petra(tmp_path, "run", "p.yaml", code=3)
    execution = petra(tmp_path, "ps").split()[0]
    home = ["--home", str(tmp_path / ".petra")]
    done = CliRunner().invoke(command, ["signal", execution, "arrived", "--key", "12", *home])
    assert "nobody waits" not in done.stderr
    assert "✓ completed" in done.stdout
