"""Environments for Python code: built once, shared, recorded; from a wheel that the test makes, without a network."""

from __future__ import annotations

import asyncio
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.attempts import bad, good, run, with_tools

from petra.tools import environments
from petra.tools.base import ToolContext, ToolError
from petra.tools.environments import Environments, checked, key_of
from petra.tools.registry import Registry

pytestmark = pytest.mark.spec("S22")


def wheel(folder: Path, name: str, version: str, text: str) -> None:
    """Make a wheel of one module."""
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as made:
        made.writestr(f"{name}.py", text)
        made.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        made.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        made.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")  # fmt: skip


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    wheel(folder, "petra_probe", "1.0", "N = 1\n")
    wheel(folder, "petra_probe", "2.0", "N = 2\n")
    return folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared") / "environments"


@pytest.fixture(autouse=True)
def offline(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PETRA_ENVIRONMENTS", str(tmp_path / "environments"))


def python(code: str, *requirements: str, **spec: Any) -> Any:
    own = {"python": {"requirements": list(requirements), **spec.pop("python", {})}, **spec}
    return run("python", {"code": code}, spec=own)


@pytest.mark.slow
def test_code_runs_with_its_packages_and_without_those_of_the_worker(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETRA_ENVIRONMENTS", str(shared))
    code = (
        "import petra_probe, importlib.util as u\n"
        "def main(n): return [petra_probe.N + n, u.find_spec('msgspec') is None, u.find_spec('petra.errors') is None]"
    )
    spec = {"python": {"requirements": ["petra_probe==1.0"]}}
    outcome = run("python", {"code": code}, spec=spec, scope={"n": 4})
    # of Petra only the few files that the child itself runs with can be seen
    assert good(outcome)[:2] == [5, True]
    (record,) = shared.glob("*/petra.json")
    assert outcome.more["py"]["environment"] in record.read_text()
    before = record.stat().st_mtime_ns

    failing = run("python", {"code": "import petra_probe\n1 / 0"}, spec=spec)
    assert bad(failing).message.startswith("ZeroDivisionError")
    assert failing.more["py"]["environment"] == outcome.more["py"]["environment"]
    assert record.stat().st_mtime_ns == before


@pytest.mark.slow
def test_two_workers_that_ask_at_once_build_once(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []
    install = environments._install

    async def counted(place: Path, wanted: list[str]) -> list[str]:
        built.append(place)
        return await install(place, wanted)

    monkeypatch.setattr(environments, "_install", counted)

    async def scenario() -> None:
        one, two = Environments(shared), Environments(shared)
        asked = ["petra_probe>=2"]
        found = await asyncio.gather(*(them.get(asked) for them in (one, two, one, two)))
        assert len(set(found)) == 1
        assert await Environments(shared).get(asked) == found[0]

    asyncio.run(scenario())
    assert len(built) == 1


@pytest.mark.slow
def test_a_package_that_is_not_there_is_an_error_that_says_so_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    error = bad(python("result = 1", "petra_probe==9"))
    assert error.kind == "client_error"
    assert error.message.startswith("the environment cannot be filled with petra_probe==9: ")
    left = [path.name for path in (tmp_path / "environments").iterdir() if path.suffix != ".lock"]
    assert left == []


def test_a_build_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    error = bad(python("result = 1", "petra_probe==1.0", python={"timeout_s": 0.001}))
    assert (error.kind, error.retryable) == ("timeout", True)
    assert "was not built within 0.001 s: petra_probe==1.0" in error.message
    left = [path.name for path in (tmp_path / "environments").iterdir() if path.suffix != ".lock"]
    assert left == []


@pytest.mark.parametrize(
    "requirement",
    ["--index-url=http://127.0.0.1", "-r /etc/passwd", " -e .", "a\nb", "a\\", "# x", "", "x" * 501, "a\0b", 7, None],
)  # fmt: skip
def test_what_is_no_requirement_is_refused_before_anything_is_built(
    requirement: object, tmp_path: Path
) -> None:
    spec = {"python": {"requirements": [requirement]}}
    error = bad(run("python", {"code": "result = 1"}, spec=spec))
    assert (error.kind, "is no requirement" in error.message) == ("client_error", True)
    assert not (tmp_path / "environments").exists()


@pytest.mark.parametrize("spec", [{"requirements": "six"}, {"requirements": ["a"] * 201}, 7])
def test_requirements_are_a_list_of_bounded_length(spec: object) -> None:
    error = bad(run("python", {"code": "result = 1"}, spec={"python": spec}))
    assert error.kind == "client_error"
    with pytest.raises(ToolError):
        checked("six")


def test_requirements_need_a_process() -> None:
    error = bad(python("result = 1", "petra_probe", isolation="thread"))
    assert (
        error.message
        == "python.requirements need a process of their own, and isolation is 'thread'"
    )
    assert not Registry().tool("python").blocks({"python": {"requirements": ["x"]}})  # type: ignore[attr-defined]


def test_the_key_is_what_is_asked_for() -> None:
    assert key_of(["a==1"]) == key_of(["a==1"])
    assert len({key_of(["a==1"]), key_of(["a==2"]), key_of(["a==1", "b"])}) == 3


def fake(gate: asyncio.Event | None = None, begun: asyncio.Event | None = None) -> Any:
    async def install(place: Path, _wanted: list[str]) -> list[str]:
        (place / "bin").mkdir(parents=True)
        (place / "bin/python").symlink_to("/bin/true")
        if begun is not None:
            begun.set()
        if gate is not None:
            await gate.wait()
        return ["x==1"]

    return install


def test_what_a_crash_left_half_built_is_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "own"
    (folder / key_of(["x"]) / "bin").mkdir(parents=True)
    (folder / key_of(["x"]) / "petra.json").write_text('{"half"')
    folder.chmod(0o700)
    monkeypatch.setattr(environments, "_install", fake())
    found = asyncio.run(Environments(folder).get(["x"]))
    assert found.python.is_symlink()


def test_who_gives_up_leaves_the_build_to_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        gate, begun = asyncio.Event(), asyncio.Event()
        monkeypatch.setattr(environments, "_install", fake(gate, begun))
        them = Environments(tmp_path / "own")
        first, second = (asyncio.create_task(them.get(["x"])) for _ in "ab")
        await begun.wait()
        first.cancel()
        await asyncio.wait([first])
        gate.set()
        assert (await second).python.is_symlink()
        assert first.cancelled()

    asyncio.run(scenario())


def test_closing_the_tool_stops_a_build_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        begun = asyncio.Event()
        monkeypatch.setattr(environments, "_install", fake(asyncio.Event(), begun))
        them = Environments(tmp_path / "own")
        waiting = asyncio.create_task(them.get(["x"]))
        await begun.wait()
        await them.close()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        assert [path.suffix for path in (tmp_path / "own").iterdir()] == [".lock"]

    asyncio.run(scenario())


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir(0o700)
    (tmp_path / "environments").chmod(0o777)
    error = bad(python("result = 1", "petra_probe"))
    assert (error.kind, "others can write there" in error.message) == ("denied", True)


def test_nothing_of_the_worker_reaches_a_build_but_how_packages_are_found() -> None:
    given = {"PIP_INDEX_URL": "x", "UV_CACHE_DIR": "y", "https_proxy": "z", "DATABASE_URL": "secret", "PATH": "/bin"}  # fmt: skip
    found = environments._variables(given)
    assert "DATABASE_URL" not in found
    assert {found["PIP_INDEX_URL"], found["UV_CACHE_DIR"], found["https_proxy"]} == {"x", "y", "z"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_without_uv_it_is_venv(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setenv("PETRA_ENVIRONMENTS", str(shared))
    code = "import petra_probe; result = petra_probe.N"
    assert good(python(code, "petra_probe==2.0")) == 2


def test_a_task_may_run_while_another_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = asyncio.Event()
    monkeypatch.setattr(environments, "_install", fake(gate))

    async def scenario(registry: Registry) -> None:
        spec = {"python": {"requirements": ["x"]}}
        building = asyncio.create_task(
            registry.attempt("python", {"code": "result = 1"}, ToolContext(spec=spec))
        )
        assert good(await registry.attempt("python", {"code": "result = 2"}, ToolContext())) == 2
        building.cancel()
        await asyncio.wait([building])

    with_tools(scenario)
