"""The verbs of the command line, on a folder and on a server: what they say is the same."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from server.conftest import Served
from server.newcomers import acting_as, user

from petra.cli import petra
from petra.errors import PetraError

pytestmark = pytest.mark.slow

SPACE = "verbs"
HELLO = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: hello, path: verbs/hello}
workload: {who: world}
workflow:
  - step: greet
    tool: {kind: python, args: {who: '{{ workload.who }}'}, code: 'print("hi", who); result = {"text": "hello " + who}'}
    set: {ctx.text: '{{ outcome.result.text }}'}
    next: {arcs: [{step: ask}]}
  - step: ask
    tool: {kind: human, title: 'Fine?', actions: [approve, reject]}
    next: {arcs: [{step: go}]}
  - step: go
    tool: {kind: wait, signal: go}
"""
LARGE = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: large, path: verbs/large}
workflow:
  - step: make
    tool: {kind: python, code: 'result = {"rows": ["x" * 1000] * 2000}'}
"""
BROKEN = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: broken, path: verbs/broken}
workflow:
  - step: fall
    tool: {kind: python, code: 'result = 1 / 0'}
"""


@dataclass
class Shell:
    """Runs verbs, and remembers what they said without what is never the same twice."""

    folder: Path
    environment: dict[str, str | None]
    said: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def __call__(self, *words: str) -> str:
        environment = {
            "NO_COLOR": "1",
            "PETRA_SERVER": None,
            "PETRA_TOKEN": None,
            **self.environment,
        }
        with contextlib.chdir(self.folder):
            done = CliRunner().invoke(petra, words, env=environment)
        told, code = done.output, done.exit_code
        if isinstance(done.exception, PetraError):
            told += f"error: {done.exception}\n"
        elif done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        shown = " ".join(self.plain(word) for word in words)
        self.said.append(f"$ petra {shown}\n{printed_last(self.plain(told))}exit {code}")
        return done.stdout

    def json(self, *words: str) -> Any:
        said = self(*words, "-o", "json")
        assert said, self.said[-1]
        return json.loads(said)

    def plain(self, text: str) -> str:
        text = re.sub(r"\b[0-9a-f]{12}-[0-9a-f]{12}\b", self._named, text)
        text = re.sub(r"\b[0-9a-f]{12}-[0-9a-f]{7}\b", "BEGINNING", text)
        text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)
        text = re.sub(r",\d+\.\d{3},\d+\.\d{3},", ",S,S,", text)
        text = text.replace(f'"namespace": "{SPACE}"', '"namespace": "default"')
        text = re.sub(r'"(id|run|token|entry|item)": "[0-9a-f]{16,40}"', r'"\1": "ID"', text)
        text = re.sub(r"\b[0-9a-f]{16,40}\b", "ID", text)
        text = re.sub(r"\d\d:\d\d:\d\d(\.\d+)?", "TIME", text)
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", text)
        text = re.sub(r"\b\d{10}\.\d+", "NOW", text)
        return re.sub(r" +\d+(\.\d+)? ?(ms|s)\b", " TOOK", text)

    def _named(self, found: re.Match[str]) -> str:
        return self.names.setdefault(found[0], f"E{len(self.names) + 1}")


def printed_last(told: str) -> str:
    """Return what was said with what tasks printed behind the rest: it is told beside what happens, sooner or later."""
    return "".join(sorted(told.splitlines(keepends=True), key=lambda line: line.startswith("  │ ")))


def go_through(do: Shell) -> None:
    """Do with Petra what people do, one verb after the other."""
    first = do.json("run", "hello.yaml", "--set", "who=Ada", "--label", "team=blue")["id"]
    do("ps")
    do("ps", "--label", "team=blue", "-o", "json")
    do("ps", "--status", "failed")
    do("ps", "--limit", "1")
    do("get", first[:20])
    do("get", first, "-o", "json")
    do("events", first)
    do("logs", first)
    do("logs", first, "--step", "greet", "-o", "json")
    do("explain", first)
    do("explain", first, "-o", "json")
    do("task", "list")
    do("task", "list", "--as", "grace")
    do("task", "list", "--as", "grace", "--role", "finance", "--limit", "1")
    do("task", "list", "--playbook", "verbs/hello", "--due", "none", "--sort", "newest")
    do("task", "list", "--playbook", "verbs/other")
    do("task", "list", "--due", "overdue")
    do("task", "get", f"{first}/ask")
    do("task", "claim", f"{first}/ask")
    do("task", "comment", f"{first}/ask", "--reason", "well")
    do("task", "complete", f"{first}/ask", "approve")
    do("task", "complete", f"{first}/ask", "approve")
    do("pause", first)
    do("patch", first, "text=other", "--reason", "why not")
    do("resume", first)
    do("signal", first, "come")
    do("signal", first, "go", "--payload", '{"n": 1}')
    do("result", first)
    do("result", first, "--step", "greet")
    do("result", first, "--ctx", "text")
    do("verify", first)
    do("verify", first, "--net", "--redecide")
    do("replay", first, "--to", "3")
    do("export", first, "--format", "csv")
    do("watch", first)
    again = do.json("rerun", first, "--from", "ask")["id"]
    do("diff", first, again)
    do("get", first)
    do("cancel", again, "--reason", "enough")
    do("run", "broken.yaml")
    and_afterwards(do, first, again)


def and_afterwards(do: Shell, first: str, again: str) -> None:
    """Go on with what was run."""
    large = do.json("run", "large.yaml")["id"]
    do("get", large)
    do("result", large)
    do("verify", large)
    do("verify", large, "--redecide", "-o", "json")
    do("apply", "hello.yaml", "large.yaml")
    do("apply", "hello.yaml", "-o", "json")
    do("playbooks")
    do("playbooks", "verbs/hello")
    do("playbooks", "verbs/none")
    do("playbooks", "verbs/hello", "-o", "yaml")
    do("playbooks", "verbs/none", "-o", "yaml")
    do("start", "verbs/large", "-o", "json")
    do("start", "verbs/hello", "--set", "whom=typo")
    do("ps", "--limit", "1")
    do("verify")
    do("verify", "--net", "--redecide")
    branch = do.json("fork", first, "--at", "3")["id"]
    do("migrate-execution", branch, "--to", "verbs/hello", "--plan")
    do("override", branch, "ask", "--ok", "null", "--reason", "late")
    do("get", "none")
    do("signal", "none", "go")
    do("prune", "--older", "1d", "--dry-run")
    do("prune", "--older", "0s", "--status", "failed", "--dry-run", "-o", "json")
    do("prune", "--older", "0s", "--status", "failed")
    do("rm", first, again)
    do("ps", "--playbook", "broken")
    assert do("ps", "--playbook", "verbs/large").strip()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    for name, text in (("hello", HELLO), ("large", LARGE), ("broken", BROKEN)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return Shell(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path)})


def test_verbs_say_the_same_on_a_folder_and_on_a_server(shell: Shell, server: Served) -> None:
    there = Shell(
        shell.folder, {**shell.environment, "PETRA_SERVER": server.url, "PETRA_TOKEN": server.said["token"]}
    )  # fmt: skip
    with server.client() as api:
        assert api.post("/namespaces", json={"name": SPACE}).status_code == 201
    there.environment["PETRA_NAMESPACE"] = SPACE  # so that nothing of other tests is listed
    go_through(there)
    assert not (shell.folder / ".petra").exists()
    go_through(shell)
    differ = [(here, far) for here, far in zip(shell.said, there.said, strict=True) if here != far]
    assert differ == []


def test_a_user_acts_under_their_own_name(shell: Shell, server: Served) -> None:
    shell.environment["PETRA_SERVER"] = server.url
    with server.client() as api:
        name = user(api, "operator@default", "approver@default")
        with acting_as(server, api, name) as own:
            shell.environment["PETRA_TOKEN"] = own.headers["authorization"].removeprefix("Bearer ")
    first = shell.json("run", "hello.yaml")["id"]
    shell("task", "complete", f"{first}/ask", "approve", "--as", "somebody")
    assert "may not act as somebody else" in shell.said[-1]
    shell("task", "complete", f"{first}/ask", "approve")
    assert shell.json("get", first)["ctx"] == {"text": "hello world"}
    events = shell.json("events", first)
    assert {one["event"].get("actor") for one in events} - {None, ""} == {name}
    shell("apply", "hello.yaml")
    assert "may not apply playbooks" in shell.said[-1]
    shell("rm", first, "--force")
    assert "may not act as an administrator" in shell.said[-1]


def test_a_server_without_a_token_says_how_to_get_one(shell: Shell, server: Served) -> None:
    shell("ps", "--server", server.url)
    assert f"'petra login {server.url}', or set PETRA_TOKEN" in shell.said[-1]
    shell("ps", "--home", str(server.home), "--server", server.url)  # its owner's token lies there
    assert shell.said[-1].endswith("exit 0")
    shell("ps", "--namespace", "acme")
    assert "--namespace goes with --server" in shell.said[-1]
    shell.environment["PETRA_TOKEN"] = server.said["token"]
    shell("ps", "--server", "http://127.0.0.1:9")
    assert "does not answer" in shell.said[-1]
