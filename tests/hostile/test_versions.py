"""Workers and servers of the version before, and of the one after: an execution gets done, whoever of them does it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hostile.harness import Fake, Scene, fake, play
from hostile.test_frames import BOOK
from worker.desk import Desk, ProbeTools, digest_of, playbook, scenario

from petra.playbook import to_yaml
from petra.wire import frames as f
from petra.wire.connection import UNKNOWN_MAX

RECORDED = Path(__file__).parents[1] / "wire/recorded"
VERSIONS = ["before", "after"]


def recorded(who: str, tag: str) -> dict[str, Any]:
    """Return what the version before said: a frame of a kind, as a map."""
    [last] = sorted(RECORDED.glob("*.json"))[-1:]
    lines = json.loads(last.read_text("utf-8"))
    [raw] = [raw for by, kind, raw in lines if (by, kind) == (who, tag)]
    found: dict[str, Any] = msgspec.msgpack.decode(base64.b64decode(raw))
    return found


def said(version: str, who: str, tag: str, **fields: Any) -> dict[str, Any]:
    """Return a frame as a version writes it: with the fields that it has, and these values."""
    frame = {**recorded(who, tag), **fields}
    return frame if version == "before" else {**frame, "added_later": [{"deep": 1}]}


async def beside(one: Fake, version: str) -> None:
    """Say what only the version after knows."""
    if version == "after":
        await one.data(frame="measured", cpu=0.5, leases=["x"])


@pytest.mark.spec("S22")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_worker_of_another_version_does_a_run(version: str, tmp_path: Path) -> None:
    """It says what it says in its own shape; the numbers and names in it are those of this run."""

    async def case(scene: Scene) -> None:
        async with fake(scene) as one:
            fields = {"pool": "hostile", "leases": [], "credit": 1}
            await one.data(**said(version, "worker", "hello", **fields))
            await beside(one, version)
            await scene.start(BOOK)
            text = await one.heard(f.PlaybookText)
            await one.data(**said(version, "worker", "checked", digest=text.digest, missing=[]))
            await one.data(**said(version, "worker", "want", digests=[text.digest], shared=[]))
            assert (await one.heard(f.PlaybookText)).text == text.text
            [given] = (await one.heard(f.Assignments)).assignments
            await beside(one, version)
            await one.data(**said(version, "worker", "heartbeat", leases=[given.lease]))
            await one.data(
                **said(version, "worker", "retrying", execution=given.execution, run=given.run)
            )
            await one.data(**said(version, "worker", "log", lines=[], dropped={}))
            [report] = recorded("worker", "report")["reports"][:1]
            report |= {"execution": given.execution, "run": given.run, "lease": given.lease}
            report |= {"delivery": given.delivery, "added_later": 1}
            report["report"] = {"status": "ok", "result": 7, "added_later": 1}
            await one.data(**said(version, "worker", "report", reports=[report]))
            result = await scene.ended()
            assert (result.status, result.output) == ("completed", 7)
            await one.data(**said(version, "worker", "credit", slots=1))
            await one.data(**said(version, "worker", "drain"))
            await one.data(**said(version, "worker", "bye", leases=[]))
            assert scene.engine.roster.unknown == (2 if version == "after" else 0)
            assert not any("dropped" in notice for notice in scene.notices)

    play("sqlite", tmp_path, case, with_worker="helped", lease_s=3_600)


@pytest.mark.spec("S22")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_of_another_version_has_a_run_done(version: str) -> None:
    book = playbook("- step: s\n  tool: {name: t, kind: http, url: 'x'}\n")

    async def conversation(desk: Desk, _worker: Any, _clock: Any) -> None:
        def tell(frame: dict[str, Any]) -> None:
            assert desk.end is not None
            desk.end._peer._deliver(msgspec.msgpack.encode(frame))

        if version == "after":
            tell({"frame": "advice", "of": [{}]})
        told = {"digest": digest_of(book), "text": to_yaml(book), "gives": False}
        tell(said(version, "server", "playbook", **told))
        [assignment] = recorded("server", "assign")["assignments"]
        for name in (
            "chunk",
            "iterations",
            "gather",
            "shared",
            "more",
            "total",
            "width",
            "delivery",
        ):
            assignment.pop(name)
        assignment |= {"playbook": digest_of(book), "step": "s"}
        assignment["scope"] = {"workload": {}, "ctx": {}, "args": {}}
        tell(said(version, "server", "assign", assignments=[assignment]))
        report = await desk.report()
        assert (report.execution, report.run, report.lease) == ("e1", "r1", "l1")
        assert report.report is not None
        assert report.report.status == "ok"
        tell(said(version, "server", "ack", leases=[], parts=[["l1", 1]]))
        tell(said(version, "server", "cancel", runs=[], leases=["other"]))
        tell(said(version, "server", "shared"))
        tell(said(version, "server", "further", lease="other"))
        tell(said(version, "server", "revealed", number=99))
        assert desk.connections == 1

    scenario(conversation, ProbeTools())


@pytest.mark.spec("S22")
def test_a_flood_of_unknown_frames_ends_the_connection_of_that_worker_only(tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        async with fake(scene) as one:
            await one.hello()
            await scene.start(BOOK)
            await one.heard(f.Assignments)
            for _ in range(UNKNOWN_MAX):
                await one.data(frame="obey")
            await one.frame(f.Heartbeat(leases=[]))  # which makes room for one
            await one.data(frame="obey")
            await scene.bystander()
            assert "run.redelivered" not in await scene.types()
            await one.data(frame="obey")
            await one.dropped()
            assert any("1,002 unknown frames, 'obey'" in notice for notice in scene.notices)
            await scene.logged("run.redelivered")

    play("sqlite", tmp_path, case, with_worker="helped", lease_s=3_600)


def test_an_unknown_frame_before_hello_is_none(tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        async with fake(scene) as one:
            await one.data(frame="obey")
            await one.dropped()
            assert any("'obey' before hello" in notice for notice in scene.notices)

    play("sqlite", tmp_path, case, with_worker="helped")


def test_a_flood_of_unknown_frames_of_a_server_makes_its_worker_connect_anew_after_a_while() -> (
    None
):
    async def conversation(desk: Desk, _worker: Any, clock: Any) -> None:
        assert desk.end is not None
        for _ in range(UNKNOWN_MAX + 1):
            desk.end._peer._deliver(msgspec.msgpack.encode({"frame": "advice"}))
        await clock.advance(60)
        await desk.until(lambda: len(desk.all(f.Hello)) == 2)

    scenario(conversation, ProbeTools())
