"""Small changes that may make a net sound: where they are made, in flows and in blocks, and that the text stays a playbook."""

from __future__ import annotations

import pytest

from petra.editor.names import text_of
from petra.editor.repairs import repairs
from petra.playbook import read

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: parts}\nworkflow:\n"
FLOW = HEAD + (
    "  - {step: a, tool: {kind: noop}, next: {arcs: [{step: b}, {step: c}]}}\n"
    "  - {step: b, tool: {kind: noop}, next: {arcs: [{step: j}]}}\n"
    "  - {step: c, tool: {kind: noop}, next: {arcs: [{step: j}]}}\n"
    "  - {step: j, spec: {join: {mode: arcs}}, tool: {kind: noop}}\n"
)
BLOCK = HEAD + (
    "  - step: a\n    tool: {kind: noop}\n    next:\n      spec:\n        mode: inclusive\n"
    "      arcs:\n        - step: b\n        - step: c\n"
    "  - step: b\n    tool: {kind: noop}\n    next:\n      arcs:\n        - step: j\n"
    "  - step: c\n    tool: {kind: noop}\n    next:\n      arcs:\n        - step: j\n"
    "  - step: j\n    tool: {kind: noop}\n    spec:\n      join:\n        of: a\n"
)


def tried(text: str) -> dict[str, str]:
    return {
        one.title: text[: one.start] + one.text + text[one.end :] for one in repairs(text_of(text))
    }


@pytest.mark.spec("S19")
def test_a_word_is_changed_or_a_key_is_added_and_nothing_else_moves() -> None:
    flows = tried(FLOW)
    assert list(flows) == [
        "mode: all for the join 'j'",
        "mode: any for the join 'j'",
        "mode: or for the join 'j'",
        "on_unreachable: proceed for the join 'j'",
        "spec: {mode: inclusive} for the way out of 'a'",
    ]
    assert flows["mode: any for the join 'j'"] == FLOW.replace("mode: arcs", "mode: any")
    assert flows["on_unreachable: proceed for the join 'j'"] == FLOW.replace(
        "{mode: arcs", "{on_unreachable: proceed, mode: arcs"
    )
    assert flows["spec: {mode: inclusive} for the way out of 'a'"] == FLOW.replace(
        "next: {arcs: [{step: b}, ", "next: {spec: {mode: inclusive}, arcs: [{step: b}, "
    )


@pytest.mark.spec("S19")
def test_in_blocks_a_key_gets_a_line_of_its_own() -> None:
    blocks = tried(BLOCK)
    assert blocks["mode: exclusive for the way out of 'a'"] == BLOCK.replace(
        "mode: inclusive", "mode: exclusive"
    )
    assert blocks["mode: any for the join 'j'"] == BLOCK.replace(
        "        of: a\n", "        mode: any\n        of: a\n"
    )


@pytest.mark.parametrize("text", [FLOW, BLOCK])
def test_what_is_tried_reads_as_yaml(text: str) -> None:
    for changed in tried(text).values():
        assert "P001" not in {problem.code for problem in read(changed).problems}


def test_a_text_without_joins_or_ways_has_nothing_to_try() -> None:
    assert tried(HEAD + "  - {step: a, tool: {kind: noop}}\n") == {}
    assert tried("workflow: [") == {}
