"""A secret that is not on the worker: nothing of the playbook begins there, and a person is told (S20)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from engine_support import local

from petra.clock import SystemClock
from petra.embedded import Local
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.playbook import read
from petra.store.memory import MemoryStore

HEAD = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: p}
keychain: [{name: k, kind: env, var: PETRA_TEST_SECRET}]
workflow:
"""
LATER = read(
    HEAD
    + """\
  - {step: first, tool: {kind: python, code: "result = 1"}, next: {arcs: [{step: second}]}}
  - {step: second, tool: {kind: python, args: {n: "{{ keychain.k }}"}, code: "result = 2"}}
"""
).checked()
UNUSED = read(
    HEAD
    + """\
  - {step: first, tool: {kind: python, code: "result = 1"}}
  - step: never
    spec: {pool: elsewhere}
    tool: {kind: python, args: {n: "{{ keychain.k }}"}, code: "result = 2"}
"""
).checked()


def engine(use: Callable[[Local], Awaitable[None]]) -> None:
    async def using() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            await asyncio.wait_for(use(petra), 60)

    asyncio.run(using())


@pytest.mark.spec("S20", "002§2.1-3")
def test_a_missing_secret_is_an_incident_before_any_task_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PETRA_TEST_SECRET", raising=False)

    async def use(petra: Local) -> None:
        result = await petra.run(LATER, execution="x")
        assert (result.status, result.reason) == ("stuck", "incident")
        records = [record.event for record in await petra.records("x")]
        (raised,) = (one for one in records if isinstance(one, e.IncidentRaised))
        assert "PETRA_TEST_SECRET is not set" in raised.message
        assert raised.step == "first"
        assert not any(isinstance(one, e.StepDone | e.StepFailed) for one in records)

    engine(use)


@pytest.mark.spec("S20", "S11")
def test_who_mended_it_has_the_step_handed_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PETRA_TEST_SECRET", raising=False)

    async def use(petra: Local) -> None:
        await petra.run(LATER, execution="x")
        monkeypatch.setenv("PETRA_TEST_SECRET", "v")
        await petra.desk.give(petra.who, "x", c.Retry(now=0.0, step="first"))
        assert (await petra.rest("x")).status == "completed"

    engine(use)


@pytest.mark.spec("S20")
def test_a_secret_that_only_another_pool_uses_is_none_of_its_business(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PETRA_TEST_SECRET", raising=False)

    async def use(petra: Local) -> None:
        assert (await petra.run(UNUSED, execution="x")).status == "completed"

    engine(use)
