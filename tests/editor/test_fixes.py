"""Problems in an editor: how far they reach, and the edits that mend them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import workflow

from petra.editor.fixes import extent, fix
from petra.editor.names import Text
from petra.editor.positions import Positions
from petra.playbook import read
from petra.playbook.problems import line_starts


@pytest.mark.parametrize(
    ("code", "wrong", "right"),
    [
        ("P104", "next: {arcs: [{step: bb}]}", "next: {arcs: [{step: b}]}"),
        ("P104", 'next: {arcs: [{step: "bb"}]}', 'next: {arcs: [{step: "b"}]}'),
        ("P101", "nxt: {arcs: [{step: b}]}", "next: {arcs: [{step: b}]}"),
        ("P101", "next: {arcs: [{step: b, data: {x: 1}}]}", "next: {arcs: [{step: b, args: {x: 1}}]}"),
        ("P119", "next: {arcs: [{step: b, when: ctx.x}]}", 'next: {arcs: [{step: b, when: "{{ ctx.x }}"}]}'),
        ("P007", "next: {arcs: [{step: b, when: {{ ctx.x }}}]}", 'next: {arcs: [{step: b, when: "{{ ctx.x }}"}]}'),
        ("P106", "next: {spec: {mode: inclusiv}, arcs: [{step: b}]}", "next: {spec: {mode: inclusive}, arcs: [{step: b}]}"),
    ],
)  # fmt: skip
def test_the_edit_mends_what_the_hint_says(code: str, wrong: str, right: str) -> None:
    body = "- step: a\n  tool: {kind: noop}\n  {}\n- step: b\n  tool: {kind: noop}\n"
    text = workflow(body.replace("{}", wrong))
    problem = next(one for one in read(text).problems if one.code == code)
    edit = fix(Text(text), problem)
    assert edit is not None
    mended = text[: edit.start] + edit.text + text[edit.end :]
    assert mended == workflow(body.replace("{}", right))


def test_a_problem_reaches_over_its_key_its_value_or_its_word() -> None:
    text = workflow("- step: a\n  tool: {kind: htp, url: x}\n  nexxt: 1\n")
    found = Text(text)
    starts = line_starts(text)
    reached = [
        text[slice(*extent(found, problem, starts))]
        for problem in read(text).problems
        if problem.code in ("P115", "P101")
    ]
    assert reached == ["htp", "nexxt"]


def test_a_hint_that_is_no_edit_is_none() -> None:
    text = workflow("- step: a\n")
    (problem,) = [one for one in read(text).problems if one.code == "P114"]
    assert fix(Text(text), problem) is None


@given(st.text(max_size=80), st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.data())
def test_a_place_is_the_same_there_and_back(text: str, encoding: str, data: st.DataObject) -> None:
    text = "".join(c for c in text if not 0xD800 <= ord(c) < 0xE000)
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":
        return  # no place is between the two
    positions = Positions(text, encoding)
    assert positions.offset(*positions.position(offset)) == offset


@given(st.text(max_size=40), st.integers(-3, 50), st.integers(-3, 50))
def test_a_place_outside_is_the_nearest_inside(text: str, line: int, character: int) -> None:
    assert 0 <= Positions(text).offset(line, character) <= len(text)
