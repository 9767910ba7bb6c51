"""pm4py reads what we export, and finds that our logs fit our nets. It is an oracle, never a dependency."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
from export.logs import example_logs

from petra.cli.graph import _STEPS
from petra.export import FORMS, PROFILES, ExportedLog

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def pm4py() -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        import pm4py as found  # type: ignore[import-untyped]  # noqa: PLC0415 - it takes seconds

    found.util.constants.SHOW_PROGRESS_BAR = False
    return found


def completed(pattern: str, words: str = "") -> ExportedLog:
    return next(
        log for name, log in example_logs(pattern) if log.status == "completed" and words in name
    )


def exported_net(log: ExportedLog) -> str:
    """What ``petra graph -f pnml`` writes of the playbook of a log."""
    return _STEPS["pnml"](log.playbook)


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("profile", list(PROFILES))
def test_xes_is_read_back_event_by_event(pm4py: Any, tmp_path: Path, profile: str) -> None:
    log = completed("approval")
    text = PROFILES[profile](log)
    found = pm4py.read_xes(written(tmp_path / "log.xes", text))
    assert len(found) == text.count("<event>")
    assert set(found["case:concept:name"]) == {log.execution}
    assert found["time:timestamp"].is_monotonic_increasing
    assert {"concept:name", "lifecycle:transition"} <= set(found.columns)


def test_ocel_is_read_back_with_every_event_and_object(pm4py: Any, tmp_path: Path) -> None:
    for pattern in ("approval", "wcp-02", "pagination", "invoices"):
        log = completed(pattern)
        text = FORMS["ocel"](log)
        found = pm4py.read_ocel2_json(written(tmp_path / f"{pattern}.jsonocel", text))
        assert set(found.objects["ocel:type"]) >= {"execution", "step run", "token"}
        assert len(found.events) == len(log.records), pattern


# The nets of these examples have no reset arcs, which token replay does not know.
REPLAYED = [
    ("hello", "a loop"),
    ("pagination", "jumps inside a step"),
    ("approval", "a human step"),
    ("wcp-03", "a fan-out with a join"),
    ("wcp-13", "copies with a join"),
    ("wcp-14", "a list with a join"),
    ("wcp-21", "steps in a circle"),
    ("credit_check", "choices and a person"),
    ("invoices", "a parallel loop and more"),
    ("signals", "a signal"),
    ("nightly_load", "a final step"),
]


@pytest.mark.spec("S2")
@pytest.mark.parametrize(("pattern", "what"), REPLAYED, ids=[name for name, _ in REPLAYED])
def test_the_exported_firings_replay_on_the_exported_net(
    pm4py: Any, tmp_path: Path, pattern: str, what: str
) -> None:
    log = completed(pattern)
    firings = pm4py.read_xes(written(tmp_path / "log.xes", PROFILES["firings"](log)))
    net = pm4py.read_pnml(written(tmp_path / "net.pnml", exported_net(log)))
    fitness = pm4py.fitness_token_based_replay(firings, *net)
    assert fitness["log_fitness"] == 1.0, what
    assert fitness["percentage_of_fitting_traces"] == 100.0, what


def test_a_log_that_was_tampered_with_does_not_fit(pm4py: Any, tmp_path: Path) -> None:
    log = completed("wcp-03")
    text = PROFILES["firings"](log)
    first, _, rest = text.partition("    <event>")
    _, _, rest = rest.partition("    <event>")  # the first firing is missing
    firings = pm4py.read_xes(written(tmp_path / "log.xes", f"{first}    <event>{rest}"))
    net = pm4py.read_pnml(written(tmp_path / "net.pnml", exported_net(log)))
    assert pm4py.fitness_token_based_replay(firings, *net)["log_fitness"] < 1.0
