"""Seeing a server run: what 'petra doctor' says, logs as JSON, numbers for Prometheus."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from server.books import ADDS
from server.conftest import Served, get, serve
from server.test_executions import started
from support import forks

from petra.server.json_logs import REQUEST, JsonLines


def doctor(*more: str, env: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    environment = {**os.environ, **(env or {})}
    done = forks.PETRA.run(Path.cwd(), "doctor", "-o", "json", *more, environment=environment)
    return done.returncode, json.loads(done.stdout)


def states(found: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["state"] for one in found["checks"]}


def test_a_server_is_well_and_its_doctor_says_so(server: Served) -> None:
    code, found = doctor("--server", server.url, env={"PETRA_TOKEN": server.said["token"]})
    assert code == 0, found
    assert found["ok"]
    assert {"versions", "server", "clock", "version", "workers"} <= states(found).keys()
    assert set(states(found).values()) == {"ok"}


@pytest.mark.slow
def test_a_home_that_others_can_read_is_wrong_and_the_move_is_said(tmp_path: Path) -> None:
    home = tmp_path / ".petra"
    with serve(home) as served:
        with served.client() as api:
            started(api, ADDS)
        served.end()
    code, found = doctor("--home", str(home))
    assert code == 0, found
    home.chmod(0o755)
    code, found = doctor("--home", str(home))
    assert code == 1
    (wrong,) = [one for one in found["checks"] if one["state"] == "wrong"]
    assert (wrong["name"], wrong["do"]) == ("permissions", f"chmod go= {home}")


def test_a_home_that_is_not_there_and_a_bad_certificate_are_told(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("nothing")
    code, found = doctor("--home", str(tmp_path / "none"), "--tls-cert", str(tmp_path / "cert.pem"))
    assert code == 1
    assert (states(found)["home"], states(found)["certificate"]) == ("wrong", "wrong")
    assert all(one["do"] for one in found["checks"] if one["state"] == "wrong")


def line(message: str, *args: object, **extra: object) -> dict[str, Any]:
    record = logging.LogRecord("petra.x", logging.WARNING, "x.py", 1, message, args, None)
    for name, value in extra.items():
        setattr(record, name, value)
    found: dict[str, Any] = json.loads(JsonLines().format(record))
    return found


def test_a_line_of_a_log_has_its_request_and_its_execution() -> None:
    token = REQUEST.set("r-1")
    try:
        said = line("execution %s: its snapshot is of something else", "e-1")
    finally:
        REQUEST.reset(token)
    assert (said["level"], said["request_id"], said["execution"]) == ("warning", "r-1", "e-1")
    assert said["message"] == "execution e-1: its snapshot is of something else"
    assert "request_id" not in line("nothing")
    assert line("a\nb")["message"] == "a\nb"  # still one line


@pytest.mark.slow
def test_a_server_that_is_not_on_a_terminal_logs_json(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as err, serve(tmp_path / ".petra", stderr=err) as served:
        with served.client() as api:
            api.get("/me", headers={"X-Request-Id": "mine"})
        served.end()
    lines = [json.loads(one) for one in log.read_text().splitlines()]
    (mine,) = [one for one in lines if one.get("request_id") == "mine"]
    assert (mine["logger"], mine["message"]) == ("petra.access", "GET /api/v1/me 200")
    assert served.said["token"] not in log.read_text()


def test_the_numbers_are_of_a_type_that_prometheus_reads(server: Served) -> None:
    told = get(f"{server.url}/metrics").headers["content-type"]
    assert told == "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.parametrize(
    "name",
    [
        "petra_decide_seconds", "petra_commit_seconds", "petra_batch_changes", "petra_wake_lag_seconds",
        "petra_leases_lost_total", "petra_redeliveries_total", "petra_pool_waiting", "petra_http_request_seconds",
        "petra_executions", "petra_streams", "petra_notifications", "petra_notification_tries_total",
        "petra_limit_used", "petra_limit_waiting", "petra_trigger_events_total", "petra_store_up",
    ],
)  # fmt: skip
def test_every_number_that_is_promised_is_there(server: Served, name: str) -> None:
    text = get(f"{server.url}/metrics").text
    assert f"# TYPE {name} " in text
