"""``petra user|token|audit|login|logout``: the same on a folder that nobody serves and at a server."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from server.conftest import get, serve
from support import forks

pytestmark = pytest.mark.slow
WORD = "correct horse battery"


class Shell:
    """Runs verbs in a folder of its own, with a home directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / ".petra"

    def __call__(self, *words: str, given: str = "", code: int = 0, **env: str) -> str:
        place = [] if words[0] in ("login", "logout") else ["--home", str(self.home)]
        environment = {**os.environ, "XDG_CONFIG_HOME": str(self.folder / "config"), **env}
        done = forks.PETRA.run(self.folder, *words, *place, typed=given, environment=environment)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def json(self, *words: str, **more: Any) -> Any:
        return json.loads(self(*words, "-o", "json", **more))


def test_users_and_tokens_are_made_before_a_server_runs_and_while_it_does(tmp_path: Path) -> None:
    petra = Shell(tmp_path)
    made = petra.json("user", "add", "ann", "--role", "operator@default", given=f"{WORD}\n")
    assert (made["name"], made["roles"]) == ("ann", ["operator@default"])
    early = petra.json("token", "create", "--user", "ann", "--expires", "30d")
    assert {"id", "token"} <= set(early)
    assert "already" in petra("user", "add", "ann", given=f"{WORD}\n", code=1)
    with serve(petra.home) as served:

        def status(token: str) -> int:
            headers = {"Authorization": f"Bearer {token}"}
            return get(f"{served.url}/api/v1/executions", headers=headers).status_code

        assert status(early["token"]) == 200
        petra("token", "revoke", early["id"])
        assert status(early["token"]) == 401
        petra("user", "add", "robot", "--service", "--role", "viewer")
        late = petra.json("token", "create", "--user", "robot")
        assert status(late["token"]) == 200
        petra("user", "change", "robot", "--disable")
        assert status(late["token"]) == 401
        assert [one["name"] for one in petra.json("user", "list")] == ["ann", "robot"]
        assert late["token"] not in petra("token", "list")
    acts = [one["act"] for one in petra.json("audit", "list")]
    assert acts[-2:] == ["petra token create ann", "petra user add ann"]  # the newest first
    assert "POST /users" in acts
    assert petra.json("audit", "verify")["ok"]
    assert WORD not in "".join(acts)


def test_a_log_in_is_kept_for_its_user_alone_and_ends_with_a_log_out(tmp_path: Path) -> None:
    petra, elsewhere = Shell(tmp_path), Shell(tmp_path / "elsewhere")
    elsewhere.folder.mkdir()
    petra("user", "add", "chief", "--role", "admin@*", given=f"{WORD}\n")
    with serve(petra.home) as served:
        at = ("--server", served.url)
        assert "petra login" in elsewhere("user", "list", *at, code=1)
        wrong = elsewhere("login", served.url, "--user", "chief", given="wrong word\n", code=1)
        assert "not right" in wrong
        assert "gives a new password" in wrong
        assert "owner-token" not in wrong, "who logs in has no token to send"
        said = elsewhere("login", served.url, "--user", "chief", given=f"{WORD}\n")
        assert "30 days" in said
        (kept,) = (elsewhere.folder / "config").rglob("login.json")
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert [one["name"] for one in elsewhere.json("user", "list", *at)] == ["chief"]
        assert elsewhere.json("audit", "verify", *at)["ok"]
        token = json.loads(kept.read_text())["token"]
        assert "no token" in elsewhere("user", "list", "--server", "http://127.0.0.1:1", code=1)
        elsewhere("logout")
        assert not kept.exists()
        headers = {"Authorization": f"Bearer {token}"}
        assert get(f"{served.url}/api/v1/me", headers=headers).status_code == 401


def test_a_token_that_was_given_is_kept_and_forgotten_and_stays_good(tmp_path: Path) -> None:
    elsewhere = Shell(tmp_path / "elsewhere")
    elsewhere.folder.mkdir()
    with serve(tmp_path / ".petra") as served:
        how = ("login", served.url, "--token-file", "-")
        assert "not known" in elsewhere(*how, given="petra_none\n", code=1)
        for nothing in ("\n", "two words\n", "tokën\n"):
            assert "no token" in elsewhere(*how, given=nothing, code=1)
        assert "logged in" in elsewhere(*how, given=f"{served.said['token']}\n")
        (kept,) = (elsewhere.folder / "config").rglob("login.json")
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert elsewhere.json("ps", "--server", served.url) == []
        elsewhere("logout")
        assert not kept.exists()
        headers = {"Authorization": f"Bearer {served.said['token']}"}
        assert get(f"{served.url}/api/v1/me", headers=headers).status_code == 200


def test_the_commands_of_the_how_to_run_as_written(root: Path, tmp_path: Path) -> None:
    page = (root / "docs/how-to/users-and-roles.md").read_text()
    petra = Shell(tmp_path)
    commands = re.findall(r"^\$ petra (.*)$", page, re.MULTILINE)
    assert len(commands) > 5
    for command in commands:
        words = command.partition("#")[0].split()
        if words[0] in ("login", "logout", "serve"):
            continue
        words = [petra.json("token", "list")[-1]["id"] if word == "ID" else word for word in words]
        petra(*words, given=f"{WORD}\n")


def test_lists_stand_in_columns_and_empty_ones_say_what_begins_them(tmp_path: Path) -> None:
    petra = Shell(tmp_path)
    assert "petra user add NAME" in petra("user", "list")
    assert "petra token create" in petra("token", "list")
    petra("user", "add", "al", "--service", "--role", "viewer")
    petra("user", "add", "bartholomew", "--service", "--role", "operator")
    rows = petra("user", "list").splitlines()
    assert [row.index("service") for row in rows] == [13, 13]


def test_a_change_of_nothing_is_refused(tmp_path: Path) -> None:
    petra = Shell(tmp_path)
    petra("user", "add", "al", "--service", "--role", "viewer")
    assert "say what to change" in petra("user", "change", "al", code=2)
