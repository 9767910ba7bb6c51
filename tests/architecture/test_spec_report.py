from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def report() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "spec_report", ROOT / "scripts" / "spec_report.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found(report: ModuleType) -> dict[str, list[str]]:
    markers: dict[str, list[str]] = report.markers(ROOT / "tests")
    return markers


def test_markers_of_modules_functions_and_parameters_are_found(
    report: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "test_x.py").write_text(
        'import pytest\npytestmark = pytest.mark.spec("S1")\n'
        '@pytest.mark.spec("S2", "000§1-1")\ndef test_a(): ...\n'
        '@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.spec("000§2"))])\n'
        "def test_b(n): ...\n"
    )
    assert report.markers(tmp_path) == {
        "S1": ["test_x::test_a", "test_x::test_b"],
        "S2": ["test_x::test_a"],
        "000§1-1": ["test_x::test_a"],
        "000§2": ["test_x::test_b"],
    }


def test_a_section_carries_its_rows_and_a_row_only_itself(report: ModuleType) -> None:
    found = {"000§2": ["t::a"], "000§3-1": ["t::b"], "S5.2": ["t::c"]}
    assert report.carriers("000§2-4", found) == ["t::a"]
    assert report.carriers("000§3-2", found) == []
    assert report.carriers("S5", found) == ["t::c"]


def test_the_page_tells_what_has_no_test(report: ModuleType) -> None:
    text = report.page(
        {"S1": ["kernel/t::a", "kernel/u::a", "test_values::a"], "000§1-1": ["t::a"]},
        ["000§1-1", "000§1-2"],
    )
    assert "| S1 | kernel, test_values |" in text
    assert "| S22 | none yet |" in text
    assert "1 of 2" in text
    assert text.endswith("## Obligations without a test\n\n`000§1-2`\n")


def test_every_marker_names_a_rule_that_exists(
    report: ModuleType, found: dict[str, list[str]]
) -> None:
    if not report.LEDGER.exists():
        pytest.skip("the ledger is not here")
    text = report.LEDGER.read_text("utf-8")
    unknown = [
        rule
        for rule in found
        if rule.partition(".")[0] not in report.RULES
        and f"| {rule} |" not in text
        and f"| {rule}-" not in text
    ]
    assert unknown == []


def test_the_page_is_fresh(report: ModuleType, found: dict[str, list[str]]) -> None:
    if not report.LEDGER.exists():
        pytest.skip("the ledger is not here")
    wanted = report.page(found, report.musts(report.LEDGER))
    assert report.PAGE.read_text("utf-8") == wanted, "run: make docs"


def test_the_page_names_rules_and_tests_only(report: ModuleType) -> None:
    assert "shared" not in report.PAGE.read_text("utf-8")
