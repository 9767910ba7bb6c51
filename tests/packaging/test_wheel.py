"""What is published: a wheel and an sdist that work in an empty environment, with and without extras."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from hatch_ui import UiHook

pytestmark = pytest.mark.slow

IMPORTS = {
    "postgres": "asyncpg",
    "duckdb": "duckdb",
    "s3": "obstore",
    "lsp": "pygls",
    "server": "litestar, uvicorn, websockets",
    "worker": "websockets",
    "mcp": "mcp",
    "speed": "uvloop",
    "otel": "opentelemetry.sdk, opentelemetry.exporter.otlp.proto.http",
    "nats": "nats",
}


def called(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("PETRA_", "PYTHON"))
    }
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = called(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=root)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def empty(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing but Petra and what it needs."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder)
    (wheel,) = built.glob("*.whl")
    install(folder / "bin", str(wheel))
    return folder / "bin"


def install(programs: Path, what: str) -> None:
    """Install with the pip that is here, and compile nothing that nobody imports: each takes longer than all the rest."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python")
    done = called(*pip, programs / "python", "install", "--quiet", "--no-compile", what)
    assert done.returncode == 0, done.stderr


def test_the_archives_hold_the_product_and_nothing_else(built: Path) -> None:
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"petra"}
    assert any(name.endswith("py.typed") for name in names)
    assert any(name.endswith("LICENSE") for name in names)
    assert "petra/server/ui/index.html" in names
    assert any(name.startswith("petra/server/ui/assets/") for name in names)
    assert not [name for name in names if "__pycache__" in name]
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2].partition("/")[0] for name in archive.getnames()}
    assert {"src", "tests", "LICENSE", "README.md", "pyproject.toml"} <= inside
    assert not inside & {".venv", ".petra", "dist", ".git"}


def test_a_wheel_without_the_web_ui_is_refused_and_work_on_it_is_not(tmp_path: Path) -> None:
    hook = UiHook(str(tmp_path), {}, None, None, "", "wheel")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="make ui"):
        hook.initialize("standard", {})
    hook.initialize("editable", {})
    index = tmp_path / "src/petra/server/ui/index.html"
    index.parent.mkdir(parents=True)
    index.write_text("<!doctype html>")
    hook.initialize("standard", {})


def test_a_first_playbook_runs_and_what_is_missing_is_named(empty: Path, tmp_path: Path) -> None:
    petra = empty / "petra"
    assert called(petra, "init", "hello", cwd=tmp_path).returncode == 0
    for words in (
        ["check", "hello.yaml"],
        ["test", "hello.test.yaml"],
        ["run", "hello.yaml"],
        ["verify"],
        ["explain", "P203"],
    ):
        done = called(petra, *words, cwd=tmp_path)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    for verb, extra in (
        (["serve"], "server"),
        (["lsp"], "lsp"),
        (["worker", "--server", "http://127.0.0.1:1"], "worker"),
    ):
        missing = called(petra, *verb, cwd=tmp_path)
        assert missing.returncode == 1
        assert f"petra[{extra}]" in missing.stderr


def test_every_extra_brings_what_it_promises(built: Path, empty: Path, root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"]) - {"all"}
    assert extras == set(IMPORTS)
    (wheel,) = built.glob("*.whl")
    install(empty, f"{wheel}[all]")
    for modules in IMPORTS.values():
        assert called(empty / "python", "-c", f"import {modules}").returncode == 0
