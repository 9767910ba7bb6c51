"""Something else answers where a server of Petra is looked for: its address is told, and what to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cli.conftest import Command

from petra.client import ServerError

ELSEWHERE = "https://petra.example/"


class Page(BaseHTTPRequestHandler):
    """Answers whatever is asked with a page of its own, or leads elsewhere."""

    def do_GET(self) -> None:
        away = "away" in self.headers.get("Authorization", "")
        self.send_response(301 if away else 200)
        body = b"" if away else b"<!doctype html><title>Another program</title>"
        if away:
            self.send_header("Location", ELSEWHERE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_DELETE = do_GET  # noqa: N815 - so the names are looked for

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def other() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


VERBS = [("ps",), ("get", "x"), ("task", "list"), ("user", "list"), ("schedule", "list")]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_page_of_another_program_is_no_bug_of_ours(
    command: Command, other: str, verb: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETRA_TOKEN", "petra_x")
    with pytest.raises(ServerError) as told:
        command(*verb, "--server", other)
    assert f"{other} answers with HTTP 200, and not in the words of a Petra server" in str(
        told.value
    )


def test_where_a_server_leads_elsewhere_that_address_is_named(
    command: Command, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETRA_TOKEN", "petra_away")
    with pytest.raises(ServerError, match=f"it leads to {ELSEWHERE}: name that address"):
        command("ps", "--server", other)


def test_a_log_in_there_is_refused_with_its_address(command: Command, other: str) -> None:
    with pytest.raises(ServerError, match="not in the words of a Petra server"):
        command("login", other, "--user", "ann", typed="word\n")


def test_a_doctor_says_that_it_is_no_server_of_petra(
    command: Command, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETRA_TOKEN", "petra_x")
    told = command("doctor", "--server", other)
    assert told.exit_code == 1
    assert "not in the words of a Petra server; check the address" in told.output


def test_a_hint_that_only_points_at_what_stands_before_it_is_left_out() -> None:
    error = ServerError("invalid-input", "no name", hint="'detail' says where, what and the limit")
    assert (str(error), error.hint) == ("no name", "'detail' says where, what and the limit")
    assert (
        str(ServerError("taken", "it is there", hint="another name")) == "it is there; another name"
    )
