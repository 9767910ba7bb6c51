"""The secret manager of the how-to: 25 lines, found as a plug-in, tried against a server that speaks AWS."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from petra.keychain import Keychain, KeychainError
from petra.keychain.providers import plug_ins
from petra.playbook import read
from petra.playbook.model import Credential

PAGE = "docs/how-to/add-a-secret-manager.md"
HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\n"


def snippet(root: Path, info: str) -> str:
    (found,) = re.findall(rf"```{info}\n(.*?)```", (root / PAGE).read_text(), re.DOTALL)
    return str(found)


@pytest.fixture
def installed(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the module into a folder, and beside it what an installer would write."""
    (tmp_path / "aws_secrets.py").write_text(snippet(root, "python"))
    about = tmp_path / "aws_secrets-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: aws_secrets\nVersion: 1.0\n")
    entry = snippet(root, "toml").replace("[project.entry-points.", "[").replace('"petra', "petra")
    (about / "entry_points.txt").write_text(
        entry.replace('managers"]', "managers]").replace('"', "")
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "aws_secrets", raising=False)
    importlib.invalidate_caches()


def resolve(entries: list[Credential], name: str) -> Any:
    async def resolving() -> Any:
        keychain = Keychain(environ={}, providers=plug_ins())
        try:
            return (await keychain.secrets(entries).get(name)).reveal()
        finally:
            await keychain.close()

    return asyncio.run(resolving())


def test_it_has_25_lines_of_code(root: Path) -> None:
    assert len([line for line in snippet(root, "python").splitlines() if line.strip()]) <= 25


@pytest.mark.slow
@pytest.mark.spec("S20")
@pytest.mark.usefixtures("aws", "installed")
def test_it_reads_what_is_there_and_says_what_is_not(root: Path) -> None:
    import boto3  # type: ignore[import-untyped]  # noqa: PLC0415 - it takes a second

    book = read(HEAD + snippet(root, "yaml") + "workflow: [{step: s, tool: {kind: noop}}]")
    assert book.problems == ()
    (entry,) = book.checked().keychain
    with pytest.raises(KeychainError, match="ResourceNotFoundException") as caught:
        resolve([entry], "db")
    assert caught.value.kind == "not_found"
    client = boto3.client("secretsmanager", region_name="eu-central-1")
    client.create_secret(Name="prod/db", SecretString=json.dumps({"user": "ada", "pw": "s3cret"}))
    assert resolve([entry], "db") == {"user": "ada", "pw": "s3cret"}


@pytest.mark.slow
@pytest.mark.spec("S20")
@pytest.mark.usefixtures("aws", "installed")
def test_a_service_that_does_not_answer_is_an_error_of_kind_connection(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    (entry,) = (
        read(HEAD + snippet(root, "yaml") + "workflow: [{step: s, tool: {kind: noop}}]")
        .checked()
        .keychain
    )
    with pytest.raises(KeychainError) as caught:
        resolve([entry], "db")
    assert caught.value.kind == "connection"
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in str(caught.value)
