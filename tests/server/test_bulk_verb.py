"""``petra bulk`` and ``petra group``: many executions at once, and a live group, from the command line."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result
from server.books import ADDS, WAITS, book
from server.conftest import Served
from server.test_executions import started

from petra.cli import petra

ASKS_MANY = book(
    "  - step: spread\n"
    "    tool: {kind: noop}\n"
    "    next: {arcs: [{step: ask, foreach: '{{ [1, 2] }}'}]}\n"
    "  - {step: ask, tool: {kind: wait, signal: go}, next: {arcs: [{step: all}]}}\n"
    "  - {step: all, spec: {join: {}}, tool: {kind: noop}}\n",
    name="asks_many",
)


@pytest.fixture
def do(server: Served) -> Any:
    def run(*words: str, answer: str = "") -> Result:
        environment = {"PETRA_SERVER": server.url, "PETRA_TOKEN": server.said["token"]}
        return CliRunner().invoke(petra, words, env=environment, input=answer)

    return run


def marked(api: httpx2.Client, number: int) -> tuple[str, list[str]]:
    mark = secrets.token_hex(6)
    ids = [started(api, WAITS, labels={"mark": mark})["id"] for _ in range(number)]
    return f"mark={mark}", ids


def statuses(api: httpx2.Client, ids: list[str]) -> set[str]:
    return {api.get(f"/executions/{one}").json()["status"] for one in ids}


@pytest.mark.slow
def test_many_are_counted_asked_about_and_cancelled(api: httpx2.Client, do: Any) -> None:
    label, ids = marked(api, 3)
    counted = do("bulk", "cancel", "--label", label, "--dry-run")
    assert (counted.exit_code, counted.output) == (0, "3 executions to cancel\n")
    refused = do("bulk", "cancel", "--label", label, answer="n\n")
    assert refused.exit_code != 0
    assert statuses(api, ids) == {"waiting"}
    done = do("bulk", "cancel", "--label", label, "--reason", "too many", "--yes")
    assert (done.exit_code, done.output) == (0, "cancel: 3 done, 0 failed\n")
    assert statuses(api, ids) == {"aborted"}


def test_those_for_which_it_failed_are_named(api: httpx2.Client, do: Any) -> None:
    over = started(api, ADDS)["id"]
    _, (waiting,) = marked(api, 1)
    done = do("bulk", "pause", over, waiting, "--yes", "-o", "json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["done"], told["failed"]) == (1, 1, 1)
    assert [one["id"] for one in told["failures"]] == [over]
    assert over in do("bulk", "pause", over, "--yes").output


def test_nobody_acts_on_everything_by_leaving_all_out(do: Any, tmp_path: Path) -> None:
    for words in ([], ["one", "--status", "waiting"]):
        wrong = do("bulk", "cancel", *words, "--yes")
        assert wrong.exit_code == 2
        assert "not both" in wrong.output
    alone = CliRunner().invoke(petra, ["bulk", "cancel", "x", "--home", str(tmp_path)])
    assert "no server runs in" in str(alone.exception)


@pytest.mark.spec("S8")
def test_a_live_group_is_added_to_and_completed(api: httpx2.Client, do: Any) -> None:
    execution = started(api, ASKS_MANY)["id"]
    added = do("group", execution, "spread", "add", "--item", "3")
    assert added.exit_code == 0, added.output
    runs = api.get(f"/executions/{execution}/runs", params={"step": "ask"}).json()["items"]
    assert len(runs) == 3
    assert do("group", execution, "spread", "complete").exit_code == 0
    assert api.get(f"/executions/{execution}").json()["status"] == "completed"


def test_what_is_added_to_a_group_is_said(do: Any) -> None:
    for words in (["add"], ["close", "--item", "1"]):
        assert "--item goes with 'add'" in str(do("group", "x", "g", *words).exception)


@pytest.mark.parametrize("told", ["by its variable", "by its option"])
def test_many_are_those_of_the_namespace_that_was_said(
    server: Served, api: httpx2.Client, told: str
) -> None:
    space = f"space-{secrets.token_hex(4)}"
    assert api.post("/namespaces", json={"name": space}).status_code == 201
    body = {"playbook": {"text": WAITS}, "labels": {"of": space}}
    here, there = (
        api.post("/executions", json={**body, "namespace": one}).json()["id"]
        for one in ("default", space)
    )
    environment = {"PETRA_SERVER": server.url, "PETRA_TOKEN": server.said["token"]}
    words = ["bulk", "cancel", "--label", f"of={space}", "--yes"]
    if told == "by its variable":
        environment["PETRA_NAMESPACE"] = space
    else:
        words += ["--namespace", space]
    done = CliRunner().invoke(petra, words, env=environment)
    assert (done.exit_code, done.output) == (0, "cancel: 1 done, 0 failed\n")
    assert statuses(api, [there]) == {"aborted"}
    assert statuses(api, [here]) <= {"waiting", "running"}


def test_what_is_pruned_of_a_path_is_of_no_other_one_with_the_same_name(
    api: httpx2.Client, do: Any
) -> None:
    name, ids = f"shared{secrets.token_hex(4)}", {}
    for path in (f"{name}/here", f"{name}/there"):
        text = ADDS.replace("metadata: {name: adds}", f"metadata: {{name: {name}, path: {path}}}")
        assert api.post("/playbooks", json={"text": text}).status_code == 201
        ended = api.post("/executions", json={"playbook": path}, headers={"Prefer": "wait=60"})
        ids[path] = ended.json()["id"]
    done = do("prune", "--older", "0s", "--playbook", f"{name}/here", "-o", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["removed"] == [ids[f"{name}/here"]]
    assert api.get(f"/executions/{ids[f'{name}/there']}").status_code == 200
