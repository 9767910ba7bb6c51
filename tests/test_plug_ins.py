"""Plug-ins are found where they are announced, and cost nothing where they are not."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from petra.plug_ins import entry_points

METADATA = "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n"


def announce(folder: Path, text: str) -> None:
    about = folder / "thing-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(METADATA)
    (about / "entry_points.txt").write_text(text)


def test_what_a_package_announces_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    announce(tmp_path, "[petra.tools]\nodd = odd:Odd\n")
    assert entry_points("petra.tools") == []
    monkeypatch.syspath_prepend(tmp_path)
    (found,) = entry_points("petra.tools")
    assert (found.name, found.value) == ("odd", "odd:Odd")
    assert entry_points("petra.secret_managers") == []


def test_what_an_archive_announces_is_found_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("thing-1.0.dist-info/METADATA", METADATA)
        made.writestr("thing-1.0.dist-info/entry_points.txt", "[petra.tools]\nodd = odd:Odd\n")
    monkeypatch.syspath_prepend(archive)
    assert [found.name for found in entry_points("petra.tools")] == ["odd"]


def test_without_plug_ins_the_library_is_not_loaded() -> None:
    code = (
        "import sys; from petra.tools.registry import learn_plug_ins; learn_plug_ins();"
        " sys.exit('importlib.metadata' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
