from __future__ import annotations

import pytest
from texts import codes, model, told, workflow

from petra.playbook import read

pytestmark = pytest.mark.spec("S1", "S5", "002§14-1")

SUGAR = """
    - step: a
      tool:
        - name: first
          kind: noop
        - choose:
            - when: "{{ ctx.x }}"
              do:
                - {name: one, kind: noop}
                - while:
                    when: "{{ iter.more }}"
                    max: 3
                    do: [{name: two, kind: noop}]
            - else:
                - {name: three, kind: noop}
        - until:
            when: "{{ iter.done }}"
            do: [{name: four, kind: noop}]
        - {name: last, kind: noop}
"""


def labels(text: str) -> list[str]:
    return [task.name for task in model(text).workflow[0].tool]


@pytest.mark.spec("002§14-2")
def test_labels_are_the_word_its_index_and_a_suffix() -> None:
    assert labels(workflow(SUGAR)) == [
        "first",
        "choose_1",
        "choose_1__0", "one",
        "choose_1__0__while_1__start", "choose_1__0__while_1", "choose_1__0__while_1__limit", "two", "choose_1__0__while_1__again",
        "choose_1__0__while_1__merge",
        "choose_1__0__end",
        "choose_1__else", "three", "choose_1__else__end",
        "choose_1__merge",
        "until_2__again", "four", "until_2", "until_2__merge",
        "last",
    ]  # fmt: skip


def test_labels_do_not_depend_on_what_stands_elsewhere() -> None:
    text = workflow(SUGAR)
    assert labels(text.replace("name: four, kind: noop", "name: other, kind: wait, for_s: 1").replace("kind: wait, for_s: 1", "kind: python, code: x")) == [
        "other" if name == "four" else name for name in labels(text)
    ]  # fmt: skip


def test_a_name_gives_the_label() -> None:
    text = workflow(
        "- step: a\n  tool: [{name: pages, until: {when: '{{ iter.x }}', do: [{kind: noop}]}}]\n"
    )
    assert labels(text) == ["pages__again", "task_1", "pages", "pages__merge"]


@pytest.mark.spec("002§14-3")
def test_every_branch_jumps_to_the_one_merge_label() -> None:
    tasks = {task.name: task for task in model(workflow(SUGAR)).workflow[0].tool}
    for branch in ("choose_1__0__end", "choose_1__else__end"):
        policy = tasks[branch].policy
        assert policy is not None
        assert [(rule.action.do, rule.action.to) for rule in policy.rules] == [
            ("jump", "choose_1__merge")
        ]


def test_a_choice_without_else_falls_to_the_merge_label() -> None:
    text = workflow("- step: a\n  tool: [{choose: [{when: '{{ ctx.x }}', do: [{kind: noop}]}]}]\n")
    policy = model(text).workflow[0].tool[0].policy
    assert policy is not None
    assert policy.rules[-1].action.to == "choose_0__merge"


def test_a_problem_inside_a_block_points_at_the_authors_line() -> None:
    text = workflow("""
        - step: a
          tool:
            - while:
                when: "{{ ctx.x == }}"
                do:
                  - {name: t, kind: http}
                  - choose:
                      - when: "{{ nobody }}"
                        do: [{kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: no}}}]}}}]
    """)
    assert told(read(text)) == ["P119 8", "P102 10", "P205 12", "P108 13"]


def test_a_condition_far_from_its_word_keeps_its_place() -> None:
    text = workflow("""
        - step: a
          tool:
            - while:
                do:
                  - {name: t, kind: noop}
                when: "{{ nobody }}"
    """)
    assert told(read(text)) == ["P205 10"]


def test_generated_tasks_carry_the_mark_of_their_block() -> None:
    reading = read(workflow(SUGAR))
    assert reading.at("workflow", 0, "tool", 1).line == 9
    assert reading.at("workflow", 0, "tool", 5).line == 13


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("choose: 3", ["P103"]),
        ("choose: []", ["P103"]),
        ("choose: [{when: '{{ ctx.x }}'}]", ["P103"]),
        ("while: {do: [{kind: noop}]}", ["P103"]),
        ("while: {when: '{{ ctx.x }}', do: {kind: noop}}", ["P103"]),
        ("until: {when: '{{ ctx.x }}', do: [{kind: noop}], max: 0}", ["P103"]),
        ("until: {when: '{{ ctx.x }}', do: [{kind: noop}], most: 3}", ["P101"]),
        ("until: {when: '{{ ctx.x }}', do: [{kind: noop}]}, spec: {}", ["P101"]),
    ],
)
def test_a_malformed_block_is_one_problem(block: str, expected: list[str]) -> None:
    assert codes(workflow(f"- {{step: a, tool: [{{{block}}}]}}")) == expected


@pytest.mark.spec("S10")
def test_what_a_step_sets_is_set_by_its_last_task_and_its_name_is_what_it_came_to() -> None:
    text = workflow("""
        - step: a
          set_ctx: {n: "{{ a.n }}", m: 1, o: ["{{ a | length }}"]}
          set_iter: {i: 1}
          tool:
            - {name: one, kind: python, code: x}
            - {name: two, kind: python, code: y, set_ctx: {m: 2}}
    """)
    one, two = model(text).workflow[0].tool
    assert (one.set_ctx, one.set_iter) == (None, None)
    assert two.set_iter == {"i": 1}
    assert two.set_ctx == {
        "n": "{{ outcome.result.n }}", "m": 2, "o": ["{{ outcome.result | length }}"],
    }  # fmt: skip


@pytest.mark.spec("S10")
@pytest.mark.parametrize(
    "step",
    [
        "{step: a, set_ctx: {x: 1}, next: {arcs: [{step: a}]}}",
        "{step: a, set_ctx: {x: 1}, tool: [{choose: [{else: [{kind: noop}]}]}]}",
    ],
    ids=["router", "block"],
)
def test_a_step_that_ends_with_no_certain_task_sets_nothing(step: str) -> None:
    reading = read(workflow(f"- {step}"))
    assert [p.code for p in reading.problems if p.severity == "error"][:1] == ["P114"]
    assert "beside the 'kind'" in reading.problems[0].hint


@pytest.mark.spec("S10")
@pytest.mark.parametrize("place", ["step", "task"])
@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ("{execution: 1}", "P117"), ("7", "P103"), ("{x: '{{ ( }}'}", "P119"), ("{x: '{{ nobody }}'}", "P205"),
        ("{x: '{{ keychain.k }}'}", "P118"),
    ],
)  # fmt: skip
def test_what_a_task_or_a_step_sets_is_checked(patch: str, code: str, place: str) -> None:
    own, outer = (f", set_ctx: {patch}", "") if place == "task" else ("", f"set_ctx: {patch}, ")
    text = workflow(f"- {{step: a, {outer}tool: {{kind: python, code: x{own}}}}}")
    assert code in codes(text)
