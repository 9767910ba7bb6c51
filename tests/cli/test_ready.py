"""What ``petra run`` says about a playbook before it starts it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Command = Callable[..., Result]
pytestmark = pytest.mark.spec("S19", "S1")

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: x}\nworkflow:\n"
# one branch leaves the fan-out for good, whatever the guards say
UNSOUND = """\
  - {step: out, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
  - {step: a, next: {arcs: [{step: meet}]}}
  - {step: b, tool: {kind: noop}}
  - {step: meet, spec: {join: {mode: all}}, tool: {kind: noop}}
"""
WARNED = """\
  - {step: a, tool: {kind: noop}, next: {arcs: [{step: b, when: "{{ workload.x | default(false) }}"}]}}
  - {step: b, tool: {kind: noop}}
"""


def started(command: Command) -> int:
    if not Path(".petra").exists():
        return 0
    return len(json.loads(command("ps", "-o", "json").stdout))


def test_run_refuses_a_net_with_an_error_and_says_how_to_pass_over_it(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.yaml").write_text(HEAD + UNSOUND)
    refused = command("run", "x.yaml")
    assert refused.exit_code == 1
    assert "[P301]" in refused.stdout
    assert "--allow-unsound" in refused.stderr
    assert started(command) == 0


@pytest.mark.slow
def test_allow_unsound_passes_over_errors_of_the_net_and_tells_them(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.yaml").write_text(HEAD + UNSOUND)
    ran = command("run", "x.yaml", "--allow-unsound")
    assert "[P301]" in ran.stderr
    assert started(command) == 1


def test_allow_unsound_passes_over_no_other_error(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(HEAD + "  - {step: a, next: {arcs: [{step: nowhere}]}}\n")
    refused = command("run", "x.yaml", "--allow-unsound")
    assert (refused.exit_code, "[P104]" in refused.stdout) == (1, True)
    assert started(command) == 0


def test_run_shows_warnings_before_it_starts(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(HEAD + WARNED)
    ran = command("run", "x.yaml", "-o", "json")
    assert "x.yaml:5:" in ran.stderr
    assert "[P202]" in ran.stderr
    assert json.loads(ran.stdout)["status"] == "completed"


CROSSED = """\
  - {step: out, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
  - step: a
    spec: {policy: {admit: {rules: [{when: "{{ done('b') }}", then: {allow: true}}]}}}
    tool: {kind: noop}
  - step: b
    spec: {policy: {admit: {rules: [{when: "{{ done('a') }}", then: {allow: true}}]}}}
    tool: {kind: noop}
"""


def test_gates_that_may_wait_for_each_other_are_not_called_proved_sound(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.yaml").write_text(HEAD + CROSSED)
    (tmp_path / "y.yaml").write_text(HEAD + "  - {step: a, tool: {kind: noop}}\n")
    assert "sound if guards allow" in command("check", "x.yaml").output
    assert "proved sound" in command("check", "y.yaml").output


SECRET = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: x}
keychain: [{name: k, kind: credential, credential: shop}]
workflow:
  - {step: a, tool: {kind: python, code: "result = 1"}, next: {arcs: [{step: b}]}}
  - {step: b, tool: {kind: python, args: {n: "{{ keychain.k }}"}, code: "result = 2"}}
"""


@pytest.mark.slow
@pytest.mark.spec("S20")
def test_run_starts_nothing_without_its_secrets_and_says_what_to_do(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.yaml").write_text(SECRET)
    refused = command("run", "x.yaml")
    assert refused.exit_code == 1
    assert (
        "keychain 'k': no credential 'shop'; 'petra secret set shop' stores one" in refused.stdout
    )
    assert "running" not in refused.stdout
    assert started(command) == 0
    found = json.loads(command("run", "x.yaml", "-o", "json").stdout)
    assert (found["status"], "'shop'" in found["error"]["message"]) == ("refused", True)
    command("secret", "set", "shop", typed="s3cret\n")
    assert command("run", "x.yaml").exit_code == 0


@pytest.mark.slow
def test_what_the_proof_leaves_open_is_said_and_the_run_goes_on(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("petra.net.proof.prove.__defaults__", (1, None))
    (tmp_path / "x.yaml").write_text(HEAD + WARNED)
    ran = command("run", "x.yaml")
    assert "no violation up to 1 markings; the rest is open" in ran.stderr
    assert ran.exit_code == 0
