"""Doubts about keys (P128) beside errors."""

from __future__ import annotations

import pytest
from rows import playbook

from petra.playbook import read


@pytest.mark.spec("S1")
def test_an_error_elsewhere_hides_no_doubt_about_a_key() -> None:
    guards = ("ctx.totl", "ctx.zebra", "workload.ordr", "workload.zebra")
    arcs = "".join(f"{{step: b, when: '{{{{ {guard} }}}}'}}, " for guard in guards)
    text, _ = playbook(
        "workload: {order: 1}\nworkflow: [{step: a, tool: {kind: noop, set_ctx: {total: 1}}, "
        f"next: {{arcs: [{arcs}{{step: b}}]}}}}, {{step: b, tool: {{kind: noop}}}}]\n"
    )
    told = {(one.severity, one.code) for one in read(text).problems}
    assert told == {("error", "P128"), ("warning", "P128")}
    assert len(read(text).problems) == len(guards)
    unread, _ = playbook(
        "workflow: [{step: a, tool: {kind: noop, set_ctxx: {seen: 1}}, "
        "next: {arcs: [{step: b, when: '{{ ctx.seen }}'}, {step: b}]}}, {step: b, tool: {kind: noop}}]\n"
    )
    assert [one.code for one in read(unread).problems] == ["P101"]  # it may be what writes the key


@pytest.mark.spec("S1")
def test_a_name_that_is_not_there_is_told_once_and_not_again_by_its_key() -> None:
    text, _ = playbook(
        "workflow: [{step: a, tool: {kind: noop}, next: {arcs: [{step: b, when: '{{ iter.x }}'}, {step: b}]}}, "
        "{step: b, tool: {kind: noop}}]\n"
    )
    assert [one.code for one in read(text).problems] == ["P205"]
