"""Where the code of a playbook was written is known wherever the playbook goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.playbook import Playbook, read, to_yaml
from petra.playbook.origins import WrittenAt
from petra.playbook.problems import lines_of
from petra.playbook.write import to_plain
from petra.values import digest

pytestmark = pytest.mark.spec("S22")

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: x}\n"
TWO = """workflow:
  - step: one
    tool:
      - kind: noop
      - name: code
        kind: python
        code: |
          def main():

              return 1
  - step: two
    tool: {kind: sqlite, database: x, command: "select 1"}
    spec:
      compensate:
        tool: {kind: shell, script: "true"}
"""


def book(text: str, name: str = "here/orders.yaml") -> Playbook:
    return read(HEAD + text, name).checked()


def where(playbook: Playbook, step: int, task: int, field: str, **how: bool) -> WrittenAt | None:
    return playbook.origins.of(step, task, **how).get(field)


def test_every_line_of_a_block_has_a_line_of_the_file() -> None:
    written = where(book(TWO), 0, 1, "code")
    assert written is not None
    lines = lines_of(HEAD + TWO)
    assert lines[written.line_of(1) - 1].strip() == "def main():"
    assert lines[written.line_of(3) - 1].strip() == "return 1"
    assert written.at(3) == f"orders.yaml:{written.line + 2}"


def test_texts_of_one_line_and_those_of_compensations_have_one_too() -> None:
    playbook = book(TWO)
    lines = lines_of(HEAD + TWO)
    command = where(playbook, 1, 0, "command")
    script = where(playbook, 1, 0, "script", compensate=True)
    assert command is not None
    assert script is not None
    assert "select 1" in lines[command.line_of(1) - 1]
    assert "shell" in lines[script.line_of(1) - 1]


@pytest.mark.parametrize("mark", ["|", "|-", "|2", "&a |", "| # why"])
def test_however_a_block_begins(mark: str) -> None:
    indented = "  - step: one\n    tool:\n      kind: python\n      code: "
    text = f"workflow:\n{indented}{mark}\n        result = 1\n"
    written = where(book(text), 0, 0, "code")
    assert written is not None
    assert lines_of(HEAD + text)[written.line_of(1) - 1].strip() == "result = 1"


def test_of_quoted_code_the_line_it_begins_on_is_known() -> None:
    text = 'workflow:\n  - step: one\n    tool: {kind: python, code: "a = 1\\nresult = a"}\n'
    written = where(book(text), 0, 0, "code")
    assert written == WrittenAt("orders.yaml", 6, by_line=False)
    assert written.at(2) == "orders.yaml:6"


def test_a_task_of_the_workbook_stands_where_it_is_written() -> None:
    text = (
        "workbook:\n  shared:\n    kind: python\n    code: |\n      result = 1\n"
        "workflow:\n  - {step: one, tool: {kind: workbook, name: shared}}\n"
    )
    written = where(book(text), 0, 0, "code")
    assert written is not None
    assert lines_of(HEAD + text)[written.line_of(1) - 1].strip() == "result = 1"


def test_tasks_inside_sugar_are_found() -> None:
    text = (
        "workflow:\n  - step: one\n    tool:\n      - while:\n          when: '{{ false }}'\n          do:\n"
        "            - {name: a, kind: python, code: 'result = 1'}\n"
    )
    playbook = book(text)
    index = next(n for n, task in enumerate(playbook.workflow[0].tool) if task.name == "a")
    written = where(playbook, 0, index, "code")
    assert written is not None
    assert "result = 1" in lines_of(HEAD + text)[written.line_of(1) - 1]


def test_the_places_travel_with_the_canonical_text() -> None:
    playbook = book(TWO)
    again = read(to_yaml(playbook), "something else").checked()
    assert again.origins.key == playbook.origins.key
    assert again.origins.file == "orders.yaml"
    assert to_yaml(again) == to_yaml(playbook)


def test_where_it_was_written_is_no_part_of_what_a_playbook_says() -> None:
    one, other = book(TWO), book("# a comment\n\n" + TWO, "elsewhere.yaml")
    assert one.origins.key != other.origins.key
    assert one == other
    assert digest(to_plain(one)) == digest(to_plain(other))


def test_who_edits_the_canonical_text_has_a_file_of_their_own() -> None:
    text = "# mine\n" + to_yaml(book(TWO))
    edited = read(text, "mine.yaml").checked()
    written = where(edited, 0, 1, "code")
    assert written is not None
    assert written.file == "mine.yaml"
    assert lines_of(text)[written.line_of(1) - 1].strip() == "def main():"


@pytest.mark.parametrize("said", ["{}", '{"file":1}', '{"file":"a","places":{"x":[1]}}', "{"])
def test_a_comment_that_says_nothing_sensible_is_a_comment(said: str) -> None:
    text = f"{HEAD}{TWO}# written in: 0123456789abcdef {said}\n"
    assert read(text, "a/b.yaml").checked().origins.file == "b.yaml"


LINES = st.lists(st.sampled_from(["", "# why", "x = 1", "if x:\n    y = 2"]), max_size=5)


@given(
    st.lists(st.tuples(st.sampled_from(["", "  # note\n", "\n\n"]), LINES), min_size=1, max_size=5)
)
def test_each_line_of_each_block_is_found_in_the_file(steps: list[tuple[str, list[str]]]) -> None:
    text = "workflow:\n"
    for number, (before, body) in enumerate(steps):
        code = "\n".join([f"def main():  # {number}", "    return 0", *body]).rstrip("\n")
        text += f"{before}  - step: s{number}\n    tool:\n      kind: python\n      code: |\n"
        text += "".join(f"        {line}\n" if line else "\n" for line in code.split("\n"))
    playbook = read(to_yaml(book(text)), "x").checked()
    lines = lines_of(HEAD + text)
    for number, step in enumerate(playbook.workflow):
        written = where(playbook, number, 0, "code")
        assert written is not None
        for index, line in enumerate(step.tool[0].fields["code"].rstrip("\n").split("\n"), 1):
            assert lines[written.line_of(index) - 1].strip() == line.strip()
