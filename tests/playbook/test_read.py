from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from texts import PETRA, corpus, workflow
from thoroughness import few

from petra.playbook import InvalidPlaybookError, Reading, read, read_bytes, render
from petra.playbook.codes import CODES

pytestmark = pytest.mark.spec("S1")

TEXTS = [path.read_text("utf-8") for path in corpus()]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
SCRAPS = st.sampled_from(
    [
        "", "x", "null", "~", "1", "-1", "1.5", "true", "[]", "{}", "[[]]", "{a: b}", "[{}]", "''", '"{{ }}"',
        '"{{ a }}"', '"{{ keychain.x }}"', '"{% for %}"', "{{ x }}", "&a", "*a", "<<: *a", "!t", "|", "- ", ": ", "? ",
        "step:", "tool:", "next:", "spec: {policy: 1}", "spec: []", "when: []", "else:", "then: 3", "set: [1]",
        "input: 4", "bind: [a]", "case: [1]", "result: {as: step}", "loop: {in: 1}", "eval: {a: b}", "rules: {}",
        "choose: 3", "while: {}", "until: [x]", "workbook: 3", "kind: workbook", "arcs: [1]", "sink: [1]",
    ]
)  # fmt: skip


def inside(reading: Reading) -> None:
    """What holds for every reading, whatever was read."""
    lines = [*reading.lines, ""]
    order = [(p.line, p.column) for p in reading.problems]
    assert order == sorted(order)
    for problem in reading.problems:
        assert problem.code in CODES
        assert problem.message
        assert 1 <= problem.line <= len(lines) + 1
        assert 1 <= problem.column <= max(map(len, lines)) + 2
        assert render(problem, reading.text, "x").startswith(f"x:{problem.line}:{problem.column}: ")
    errors = [p for p in reading.problems if p.severity == "error"]
    assert reading.ok == (not errors)
    assert reading.playbook is not None or errors


@given(st.text())
@example("\x85{")
@example("𐀀\x1f")
@example("a: b\u2028{")
def test_any_text_gives_a_reading(text: str) -> None:
    inside(read(text))


@given(st.binary())
def test_any_bytes_give_a_reading(raw: bytes) -> None:
    read_bytes(raw)


@given(JSON)
def test_any_json_gives_a_reading(value: object) -> None:
    inside(read(f"{PETRA}workflow: {value!r}"))


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """A playbook with a few lines cut, swapped, doubled, moved or overwritten."""
    lines = draw(st.sampled_from(TEXTS)).split("\n")
    for _ in range(draw(st.integers(1, 4))):
        at, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match draw(st.integers(0, 7)):
            case 0:
                del lines[at : at + draw(st.integers(1, 3))]
            case 1:
                lines[at], lines[other] = lines[other], lines[at]
            case 2:
                lines.insert(at, lines[other])
            case 3:
                head, colon, _ = lines[at].partition(": ")
                lines[at] = head + colon + draw(SCRAPS)
            case 4:
                head, colon, _ = lines[at].partition(": ")
                lines[at] = head + colon + repr(draw(JSON)).replace("None", "null")
            case 5:
                lines[at] = " " * draw(st.integers(0, 6)) + lines[at].lstrip()
            case 6:
                line, column = lines[at], draw(st.integers(0, 40))
                lines[at] = line[:column] + draw(st.characters()) + line[column + 1 :]
            case _:
                margin = " " * (len(lines[at]) - len(lines[at].lstrip()))
                lines.insert(at, margin + draw(SCRAPS))
        lines = lines or [""]
    return "\n".join(lines)


@settings(max_examples=few(300))
@given(mutants())
def test_any_mutant_of_a_playbook_gives_a_reading(text: str) -> None:
    inside(read(text))


def test_every_file_of_the_corpus_is_read() -> None:
    assert TEXTS
    for text in TEXTS:
        inside(read(text))


def test_all_problems_are_told_at_once_in_the_order_of_the_text() -> None:
    text = workflow("""
        - step: a
          tol: {kind: noop}
          next:
            arcs: [{step: b}]
        - step: c
          tool: {kind: http, ulr: x}
    """)
    found = [(p.code, p.line) for p in read(text).problems]
    assert found == [("P101", 6), ("P104", 8), ("P101", 10)]


def test_a_playbook_with_errors_is_not_handed_out() -> None:
    reading = read(workflow("- step: a\n"))
    with pytest.raises(InvalidPlaybookError, match="P114"):
        reading.checked()


def test_a_part_is_found_where_it_was_written() -> None:
    reading = read(workflow("- step: a\n  tool: {kind: noop}\n"))
    assert reading.at("workflow", 0, "tool", 0, "kind") == (6, 18)
    assert reading.at("workflow", 0, "nothing", "here") == (5, 5)
    assert reading.at("nowhere") == (1, 1)
