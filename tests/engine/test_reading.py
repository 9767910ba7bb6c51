"""Starting by path: a text is read once, and whoever changes a file, or one it names or calls, is never answered from memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from petra.embedded.reading import FILES_MAX, Readings
from petra.playbook import InvalidPlaybookError

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: %s}\nworkflow:\n"
PLAIN = HEAD % "plain" + "  - step: only\n    tool: {kind: python, code: 'result = 1'}\n"


def _file(folder: Path, text: str, name: str = "book.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_the_same_text_is_the_same_playbook_and_another_text_another(tmp_path: Path) -> None:
    readings, file = Readings(), _file(tmp_path, PLAIN)
    first, _ = readings.around(file)
    assert readings.around(file)[0] is first
    _file(tmp_path, PLAIN.replace("result = 1", "result = 2"))
    second, _ = readings.around(file)
    assert second.workflow[0].tool[0].fields["code"] == "result = 2"
    assert readings.around(file)[0] is second


def test_what_was_right_once_is_refused_when_it_is_wrong(tmp_path: Path) -> None:
    readings, file = Readings(), _file(tmp_path, PLAIN)
    readings.around(file)
    _file(tmp_path, PLAIN.replace("kind: python", "kind: pyhton"))
    for _ in range(2):
        with pytest.raises(InvalidPlaybookError):
            readings.around(file)
    file.unlink()
    with pytest.raises(FileNotFoundError):
        readings.around(file)


@pytest.mark.spec("S16")
def test_who_calls_another_playbook_sees_it_as_it_is_now(tmp_path: Path) -> None:
    readings = Readings()
    child = PLAIN.replace("plain", "child")
    _file(tmp_path, child, "child.yaml")
    call = "  - step: call\n    tool: {kind: playbook, path: child}\n"
    file = _file(tmp_path, HEAD % "parent" + call)
    for code in ("result = 1", "result = 2"):
        _file(tmp_path, child.replace("result = 1", code), "child.yaml")
        _, beside = readings.around(file)
        (found,) = beside.playbooks.values()
        assert found.workflow[0].tool[0].fields["code"] == code


def test_who_names_a_file_beside_it_has_what_that_says_now(tmp_path: Path) -> None:
    readings = Readings()
    file = _file(
        tmp_path,
        HEAD % "named" + "  - step: only\n    tool: {kind: python, function: 'own:main'}\n",
    )
    for number in (1, 2):
        _file(tmp_path, f"def main():\n    return {number}\n", "own.py")
        playbook, _ = readings.around(file)
        assert f"return {number}" in playbook.workflow[0].tool[0].fields["modules"]["own"]


@pytest.mark.slow
def test_so_many_files_are_remembered_and_no_more(tmp_path: Path) -> None:
    readings = Readings()
    files = [_file(tmp_path, PLAIN, f"{number}.yaml") for number in range(FILES_MAX + 1)]
    found = [readings.around(file)[0] for file in files]
    assert readings.around(files[-1])[0] is found[-1]
    assert readings.around(files[0])[0] is not found[0]
