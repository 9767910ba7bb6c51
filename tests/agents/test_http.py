"""``/mcp`` of a server: agents elsewhere, each with the token of its own role."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from agents.agent import ADDS, LARGE, PLAIN, REFUND, over_a_pipe, over_http
from server.conftest import Served, serve
from support.later import later

if TYPE_CHECKING:
    import mcp
else:
    mcp = later("mcp")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("agents") / ".petra") as one:
        with one.client() as api:
            for text in (ADDS, REFUND, PLAIN, LARGE):
                assert api.post("/playbooks", json={"text": text}).status_code < 300
        yield one


def token(served: Served, name: str, *roles: str) -> str:
    """Return a token of a service account."""
    with served.client() as api:
        made = api.post("/users", json={"name": name, "service": True, "roles": list(roles)})
        assert made.status_code < 300, made.text
        return str(api.post("/tokens", json={"user": name}).json()["token"])


def test_a_token_says_what_an_agent_may_and_the_log_says_who_did_it(served: Served) -> None:
    viewer = token(served, "looker", "viewer@default")
    operator = token(served, "helper", "operator@default")
    approver = token(served, "judge", "approver@default")

    async def scenario() -> None:
        async with over_http(served.url, viewer) as agent:
            assert not {"start_execution", "complete_work_item", "run_adds"} & set(
                await agent.tools()
            )
            told = await agent.problem("start_execution", path="adds")
            assert told["code"] == "forbidden"
        async with over_http(served.url, operator) as agent:
            tools = set(await agent.tools())
            assert {"start_execution", "cancel_execution", "run_shop_refund"} <= tools
            assert "complete_work_item" not in tools
            begun = await agent.call("run_shop_refund", amount=3)
            [item] = begun["work_items"]
            told = await agent.problem(
                "complete_work_item",
                execution=begun["execution"],
                item=item["id"],
                action="approve",
            )
            assert told["code"] == "forbidden"
        async with (
            over_http(served.url, approver) as judge,
            over_http(served.url, operator) as agent,
        ):
            waits = asyncio.create_task(
                agent.call("wait_for_execution", execution=begun["execution"], after_version=begun["version"], seconds=50)
            )  # fmt: skip
            await judge.call(
                "complete_work_item", execution=begun["execution"], item=item["id"], action="approve", wait=0,
            )  # fmt: skip
            assert (await waits)["status"] == "completed"
            log = await agent.call("list_records", execution=begun["execution"], limit=100)
            actors = {one["event"].get("actor") for one in log["items"]} - {None, ""}
            assert actors == {"helper", "judge"}

    asyncio.run(scenario())
    with served.client() as api:
        acts = [
            (one["actor"], one["act"])
            for one in api.get("/audit", params={"limit": 500}).json()["items"]
        ]
    assert ("helper", "POST /executions") in acts
    assert any(actor == "judge" and act.endswith("/complete") for actor, act in acts)


def test_nobody_comes_in_without_a_token_and_no_page_of_another_site(served: Served) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    owner = {"Authorization": f"Bearer {served.said['token']}"}
    with httpx2.Client(base_url=served.url, headers=accept, timeout=300) as http:
        for headers in ({}, {"Authorization": "Bearer no"}, {"Cookie": "petra_session=x"}):
            told = http.post("/mcp", json=body, headers=headers)
            assert (told.status_code, told.json()["code"]) == (401, "no-credentials")
            assert told.headers["www-authenticate"] == "Bearer"
        told = http.post(
            "/mcp", json=body, headers={**owner, "Origin": "https://elsewhere.example"}
        )
        assert told.json()["code"] == "cross-site"
        told = http.post("/mcp", json=body, headers={**owner, "Host": "elsewhere.example"})
        assert told.json()["code"] == "host"
        assert http.post("/mcp", json=body, headers=owner).status_code == 200
        large = http.post("/mcp", content=b"x" * (5 << 20), headers=owner)
        assert large.status_code == 413
        bad = http.post(
            "/mcp", content=b"[[[[", headers={**owner, "Content-Type": "application/json"}
        )
        assert bad.status_code == 400


def test_a_namespace_without_a_role_is_not_there(served: Served) -> None:
    viewer = token(served, "stranger", "viewer@default")

    async def scenario() -> Any:
        async with over_http(served.url, viewer, "?namespace=secret") as agent:
            with pytest.raises(mcp.MCPError, match="not-found"):
                await agent.tools()
            return await agent.problem("list_executions")

    assert asyncio.run(scenario())["code"] == "not-found"


def test_an_agent_that_goes_half_way_leaves_its_execution_going(served: Served) -> None:
    owner = served.said["token"]

    async def scenario() -> None:
        async with over_http(served.url, owner) as agent:
            begun = await agent.call("start_execution", path="plain", wait=0)
            gone = asyncio.create_task(
                agent.call(
                    "wait_for_execution", execution=begun["id"], after_version=10**6, seconds=50
                )
            )
            await agent.call("get_execution", execution=begun["id"])
            gone.cancel()
            await asyncio.wait({gone})
        async with over_http(served.url, owner) as agent:
            await agent.call("signal_execution", execution=begun["id"], name="go")
            done = await agent.call("wait_for_execution", execution=begun["id"])
            assert done["status"] == "completed"

    asyncio.run(scenario())


def test_a_server_that_is_killed_half_way_is_an_error_of_the_tool_and_comes_back(
    tmp_path: Path,
) -> None:
    home = tmp_path / ".petra"

    async def scenario() -> None:
        with serve(home) as first:
            port = first.url.rpartition(":")[2]
            env = {"PETRA_TOKEN": first.said["token"]}
            how = ("--server", first.url, "--allow", "start,act")
            async with over_a_pipe(home, *how, **env) as agent:
                begun = await agent.call("start_execution", text=PLAIN)
                waits = asyncio.create_task(
                    agent.problem("wait_for_execution", execution=begun["id"], after_version=begun["version"], seconds=50)
                )  # fmt: skip
                await agent.call("list_executions")
                first.end(signal.SIGKILL)
                told = await waits
                assert told["code"] == "unreachable"
                assert first.said["token"] not in json.dumps(told)
                with serve(home, "--port", port):
                    done = await agent.call("signal_execution", execution=begun["id"], name="go")
                    assert done["waited"]

    asyncio.run(scenario())


def test_what_is_large_is_cut_and_read_in_parts(served: Served) -> None:
    async def scenario() -> None:
        async with over_http(served.url, served.said["token"]) as agent:
            done = await agent.call("run_large")
            assert "_cut" in done
            assert done["output"]["rows"][-1].endswith("more items]")
            part = await agent.call(
                "read_value",
                execution=done["execution"],
                of="output",
                pointer="/rows/2999",
                limit=5,
            )
            assert part == {"value": "xxxxx", "offset": 0, "of": 100, "next_offset": 5}
            told = await agent.problem(
                "read_value", execution=done["execution"], of="output", pointer="/rows/3000"
            )
            assert (told["code"], "3000" in told["detail"]) == ("not-found", True)

    asyncio.run(scenario())
