"""Credentials are stored sealed, shown nowhere, and reach the worker that needs them (S20)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Command

pytestmark = pytest.mark.spec("S20")

BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: uses}
keychain:
  - {name: api, kind: credential, credential: shop}
workflow:
  - step: a
    tool:
      kind: python
      args: {key: "{{ keychain.api }}"}
      code: "def main(key): return len(key)"
"""


def test_a_credential_is_set_listed_and_forgotten_and_never_shown(
    command: Command, tmp_path: Path
) -> None:
    assert "version 1" in command("secret", "set", "shop", typed="s3cret\n").output
    assert "version 2" in command("secret", "set", "shop", typed="s3cret!\n").output
    assert command("secret", "list").output == "shop\n"
    for path in (tmp_path / ".petra").iterdir():
        assert b"s3cret" not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0
    assert "forgot" in command("secret", "rm", "shop").output
    empty = command("secret", "list")
    assert (empty.stdout, "petra secret set NAME" in empty.stderr) == ("", True)


def test_a_value_must_come_from_somewhere(command: Command) -> None:
    assert command("secret", "set", "shop", typed="").exit_code == 2
    assert command("secret", "set", "shop", "--json", typed="{").exit_code == 2


@pytest.mark.slow
def test_a_stored_credential_reaches_the_worker(command: Command, tmp_path: Path) -> None:
    (tmp_path / "uses.yaml").write_text(BOOK)
    command("secret", "set", "shop", typed="s3cret\n")
    done = command("run", "uses.yaml", "-o", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["output"] == len("s3cret")
