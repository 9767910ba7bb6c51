"""petra.toml: what holds in a folder, below the environment and options; nothing in it is passed over in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from petra.cli import settings
from petra.cli.calling import token_for
from petra.errors import UsageError

Command = Callable[..., Result]
PLAYBOOK = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\nworkflow: [{step: a, tool: {kind: noop}}]\n"
URL = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in settings.DEFAULTS:
        monkeypatch.delenv(settings.variable_of(name), raising=False)
    yield
    settings.let_go()


def say(text: str) -> None:
    Path("petra.toml").write_text(text, "utf-8")


def told(command: Command, *more: str) -> dict[str, tuple[str, str]]:
    rows = json.loads(command("config", "-o", "json", *more).stdout)
    return {row["name"]: (row["value"], row["origin"]) for row in rows}


def test_a_default_gives_way_to_the_file_that_to_a_variable_and_that_to_an_option(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("p.yaml").write_text(PLAYBOOK, "utf-8")

    def homes() -> set[str]:
        return {path.parent.name for path in Path().glob("*/petra.db")}

    assert command("run", "p.yaml").exit_code == 0
    say('home = "file"')
    assert told(command)["home"] == ("file", "petra.toml")
    assert command("run", "p.yaml").exit_code == 0
    assert homes() == {".petra", "file"}
    monkeypatch.setenv("PETRA_HOME", "variable")
    assert told(command)["home"] == ("variable", "PETRA_HOME")
    assert command("run", "p.yaml").exit_code == 0
    assert command("run", "p.yaml", "--home", "option").exit_code == 0
    assert homes() == {".petra", "file", "variable", "option"}


def test_a_table_has_the_options_of_a_verb_as_they_are_typed(command: Command) -> None:
    Path("p.yaml").write_text(PLAYBOOK, "utf-8")
    say('[ps]\noutput = "json"\n[db.stats]\noutput = "json"\n[run]\nallow-unsound = true\n')
    assert command("run", "p.yaml").exit_code == 0
    assert json.loads(command("ps").stdout)[0]["playbook"] == "p"
    assert command("ps", "-o", "text").stdout.split()[2] == "p"
    assert isinstance(json.loads(command("db", "stats").stdout), dict)


def test_where_each_value_is_from_is_said_and_no_password(command: Command) -> None:
    say(
        'store = "postgresql://ada:secret@127.0.0.1/x"\nrefuse-private = true\n[serve]\nport = 8000\n[oidc]\nissuer = "i"\n'
    )
    shown = command("config", "--origin").stdout.splitlines()
    assert [line.split() for line in shown if "petra.toml" in line] == [
        ["store", "postgresql://ada:***@127.0.0.1/x", "petra.toml"],
        ["refuse_private", "1", "petra.toml"],
        ["serve.port", "8000", "petra.toml"],
        ["oidc.issuer", "i", "petra.toml"],
    ]
    assert "petra.toml" not in command("config").stdout
    assert "secret" not in command("config", "-o", "json").stdout


@pytest.mark.parametrize(
    ("text", "verb", "words"),
    [
        ('hom = "x"', "ps", "petra.toml: there is no setting 'hom'; did you mean 'home'?"),
        ("[odic]", "ps", "there is no verb 'odic'; did you mean 'oidc'?"),
        ("[srve]", "ps", "petra.toml: there is no verb 'srve'; did you mean 'serve'?"),
        ("[serve]\nprot = 1", "serve", "petra.toml: [serve] has no 'prot'; did you mean 'port'?"),
        ("[db.stats]\nport = 1", "db", "petra.toml: [db.stats] has no 'port'"),
        ("[serve]\nport = 70000", "serve", "70000 is not in the range 0<=x<=65535. (in petra.toml)"),
        ("x = ]", "ps", "petra.toml cannot be read: Invalid value (at line 1, column 5)"),
        ("x = " + "[" * 100_000, "ps", "petra.toml cannot be read: it is nested too deeply"),
        ('home = "a\\u0000b"', "ps", "petra.toml: 'home' has a character that no variable can have"),
        ('home = ["a"]', "ps", "petra.toml: 'home' is a text, not a list"),
        ('token = "t"', "ps", "'token': a secret does not belong in a file that is shared; set PETRA_TOKEN"),
        ('master-key = "t"', "ps", "set PETRA_MASTER_KEY"),
        ('oidc = "x"', "ps", "petra.toml: there is no setting 'oidc'"),
    ],
)  # fmt: skip
def test_what_nobody_knows_is_refused_with_its_place(
    command: Command, text: str, verb: str, words: str
) -> None:
    say(text)
    answer = command(verb, *(["stats"] if verb == "db" else []))
    assert answer.exit_code == 2
    assert words in " ".join(answer.stderr.split())


def test_a_file_that_is_no_text_is_said_to_be_none(command: Command) -> None:
    Path("petra.toml").write_bytes(b"\xff\xfe")
    assert "petra.toml cannot be read" in command("ps").stderr


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(command: Command) -> None:
    os.mkfifo("petra.toml")
    answer = command("ps")
    assert (answer.exit_code, "petra.toml is no file" in answer.stderr) == (2, True)


@pytest.mark.slow
def test_a_file_of_ten_megabytes_is_read(command: Command) -> None:
    say('home = "file"\n' + "# ten megabytes\n" * 700_000)
    assert told(command)["home"] == ("file", "petra.toml")


def test_another_file_holds_in_place_of_that_of_the_folder_and_not_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    say('home = "file"\nnamespace = "here"')
    Path("other.toml").write_text('namespace = "there"', "utf-8")
    settings.take_up()
    settings.take_up(Path("other.toml"))
    assert "PETRA_HOME" not in os.environ
    assert os.environ["PETRA_NAMESPACE"] == "there"


def test_what_the_file_says_is_over_with_the_verb(command: Command) -> None:
    say('home = "file"\nserver = "http://127.0.0.1:9"')
    command("config")
    assert "PETRA_HOME" not in os.environ
    assert "PETRA_SERVER" not in os.environ


def test_the_page_of_settings_has_each_with_its_variable() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
    rows = [
        line.split("|")[1:3]
        for line in page.read_text("utf-8").splitlines()
        if "PETRA_" in line and line.startswith("|")
    ]
    assert [(name.strip(" `"), variable.strip(" `")) for name, variable in rows] == [
        (name, settings.variable_of(name)) for name in settings.DEFAULTS
    ]


@pytest.mark.spec("S20")
def test_a_token_is_not_sent_to_a_server_that_only_the_file_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file comes with a folder that somebody else may have written; the token is ours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PETRA_TOKEN", "ours")
    say(f'server = "{URL}/"')
    settings.take_up()
    with pytest.raises(UsageError, match="PETRA_TOKEN is not sent to a server that only"):
        token_for(URL, tmp_path)
    assert token_for("http://127.0.0.1:10", tmp_path) == "ours"
    settings.let_go()
    monkeypatch.setenv("PETRA_SERVER", URL)
    settings.take_up()
    assert token_for(URL, tmp_path) == "ours"


@pytest.mark.slow
def test_a_server_and_its_worker_heed_the_file_and_a_named_one_in_its_place(tmp_path: Path) -> None:
    tmp_path.joinpath("petra.toml").write_text('home = "state"\n[serve]\nport = "none"\n', "utf-8")
    other = tmp_path / "other.toml"
    for text, words in (
        ("[serve]\nprefix = 7\ngrace = -1\n", "(in other.toml)"),
        ("[serve]\nprot = 1", "other.toml: [serve] has no 'prot'"),
    ):
        other.write_text(text, "utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "petra", "serve", "--config", "other.toml", "--port", "0"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert words in " ".join(done.stderr.split())
    done = subprocess.run(
        [sys.executable, "-m", "petra", "worker", "--server", URL], cwd=tmp_path, capture_output=True, text=True,
        check=False, env={**os.environ, "PETRA_SERVER": ""},
    )  # fmt: skip
    assert "a worker needs a token" in done.stderr
