"""What lies under deploy fits what a server says and takes: metrics, options, extras, addresses."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml

from petra.cli.serve import command
from petra.server import metrics

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
NAMES = set(re.findall(r'"(petra_\w+)"', Path(metrics.__file__).read_text())) | {
    f"petra_pool_{word}" for word in ("workers", "slots", "busy", "waiting")
}


def yaml(name: str) -> Any:
    return pyyaml.safe_load((DEPLOY / name).read_text())


def metrics_in(text: str) -> set[str]:
    found = set(re.findall(r"\bpetra_\w+", text))
    return {re.sub(r"_bucket$", "", name) for name in found}


def test_the_dashboard_and_the_alerts_ask_for_metrics_that_there_are() -> None:
    board = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    rules = [rule["expr"] for group in yaml("alerts.yaml")["groups"] for rule in group["rules"]]
    wanted = metrics_in("\n".join(asked + rules))
    assert wanted
    assert wanted - NAMES == set()
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len(set(places)) == len(places)


def test_every_alert_says_what_to_do() -> None:
    for group in yaml("alerts.yaml")["groups"]:
        for rule in group["rules"]:
            assert rule["annotations"]["summary"]
            assert rule["annotations"]["do"]
            assert rule["labels"]["severity"] in ("page", "ticket")


def options() -> set[str]:
    return {name for param in command.params for name in param.opts}


@pytest.mark.parametrize("line", ["unit", "image"])
def test_the_server_is_started_with_options_that_it_has(line: str) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "petra.service")
    docker = (DEPLOY / "Dockerfile").read_text()
    words = (
        shlex.split(unit["Service"]["ExecStart"])
        if line == "unit"
        else json.loads(re.findall(r"^CMD (\[.*\])$", docker, re.MULTILINE)[-1])
    )
    assert "serve" in words
    assert {word for word in words if word.startswith("--")} <= options()
    grace = float(unit["Service"]["TimeoutStopSec"])
    assert grace > 30  # longer than the server takes to end in order


def test_the_image_installs_extras_that_there_are() -> None:
    docker = (DEPLOY / "Dockerfile").read_text()
    extras = re.search(r'"\.\[([\w,]+)\]"', docker)
    assert extras is not None
    project = (ROOT / "pyproject.toml").read_text()
    for extra in extras[1].split(","):
        assert re.search(rf"^{extra} = \[", project, re.MULTILINE), extra
    assert "USER petra" in docker


def test_the_services_refer_to_files_that_are_there() -> None:
    services = yaml("compose.yaml")["services"]
    assert set(services) == {"database", "petra", "caddy", "prometheus"}
    files = [
        mount.split(":")[0] for mount in services["prometheus"]["volumes"] if mount.startswith("./")
    ]
    assert all((DEPLOY / name).is_file() for name in files)
    (job,) = yaml("prometheus.yaml")["scrape_configs"]
    assert job["static_configs"][0]["targets"] == ["petra:7777"]
