"""JUnit XML: whatever a case is called and says, the report can be read."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.testing.junit import junit
from petra.testing.session import CaseVerdict

verdicts = st.builds(
    CaseVerdict,
    file=st.text(),
    case=st.text(),
    line=st.integers(1, 99),
    result=st.sampled_from(["passed", "failed", "error"]),
    message=st.text(),
    time_s=st.floats(0, 10),
)


@pytest.mark.spec("S21")
@given(st.lists(verdicts))
def test_any_report_can_be_read_and_counts_its_cases(given_verdicts: list[CaseVerdict]) -> None:
    root = ET.fromstring(junit(given_verdicts).encode("utf-8"))
    assert root.get("tests") == str(len(given_verdicts)) == str(len(list(root.iter("testcase"))))
    assert root.get("failures") == str(len(list(root.iter("failure"))))
    assert root.get("errors") == str(len(list(root.iter("error"))))


def test_control_characters_are_dropped_and_text_is_kept() -> None:
    verdict = CaseVerdict("f", 'a\x00\x1b[31m<&">\ud800\ufffe', 1, "failed", "x\x07]]>\ny\tz")
    (case,) = ET.fromstring(junit([verdict]).encode("utf-8")).iter("testcase")
    assert case.get("name") == 'a[31m<&">'
    assert case[0].text == "x]]>\ny\tz"
    assert case[0].get("message") == "x]]>"
