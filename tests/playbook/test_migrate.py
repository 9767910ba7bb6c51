from __future__ import annotations

import re
from pathlib import Path

import pytest
from texts import NOETL, corpus, model, playbook, workflow
from thoroughness import some

from petra.playbook import read
from petra.playbook.migrate import migrate

pytestmark = pytest.mark.spec("S1")

OLD = """\
# A file of 2025, with words its author wants to keep.
apiVersion: noetl.io/v1    # the header
kind: Playbook
metadata:
  name: scores             # its name
  zebra: first             # free keys stay in order
  apple: second
workload:
  limit: 80                # percent

# The flow.
workflow:
  # Fetches the user.
  - step: fetch
    desc: "Fetch"          # quoted on purpose
    when: "{{ workload.limit > 1 }}"   # the gate
    tool:
      kind: http
      spec:
        method: GET        # the verb
        endpoint: "http://localhost/users"   # where
      result:
        as: user           # the name
    next:
      # the good way
      - step: rate
        when: "{{ user.ok }}"
      - step: stop         # otherwise
  - step: rate
    # before the loop
    loop:
      collection: [1, 2]   # the list
      element: n
    tool:
      kind: python
      input: {n: "{{ iter.n }}", user: "{{ user }}"}   # arguments
      code: |
        # a comment of the code
        result = n
    set:
      ctx.last: "{{ output.data }}"   # remember it
  - step: stop
    tool: {kind: noop}
# the end
"""
RENAMED = (
    NOETL
    + """\
workflow:
- step: a          # not indented, as some write
  input: {n: 1}    # for all
  tool:
  - name: t
    kind: python
    code: "result = n"
    spec:
      policy:
        rules:
        - when: "{{ output.status == 'error' }}"   # failed
          then: {do: fail}
        - else:
            then:
              do: continue
              set:
                ctx.n: "{{ output.data }}"
"""
)
TEXTS = {"older": OLD, "renamed": RENAMED}
COMMENT = re.compile(r"#[^\n]*")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_comment_is_kept(text: str) -> None:
    new = migrate(text).text
    assert sorted(COMMENT.findall(new)) == sorted(COMMENT.findall(text))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_new_text_means_the_same(text: str) -> None:
    new = migrate(text)
    assert new.problems == ()
    assert read(new.text).playbook == read(text).playbook


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_new_text_checks_without_a_word(text: str) -> None:
    assert read(migrate(text).text).problems == ()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_migrating_twice_changes_nothing(text: str) -> None:
    once = migrate(text).text
    again = migrate(once)
    assert (again.text, again.changes) == (once, ())


BARE = "\n".join(
    re.sub(r" +#.*|^ *#.*", "", line) for line in OLD.splitlines() if "# a comment of" not in line
)
MORE = (
    NOETL
    + """
workflow:
  - step: a
    bind:
      n: 1
    tool:
      kind: python
      code: x
      eval:
        - expr: outcome.status == 'error'
          do: retry
        - else:
            do: continue
      result:
        pick: "{{ this.rows }}"
        as: r
        sink:
          - postgres:
              command: INSERT
    case:
      - when: "{{ n > 1 }}"
        then:
          next:
            - step: b
    next:
      - step: c
  - step: b
    args:
      n: 2
    tool:
      kind: http
      endpoint: x
      payload:
        a: 1
    next: c
  - step: c
    loop:
      collection: [1]
      element: e
      mode: parallel
    tool:
      - name: t
        kind: python
        code: x
        set:
          ctx.z: 1
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("text", [BARE, RENAMED, MORE], ids=["older", "renamed", "more"])
@pytest.mark.parametrize("own_line", [True, False], ids=["a line", "an end of line"])
def test_a_comment_may_stand_anywhere(text: str, own_line: bool) -> None:  # noqa: FBT001
    wanted = read(text).playbook
    assert wanted is not None
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if not line.strip() or "result = n" in line or line.endswith("|"):
            continue
        margin = line[: len(line) - len(line.lstrip())]
        new = [margin + "# hello", line] if own_line else [line + "  # hello"]
        migrated = migrate("\n".join([*lines[:index], *new, *lines[index + 1 :]]) + "\n")
        assert migrated.problems == (), line
        assert migrated.text.count("# hello") == 1, line
        assert read(migrated.text).playbook == wanted, line


def test_what_needs_no_change_keeps_its_order_its_quotes_and_its_margin() -> None:
    new = migrate(OLD).text
    kept = [
        "  zebra: first",
        "  apple: second",
        "  limit: 80",
        '    desc: "Fetch"',
        "        result = n",
    ]
    places = [new.index(line) for line in kept]
    assert places == sorted(places)
    assert new.index("- step: fetch") < new.index("- step: rate") < new.index("- step: stop")
    assert "\n- step: a " in migrate(RENAMED).text


def test_each_change_is_explained_at_its_line() -> None:
    changes = [(c.mark.line, c.kind, c.old) for c in migrate(OLD).changes]
    assert changes == [
        (2, "legacy", "apiVersion: noetl.io/v1"),
        (16, "legacy", "when on a step"),
        (20, "legacy", "method under tool.spec"),
        (21, "legacy", "endpoint under tool.spec"),
        (21, "legacy", "http.endpoint"),
        (22, "legacy", "tool.result"),
        (24, "legacy", "next as a list"),
        (32, "legacy", "loop.collection"),
        (33, "legacy", "loop.element"),
        (36, "renamed", "input"),
        (40, "renamed", "set on a step"),
    ]


def test_a_canonical_text_comes_back_untouched() -> None:
    text = workflow("- step:   a   # odd\n  tool: {kind:   noop}\n")
    new = migrate(text)
    assert (new.text, new.changed) == (text, False)


def test_a_text_with_errors_comes_back_untouched_with_the_errors() -> None:
    text = workflow("- {step: a, when: true, tool: {kind: noop}, next: [{step: b}]}")
    new = migrate(text)
    assert (new.text, new.changed) == (text, False)
    assert [p.code for p in new.problems] == ["P104"]


def test_dialects_inside_anchors_migrate_too() -> None:
    text = playbook("""
        workflow:
        - step: a
          tool: &t {kind: python, code: x, input: {n: 1}}
          next: {arcs: [{step: b}]}
        - step: b
          tool: *t
    """)
    assert read(migrate(text).text).playbook == model(text)


@pytest.mark.parametrize("path", some(corpus()), ids=lambda path: path.name)
def test_a_playbook_of_the_corpus_migrates_to_the_same_model(path: Path) -> None:
    text = path.read_text("utf-8")
    reading = read(text)
    new = migrate(text)
    if not reading.ok:
        assert new.text == text
        return
    assert read(new.text).playbook == reading.playbook
    assert migrate(new.text).text == new.text
    assert not [p for p in read(new.text).problems if p.code == "P207"]


def test_a_list_of_commands_becomes_a_block_of_lines() -> None:
    text = workflow("- {step: a, tool: {kind: shell, cmds: [ls, 'echo {{ ctx.x }}']}}", NOETL)
    new = migrate(text).text
    assert model(new) == model(text)
    assert model(new).workflow[0].tool[0].fields == {"script": "ls\necho {{ ctx.x }}"}
    assert "cmds" not in new


def test_the_events_of_the_older_engine_are_renamed_once_and_for_all() -> None:
    steps = """
        - step: a
          tool: {kind: noop}
          next:
            arcs:
              - step: a
                when: "{{ event.name == 'call.done' and ctx.x }}"  # again
              - step: a
                when: '{{ event.name == "call.error" }}'
        - step: b
          loop: {in: [1], iterator: i}
          tool: {kind: noop}
          next: {arcs: [{step: a, when: "{{ event.name == 'call.done' }}"}]}
    """
    guards = [arc.when for step in model(workflow(steps, NOETL)).workflow for arc in step.arcs]
    assert guards == [
        "{{ event.name == 'step.done' and ctx.x }}",
        '{{ event.name == "step.failed" }}',
        "{{ event.name == 'loop.done' }}",
    ]
    new = migrate(workflow(steps, NOETL)).text
    assert "# again" in new
    assert "call." not in new


def test_what_a_task_sets_is_written_beside_its_kind_and_stays_there() -> None:
    text = workflow(
        "- {step: a, tool: {kind: python, code: x, set: {ctx.n: '{{ output.data.n }}'}}}"
    )
    migrated = migrate(text)
    assert "set_ctx: {n: '{{ outcome.result.n }}'}" in migrated.text
    assert model(migrated.text) == model(text)
    assert not migrate(migrated.text).changed
