"""The library: which file a call means."""

from __future__ import annotations

from pathlib import Path

import pytest

from petra.library import Library, beside, missing
from petra.playbook import Reading, read
from petra.playbook.calls import Call, calls

pytestmark = pytest.mark.spec("S16", "S1")

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {%s}\nworkflow: [{step: a, tool: {kind: noop}}]\n"


def put(folder: Path, file: str, metadata: str) -> Path:
    (folder / file).write_text(HEAD % metadata, encoding="utf-8")
    return folder / file


def calling(*tasks: str, metadata: str = "name: p", header: str = "petra/v1") -> Reading:
    steps = "".join(
        f"  - {{step: s{n}, tool: {{kind: playbook, {task}}}}}\n" for n, task in enumerate(tasks)
    )
    return read(
        f"apiVersion: {header}\nkind: Playbook\nmetadata: {{{metadata}}}\nworkflow:\n{steps}"
    )


def test_a_playbook_is_found_by_its_path_and_by_its_name(tmp_path: Path) -> None:
    bill = put(tmp_path, "x1.yaml", "name: bill, path: shop/bill")
    ship = put(tmp_path, "x2.yml", "name: ship")
    library = Library(tmp_path)
    assert [library.find(word) for word in ("shop/bill", "bill", "ship")] == [bill, bill, ship]
    assert [library.find(word) for word in ("shop", "", "x3", "/x1.yaml", "../x1")] == [None] * 5


def test_a_file_is_meant_before_a_path_and_a_path_before_a_name(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    file = put(tmp_path, "bill.yaml", "name: something")
    by_path = put(tmp_path, "a.yaml", "name: other, path: sub/bill")
    deep = put(tmp_path / "sub", "bill.yml", "name: deep")
    put(tmp_path, "z.yaml", "name: bill")
    library = Library(tmp_path)
    assert [library.find(word) for word in ("bill", "bill.yaml", "./bill", "sub/../bill")] == [
        file
    ] * 4
    assert library.find("sub/bill") == deep
    deep.unlink()
    assert library.find("sub/bill") == by_path
    assert beside(deep).find("../bill") == file


def test_shelves_are_looked_through_with_their_folders_after_the_callers_own(
    tmp_path: Path,
) -> None:
    near, shelf = tmp_path / "near", tmp_path / "shelf"
    (shelf / "deep").mkdir(parents=True)
    (shelf / ".git").mkdir()
    near.mkdir()
    own = put(near, "a.yaml", "name: bill")
    put(shelf, "b.yaml", "name: bill")
    ship = put(shelf / "deep", "c.yaml", "name: ship")
    put(shelf / ".git", "d.yaml", "name: hidden")
    library = Library(near, shelves=[shelf])
    assert [library.find(word) for word in ("bill", "ship", "hidden")] == [own, ship, None]


def test_a_file_that_is_named_and_cannot_be_read_is_meant_if_no_other_is(tmp_path: Path) -> None:
    broken = tmp_path / "bill.yaml"
    broken.write_text("kind: Playbook\nmetadata: {", encoding="utf-8")
    assert Library(tmp_path).find("bill") == broken
    other = put(tmp_path, "x.yaml", "name: bill")
    assert Library(tmp_path).find("bill") == other


def test_a_path_wins_over_a_name(tmp_path: Path) -> None:
    put(tmp_path, "a.yaml", "name: bill")
    by_path = put(tmp_path, "b.yaml", "name: other, path: bill")
    assert Library(tmp_path).find("bill") == by_path


def test_an_earlier_folder_wins_and_a_version_is_asked_for(tmp_path: Path) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    near.mkdir()
    far.mkdir()
    one = put(near, "a.yaml", "name: bill, version: 1")
    two = put(far, "a.yaml", "name: bill, version: 2")
    library = Library(near, far)
    assert [library.find("bill", version) for version in (None, "1", "2", "3")] == [
        one,
        one,
        two,
        None,
    ]


def test_what_is_no_playbook_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "a.test.yaml", "name: bill")
    (tmp_path / "b.yaml").write_bytes(b"\xff bill")
    (tmp_path / "c.yaml").write_text("metadata: {name: bill", encoding="utf-8")
    (tmp_path / "d.yaml").write_text("metadata: {name: bill}", encoding="utf-8")
    (tmp_path / "e.yaml").write_text("[bill]", encoding="utf-8")
    (tmp_path / "f.yaml").mkdir()
    (tmp_path / "g.yaml").symlink_to(tmp_path / "bill")
    (tmp_path / "h.yaml").write_text("kind: Playbook\nmetadata: {name: [bill]}", encoding="utf-8")
    assert Library(tmp_path).find("bill") is None
    assert Library(tmp_path / "nowhere").find("bill") is None


def test_calls_are_those_of_steps_and_of_compensations_without_templates() -> None:
    playbook = read(
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\n"
        "executor: {spec: {policy: {compensation: both}}}\nworkflow:\n"
        "  - {step: a, tool: {kind: playbook, path: x, version: 2}}\n"
        "  - {step: b, tool: {kind: playbook, path: '{{ workload.x }}'}}\n"
        "  - {step: c, tool: {kind: noop}, spec: {compensate: {tool: {kind: playbook, path: y}}}}\n"
    ).playbook
    assert playbook is not None
    assert list(calls(playbook)) == [
        Call(("workflow", 0, "tool", 0, "path"), "x", "2"),
        Call(("workflow", 2, "spec", "compensate", "tool", 0, "path"), "y", None),
    ]


def test_without_a_catalogue_a_missing_playbook_is_a_warning_with_one_an_error(
    tmp_path: Path,
) -> None:
    library = beside(put(tmp_path, "p.yaml", "name: p"))
    reading = calling("path: nowhere")
    (warned,) = missing(reading, library)
    (refused,) = missing(reading, library, lambda _path, _version: False)
    assert (warned.severity, refused.severity, warned.code) == ("warning", "error", "P401")
    assert (warned.line, warned.column) == (5, 45)
    assert str(tmp_path) in warned.message
    assert "put its file beside" in warned.hint
    assert missing(reading, library, lambda path, _version: path == "nowhere") == []


def test_in_a_noetl_file_it_stays_a_warning(tmp_path: Path) -> None:
    reading = calling("path: nowhere", header="noetl.io/v2")
    (warned,) = missing(reading, Library(tmp_path), lambda _path, _version: False)
    assert warned.severity == "warning"


def test_a_playbook_may_call_itself(tmp_path: Path) -> None:
    assert (
        missing(calling("path: p", "path: q", metadata="name: p, path: q"), Library(tmp_path)) == []
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("path: shop/bil", "did you mean 'shop/bill'?"),
        ("path: ./lib/x1", "the one in x1.yaml is called 'shop/bill'"),
        ("path: bill, version: 9", "x1.yaml has version none"),
    ],
)
def test_the_next_move_names_what_may_have_been_meant(
    tmp_path: Path, call: str, words: str
) -> None:
    put(tmp_path, "x1.yaml", "name: bill, path: shop/bill")
    (found,) = missing(calling(call), Library(tmp_path))
    assert found.hint == words
