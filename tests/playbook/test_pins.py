"""Files beside a playbook: taken along when it is read, from nowhere else, and part of its digest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from petra.folder_files import read_file
from petra.playbook import Reading, read, to_yaml
from petra.playbook.migrate import migrate
from petra.playbook.write import to_plain
from petra.playbook.yaml12 import TEXT_BYTES_MAX
from petra.values import digest

pytestmark = pytest.mark.spec("S22", "S3")

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\nworkflow:\n"


def reading(folder: Path, task: str) -> Reading:
    file = folder / "p.yaml"
    file.write_text(f"{HEAD}  - step: a\n    tool: {{{task}}}\n")
    return read_file(file)


def told(folder: Path, task: str) -> str:
    (problem,) = reading(folder, task).problems
    assert (problem.code, problem.severity, problem.line) == ("P130", "error", 6)
    assert problem.column == 12 + task.index("file: ") + len("file: ")
    return f"{problem.message}; {problem.hint}"


def test_what_a_file_says_is_part_of_the_playbook_and_of_its_digest(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    (tmp_path / "q/x.sql").write_text("SELECT 1")
    task = "kind: sqlite, database: d, file: q/x.sql"
    first = reading(tmp_path, task).checked()
    assert first.workflow[0].tool[0].fields["command"] == "SELECT 1"
    (tmp_path / "q/x.sql").write_text("SELECT 2")
    second = reading(tmp_path, task).checked()
    assert first.workflow[0].tool[0].fields["command"] == "SELECT 1"
    assert digest(to_plain(first)) != digest(to_plain(second))


def test_a_playbook_that_travels_has_its_files_in_it(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import y\n\ndef main():\n    return y.N\n")
    (tmp_path / "y.py").write_text("N = 1  # {{ no template }}\n")
    sent = reading(tmp_path, "kind: python, file: x.py").checked()
    arrived = read(to_yaml(sent), "elsewhere").checked()
    assert arrived == sent
    assert digest(to_plain(arrived)) == digest(to_plain(sent))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("zzz", "is not there; paths begin at the playbook's folder"),
        ("near.p", "is not there; did you mean 'near.py'?"),
        ("near.py/x", "is not there"),
        ("../p.yaml", "is not below the folder"),
        ("a/../../p.yaml", "is not below the folder"),
        ("/etc/hostname", "is not below the folder"),
        ("out", "is a link that leads out"),
        ("way/p.yaml", "is a link that leads out"),
        ("inner", "is a folder"),
        ("pipe", "it is no plain file"),
        ("binary", "is not text in UTF-8"),
        ("large", "has more than 1024 KiB"),
        ('"a\\0b"', "has no path that can be"),
        ('""', "has no path that can be"),
        ('"a\\\\b"', "has no path that can be"),
        ('"' + "x" * 5000 + '"', "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_taken_along_is_told_at_its_place(
    tmp_path: Path, path: str, words: str
) -> None:
    folder = tmp_path / "in"
    (folder / "inner").mkdir(parents=True)
    (folder / "near.py").write_text("x = 1")
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    (folder / "large").write_bytes(b"x" * (TEXT_BYTES_MAX + 1))
    (tmp_path / "secret").write_text("key")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "way").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    assert words in told(folder, f"kind: python, file: {path}")


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("result = 1")
    (tmp_path / "link.py").symlink_to("real.py")
    playbook = reading(tmp_path, "kind: python, file: link.py").checked()
    assert playbook.workflow[0].tool[0].fields["code"] == "result = 1"


def test_code_and_file_exclude_each_other_and_one_is_needed(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("result = 1")
    both = reading(tmp_path, "kind: python, code: x, file: x.py").problems
    assert [p.code for p in both] == ["P122"]
    none = reading(tmp_path, "kind: postgres, url: x").problems
    assert [(p.code, p.message) for p in none] == [
        ("P102", "a 'postgres' task needs one of 'command', 'file', 'copy'")
    ]


def test_code_in_a_file_that_cannot_be_compiled_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("a = 1\nb = (\n")
    (problem,) = reading(tmp_path, "kind: python, file: x.py").problems
    assert (problem.code, problem.line) == ("P127", 6)
    assert problem.message.startswith("x.py, line 2: the Python code of task 'a_task' cannot be")


@pytest.mark.slow
def test_files_that_are_too_large_together_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.sql").write_text("SELECT 1 -- " + "x" * 600_000)
    text = f"{HEAD}  - step: a\n    tool:\n" + "      - {kind: duckdb, file: x.sql}\n" * 2
    (tmp_path / "p.yaml").write_text(text)
    problems = read_file(tmp_path / "p.yaml").problems
    assert [(p.code, p.line) for p in problems] == [("P003", 7)]


def test_modules_beside_the_playbook_come_along_with_what_they_import(tmp_path: Path) -> None:
    (tmp_path / "prices.py").write_text("import json, rates\ndef total(n): return rates.of(n)\n")
    (tmp_path / "rates.py").write_text("import prices\nfrom other import x\ndef of(n): return 2 * n\n")  # fmt: skip
    (tmp_path / "json.py").write_text("raise SystemExit\n")
    (tmp_path / "unused.py").write_text("")
    playbook = reading(tmp_path, "kind: python, function: 'prices:total'").checked()
    assert list(playbook.workflow[0].tool[0].fields["modules"]) == ["prices", "rates"]
    inline = reading(tmp_path, "kind: python, code: 'def main(): from rates import of'").checked()
    assert list(inline.workflow[0].tool[0].fields["modules"]) == ["prices", "rates"]


def test_a_function_of_the_worker_stays_one(tmp_path: Path) -> None:
    for function in ("json:dumps", "nowhere:main", "a.b:c"):
        playbook = reading(tmp_path, f"kind: python, function: '{function}'").checked()
        assert "modules" not in playbook.workflow[0].tool[0].fields


def test_migrating_leaves_files_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "x.sql").write_text("SELECT 1")
    found = reading(tmp_path, "kind: sqlite, database: d, file: x.sql, set: {ctx.n: 1}")
    from petra.folder_files import FolderFiles  # noqa: PLC0415

    migrated = migrate(found.text, "p.yaml", files=FolderFiles(tmp_path))
    assert migrated.changed
    assert "file: x.sql" in migrated.text
    assert "SELECT" not in migrated.text


def test_what_others_take_along_is_checked_like_any_field() -> None:
    text = f"{HEAD}  - {{step: a, tool: {{kind: python, code: x, modules: {{y: 7}}}}}}\n"
    assert [p.code for p in read(text).problems] == ["P103"]


def package(folder: Path) -> None:
    """Lay a package into a folder: modules that import each other in every way there is."""
    files = {
        "shop/__init__.py": "from .prices import total\nNAME = 'shop'\n",
        "shop/prices.py": "from . import rates\nfrom .deep.taxes import tax\nimport json\n\n"
        "def total(n):\n    return rates.of(n) + tax(n)\n",
        "shop/rates.py": "def of(n):\n    return 2 * n\n",
        "shop/deep/taxes.py": "from ..limits import MOST\n\ndef tax(n):\n    return min(n, MOST)\n",
        "shop/limits.py": "MOST = 1\n",
        "shop/unused.py": "raise SystemExit\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


PACKED = [
    "shop.__init__",
    "shop.deep.__init__",
    "shop.deep.taxes",
    "shop.limits",
    "shop.prices",
    "shop.rates",
]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("kind: python, function: 'shop:total'", PACKED),
        ("kind: python, function: 'shop.prices:total'", PACKED),
        ("kind: python, code: 'import shop.limits; result = shop.limits.MOST'", PACKED),
        ("kind: python, code: 'from shop.deep import taxes; result = 1'", PACKED),
        ("kind: python, code: 'import shop_, os.path, nowhere.at.all; result = 1'", []),
    ],
)
def test_of_a_package_what_is_imported_is_taken_along(tmp_path: Path, task: str, expected: list[str]) -> None:  # fmt: skip
    package(tmp_path)
    found = reading(tmp_path, task).checked().workflow[0].tool[0].fields.get("modules") or {}
    assert list(found) == expected


def test_a_package_that_travels_is_part_of_the_digest(tmp_path: Path) -> None:
    package(tmp_path)
    task = "kind: python, function: 'shop:total'"
    first = reading(tmp_path, task).checked()
    assert read(to_yaml(first), "elsewhere").checked() == first
    (tmp_path / "shop/limits.py").write_text("MOST = 2\n")
    assert digest(to_plain(reading(tmp_path, task).checked())) != digest(to_plain(first))


def test_a_link_in_a_package_does_not_lead_out(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    package(folder)
    (folder / "shop/limits.py").unlink()
    (tmp_path / "secret.py").write_text("MOST = 3\n")
    (folder / "shop/limits.py").symlink_to(tmp_path / "secret.py")
    (problem,) = reading(folder, "kind: python, function: 'shop:total'").problems
    assert (problem.code, "leads out" in problem.message) == ("P130", True)
