"""``petra start``: a playbook that is applied, by its path."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from petra.errors import PetraError, UsageError

Command = Callable[..., Result]
pytestmark = pytest.mark.spec("S16")

BILL = """apiVersion: petra/v1
kind: Playbook
metadata: {name: bill, path: shop/bill, version: %s}
workload: {amount: 1}
executor: {spec: {output: "{{ workload.amount + %s }}"}}
workflow:
  - {step: a, tool: {kind: noop}}
"""
CALLS = """apiVersion: petra/v1
kind: Playbook
metadata: {name: shop}
workflow:
  - {step: child, tool: {kind: playbook, path: shop/bill, args: {amount: 5}}}
"""


@pytest.fixture(name="shop")
def applied(command: Command) -> Command:
    """Apply two versions of a playbook and one that calls it, and take the files away."""
    Path("shop.yaml").write_text(CALLS)
    for version in (1, 2):
        Path("bill.yaml").write_text(BILL % (version, version * 10))
        assert command("apply", "bill.yaml").exit_code == 0
    assert command("apply", "shop.yaml").exit_code == 0
    for file in Path().glob("*.yaml"):
        file.unlink()
    return command


def output(done: Result) -> object:
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["output"]


@pytest.mark.slow
def test_the_current_version_is_started_by_path_or_name_without_any_file(shop: Command) -> None:
    assert output(shop("start", "shop/bill", "-o", "json")) == 21
    assert output(shop("start", "bill", "--set", "amount=3", "-o", "json")) == 23
    assert output(shop("start", "shop", "-o", "json")) == 25


def test_an_older_version_is_started_when_it_is_named(shop: Command) -> None:
    assert output(shop("start", "shop/bill", "--version", "1", "-o", "json")) == 11


@pytest.mark.slow
def test_it_is_listed_labelled_and_left_alone_as_with_run(shop: Command) -> None:
    done = shop("start", "shop/bill", "--detach", "--label", "team=a", "-o", "json")
    assert done.exit_code == 0, done.output
    started = json.loads(done.stdout)
    listed = json.loads(shop("ps", "--label", "team=a", "-o", "json").stdout)
    assert [one["id"] for one in listed] == [started["id"]]
    assert shop("watch", started["id"]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shop/bil"], "no playbook is applied as 'shop/bil'; did you mean 'shop/bill'?"),
        (["nothing"], "no playbook is applied as 'nothing'; 'petra apply FILE' does it"),
        (["shop/bill", "--version", "3"], "'shop/bill' has no version '3' here; there is '2', '1'"),
    ],
)
def test_what_is_not_applied_is_told_with_what_is(shop: Command, arguments: list[str], words: str) -> None:  # fmt: skip
    with pytest.raises(UsageError) as caught:
        shop("start", *arguments)
    assert str(caught.value) == words


def test_a_file_is_run_and_not_started(command: Command) -> None:
    Path("bill.yaml").write_text(BILL % (1, 1))
    with pytest.raises(UsageError, match=r"'petra run bill\.yaml' starts it"):
        command("start", "bill.yaml")


def test_a_server_that_does_not_answer_is_no_playbook_that_is_missing(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETRA_TOKEN", "petra_x")
    with pytest.raises(UsageError, match=r"does not answer: .*; is 'petra serve' running there"):
        command("start", "shop", "--server", "http://127.0.0.1:1")


def test_a_home_that_cannot_be_read_is_no_playbook_that_is_missing(command: Command) -> None:
    Path(".petra").mkdir(mode=0o700)
    Path(".petra/petra.db").write_text("this is no database " * 100)
    with pytest.raises(PetraError) as told:
        command("start", "shop")
    assert "no playbook is applied" not in str(told.value)
