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


def _parent(folder: Path) -> Path:
    call = "  - step: call\n    tool: {kind: playbook, path: child}\n"
    return _file(folder, HEAD % "parent" + call)


@pytest.mark.spec("S16")
def test_who_calls_another_playbook_is_read_once_while_nothing_changes(tmp_path: Path) -> None:
    readings, file = Readings(), _parent(tmp_path)
    _file(tmp_path, PLAIN.replace("plain", "child"), "child.yaml")
    first = readings.around(file)
    again = readings.around(file)
    assert again[0] is first[0]
    assert again[1] is first[1]
    assert list(again[1].playbooks) == ["child.yaml"]


@pytest.mark.spec("S16")
def test_a_playbook_that_appears_where_it_is_found_first_is_called_from_then_on(
    tmp_path: Path,
) -> None:
    shelf, near = tmp_path / "shelf", tmp_path / "near"
    shelf.mkdir()
    near.mkdir()
    readings, file = Readings([shelf]), _parent(near)
    _file(shelf, PLAIN.replace("plain", "child"), "far.yaml")
    assert list(readings.around(file)[1].playbooks) == ["../shelf/far.yaml"]
    _file(near, PLAIN.replace("plain", "child"), "here.yaml")
    assert list(readings.around(file)[1].playbooks) == ["here.yaml"]
    (near / "here.yaml").unlink()
    assert list(readings.around(file)[1].playbooks) == ["../shelf/far.yaml"]


@pytest.mark.spec("S16")
def test_a_called_playbook_that_is_wrong_by_now_is_refused(tmp_path: Path) -> None:
    readings, file = Readings(), _parent(tmp_path)
    child = PLAIN.replace("plain", "child")
    _file(tmp_path, child, "child.yaml")
    readings.around(file)
    _file(tmp_path, child.replace("kind: python", "kind: pyhton"), "child.yaml")
    for _ in range(2):
        with pytest.raises(InvalidPlaybookError):
            readings.around(file)


def test_what_a_called_playbook_names_beside_it_counts_too(tmp_path: Path) -> None:
    readings, file = Readings(), _parent(tmp_path)
    named = HEAD % "child" + "  - step: only\n    tool: {kind: python, function: 'own:main'}\n"
    _file(tmp_path, named, "child.yaml")
    for number in (1, 2):
        _file(tmp_path, f"def main():\n    return {number}\n", "own.py")
        (found,) = readings.around(file)[1].playbooks.values()
        assert f"return {number}" in found.workflow[0].tool[0].fields["modules"]["own"]


def test_a_module_that_becomes_a_package_is_read_as_one(tmp_path: Path) -> None:
    readings = Readings()
    named = HEAD % "named" + "  - step: only\n    tool: {kind: python, function: 'own:main'}\n"
    file = _file(tmp_path, named)
    _file(tmp_path, "def main():\n    return 1\n", "own.py")
    first, _ = readings.around(file)
    assert readings.around(file)[0] is first
    (tmp_path / "own").mkdir()
    _file(tmp_path / "own", "def main():\n    return 2\n", "__init__.py")
    modules = readings.around(file)[0].workflow[0].tool[0].fields["modules"]
    assert modules == {"own.__init__": "def main():\n    return 2\n"}


@pytest.mark.slow
def test_those_that_are_called_count_among_the_remembered(tmp_path: Path) -> None:
    readings, file = Readings(), _parent(tmp_path)
    _file(tmp_path, PLAIN.replace("plain", "child"), "child.yaml")
    first, _ = readings.around(file)
    others = [_file(tmp_path, PLAIN, f"other{number}.txt") for number in range(FILES_MAX - 1)]
    for other in others[1:]:
        readings.around(other)
    assert readings.around(file)[0] is first
    for other in others:
        readings.around(other)
    assert readings.around(file)[0] is not first
