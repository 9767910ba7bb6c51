"""JUnit XML: verdicts in the form that build servers read.

Characters that XML cannot hold are dropped; everything else is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from petra.testing.session import CaseVerdict

# What XML 1.0 allows, turned around: control characters, surrogates and two non-characters.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS = {"failed": "failure", "error": "error"}


def junit(verdicts: Iterable[CaseVerdict]) -> str:
    """Write verdicts as one document: a suite per file, in the order given."""
    suites = [
        (file, list(cases)) for file, cases in groupby(verdicts, lambda verdict: verdict.file)
    ]
    every = [verdict for _, cases in suites for verdict in cases]
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<testsuites {_counts(every)}>"]
    for file, found in suites:
        lines.append(f"  <testsuite name={_attribute(file)} {_counts(found)}>")
        lines += [line for verdict in found for line in _case(verdict)]
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _counts(verdicts: list[CaseVerdict]) -> str:
    failures = sum(verdict.result == "failed" for verdict in verdicts)
    errors = sum(verdict.result == "error" for verdict in verdicts)
    time_s = sum(verdict.time_s for verdict in verdicts)
    return f'tests="{len(verdicts)}" failures="{failures}" errors="{errors}" skipped="0" time="{time_s:.3f}"'


def _case(verdict: CaseVerdict) -> list[str]:
    name = _attribute(verdict.case or verdict.file)
    head = f'    <testcase classname={_attribute(verdict.file)} name={name} time="{verdict.time_s:.3f}"'
    tag = _TAGS.get(verdict.result)
    if tag is None:
        return [f"{head}/>"]
    first = verdict.message.partition("\n")[0]
    text = escape(_NOT_XML.sub("", verdict.message))
    return [
        f"{head}>",
        f"      <{tag} message={_attribute(first)}>{text}</{tag}>",
        "    </testcase>",
    ]


def _attribute(text: str) -> str:
    # line breaks and tabs in an attribute survive only as references
    return quoteattr(_NOT_XML.sub("", text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
