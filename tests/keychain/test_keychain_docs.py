"""What the pages about secrets show can be read and run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from petra.keychain import FileCredentials
from petra.playbook import read
from petra.playbook.credentials import CREDENTIAL_KINDS


def test_the_playbook_of_the_how_to_has_no_problems(root: Path) -> None:
    text = (root / "docs/how-to/use-secrets.md").read_text()
    (yaml,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert read(yaml, "how-to.yaml").problems == ()


def test_the_code_of_the_how_to_runs(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(
        r"```python\n(.*?)```", (root / "docs/how-to/use-secrets.md").read_text(), re.DOTALL
    )
    exec(compile(code, "use-secrets.md", "exec"), {})
    assert FileCredentials(Path("secrets/credentials.json")).names() == ["warehouse"]


def test_the_reference_names_every_kind_and_every_setting(root: Path) -> None:
    text = (root / "docs/reference/keychain.md").read_text()
    for kind, settings in CREDENTIAL_KINDS.items():
        (row,) = re.findall(rf"^\| `{kind}` \|(.*)$", text, re.MULTILINE)
        assert all(f"`{setting}`" in row or f"`{setting}`" in text for setting in settings)
