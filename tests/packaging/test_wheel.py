"""What is published: a wheel and an sdist that work in an empty environment, with and without extras."""

from __future__ import annotations

import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatch_ui import UiHook
from support.environments import called, install, made_of, only, packages_of, wanted

from petra.tools.registry import NEEDS

pytestmark = pytest.mark.slow

EXTRAS = {
    "postgres": "asyncpg, petra.store.postgres, petra.tools.postgres, petra.tools.postgres_bulk",
    "duckdb": "duckdb, petra.tools.duckdb, petra.tools.duckdb_many",
    "s3": "obstore, petra.objects.bucket",
    "lsp": "pygls, petra.cli.language_server",
    "server": "litestar, uvicorn, httptools, websockets, joserfc, petra.cli.dev, petra.cli.serve, petra.server.app, petra.accounts.oidc",
    "worker": "websockets, petra.cli.worker, petra.worker.remote",
    "mcp": "mcp, petra.tools.mcp",
    "speed": "uvloop",
    "otel": "opentelemetry.sdk, opentelemetry.exporter.otlp.proto.http, petra.telemetry.otel",
    "nats": "nats, petra.engine.trigger_nats",
}
"""What each brings, and what of Petra works by it: what comes first is missing without it."""
TOGETHER = {("mcp", "server"): "petra.cli.agent_pipe, petra.server.agents_door"}

VERBS: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    ("server", ("serve",), {}),
    ("server", ("dev",), {}),
    ("lsp", ("lsp",), {}),
    ("mcp,server", ("mcp",), {}),
    ("worker", ("worker", "--server", "http://127.0.0.1:1"), {}),
    ("postgres", ("ps", "--store", "postgresql://127.0.0.1:1/x"), {}),
    ("s3", ("run", "hello.yaml", "--objects", "s3://bucket"), {}),
    ("speed", ("run", "hello.yaml"), {"PETRA_LOOP": "uvloop"}),
)
TOOL = "from petra.tools.registry import Registry; Registry().tool('{kind}')"


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = called(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=root)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def rebuilt(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that was made of the sdist."""
    (source,) = built.glob("*.tar.gz")
    folder = tmp_path_factory.mktemp("rebuilt")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "wheel")
    alone = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation")
    done = called(*pip, *alone, "--wheel-dir", folder, source)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def empty(rebuilt: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing but Petra, out of the sdist, and what it needs."""
    here = packages_of(Path(sys.prefix))
    environment = made_of(here, wanted(here, ()) - {"petra"}, tmp_path_factory.mktemp("empty"))
    install(environment, rebuilt)
    return environment


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


def test_what_is_built_of_the_sdist_is_the_wheel(built: Path, rebuilt: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert rebuilt.name == wheel.name
    assert _sums(rebuilt) == _sums(wheel)


def _sums(wheel: Path) -> dict[str, int]:
    """Return the checksum of each file."""
    return {file.filename: file.CRC for file in zipfile.ZipFile(wheel).infolist()}


def first_playbook(folder: Path, *petra: str | Path) -> None:
    """Do what somebody does first."""
    for words in (
        ["init", "hello"],
        ["check", "hello.yaml"],
        ["test", "hello.test.yaml"],
        ["run", "hello.yaml"],
        ["verify"],
        ["explain", "P203"],
    ):
        done = called(*petra, *words, cwd=folder)
        assert done.returncode == 0, (words, done.stdout, done.stderr)


def test_a_first_playbook_runs_and_what_is_missing_is_named(empty: Path, tmp_path: Path) -> None:
    petra = (empty / "bin/python", "-m", "petra")
    first_playbook(tmp_path, *petra)
    for extra, words, more in VERBS:
        missing = called(*petra, *words, cwd=tmp_path, **more)
        assert missing.returncode == 1, (words, missing.stdout)
        assert f"petra[{extra}]" in missing.stderr, words
        # the stem of workers begins before anybody could say it
        assert "Traceback" not in missing.stderr or extra == "speed", words


def test_every_extra_alone_brings_what_its_part_of_petra_needs(
    empty: Path, root: Path, tmp_path: Path
) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == {*EXTRAS, "all"}
    here = packages_of(Path(sys.prefix))
    packages = {**here, "petra": packages_of(empty)["petra"]}
    assert wanted(packages, ["all"]) == wanted(packages, EXTRAS)
    without = only(here, wanted(packages, ()))
    alone = [((extra,), parts) for extra, parts in EXTRAS.items()]
    python = (sys.executable, "-I", "-X", f"pycache_prefix={tmp_path}", "-c")
    for extras, parts in [*alone, *TOGETHER.items()]:
        done = called(*python, f"{only(here, wanted(packages, extras))}\nimport {parts}")
        assert done.returncode == 0, (extras, done.stderr)
        missing = called(*python, f"{without}\nimport {parts.partition(',')[0]}")
        assert "ModuleNotFoundError" in missing.stderr, extras
    for kind in NEEDS:
        lacking = called(*python, f"{without}\n{TOOL.format(kind=kind)}")
        assert f"install petra[{kind}] at its worker" in lacking.stderr
