"""Tables of single mistakes: the code of the problem, where it must point, and what it must say.

``☞`` stands in a fragment where the problem must point; the header of a playbook is added below it, so
that lines and columns are those of the fragment.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from petra.playbook import Mark, read
from petra.playbook.problems import headline

HEADER = {"apiVersion": "petra/v1", "kind": "Playbook", "metadata": "{name: orders}"}
A = "workflow: [{step: a, tool: {kind: noop}}]\n"


def row(code: str, rule: str, claim: str, words: str, fragment: str, **more: Any) -> Any:
    """One line of the table; ``warns`` for a code that is elsewhere an error."""
    warns = more.get("warns", code.startswith("P2"))
    marks = pytest.mark.spec(rule)
    return pytest.param(code, words, fragment, warns, id=f"{code}: {claim}", marks=marks)


def braced(keys: str) -> str:
    """Put braces around keys; ☞☞ in front of the first key points at the mapping itself."""
    return "☞{" + keys[2:] + "}" if keys.startswith("☞☞") else "{" + keys + "}"


def step(keys: str) -> str:
    return f"workflow: [{{step: a, {keys}}}]\n"


def task(keys: str) -> str:
    return step(f"tool: {braced(keys)}")


def spec(keys: str) -> str:
    return step(f"tool: {{kind: noop}}, spec: {braced(keys)}")


def rule(text: str) -> str:
    return task(f"kind: noop, spec: {{policy: {{rules: [{text}]}}}}")


def action(keys: str) -> str:
    return rule(f"{{else: {{then: {braced(keys)}}}}}")


def admit(when: str) -> str:
    return spec(f"policy: {{admit: {{rules: [{{when: {when}, then: {{allow: true}}}}]}}}}")


def arc(keys: str) -> str:
    return f"workflow: [{{step: a, next: {{arcs: [{{{keys}}}]}}}}, {{step: b, tool: {{kind: noop}}}}]\n"


def executor(keys: str) -> str:
    return f"executor: {{spec: {{{keys}}}}}\n{A}"


def loop(keys: str) -> str:
    return step(f"tool: {{kind: noop}}, loop: {braced(keys)}")


def playbook(fragment: str) -> tuple[str, Mark]:
    """Complete a fragment, and find the place it points at."""
    before, _, after = fragment.partition("☞")
    place = Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))
    text = before + after
    for key, value in HEADER.items():
        if not re.search(rf"^(#no )?{key}:", text, re.MULTILINE):
            text += f"{key}: {value}\n"
    return text, place


def assert_told_once(code: str, words: str, fragment: str, *, warns: bool) -> None:
    """Check that a fragment has that problem once, at its place, and no other error."""
    text, place = playbook(fragment)
    problems = read(text).problems
    told = [headline(p, "t") for p in problems]
    (found,) = (p for p in problems if p.code == code)
    assert found.mark == place, told
    assert words in f"{found.message}; {found.hint}", told
    assert found.severity == ("warning" if warns else "error")
    assert {p.code for p in problems if p.severity == "error"} <= {code}, told
