"""``petra mcp``: an agent at the other end of a pipe lists, starts, explains and approves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from agents.agent import ADDS, BOOKS, PETRA, PLAIN, apply, over_a_pipe
from support.processes import ending

from petra.desk import login_name
from petra.private import ADDRESS

pytestmark = pytest.mark.slow
READS = {
    "check_playbook", "explain_execution", "get_execution", "get_playbook", "get_work_item", "list_executions",
    "list_playbooks", "list_records", "list_work_items", "read_value", "run_tests", "state_at", "wait_for_execution",
}  # fmt: skip
ALL = ("--allow", "start,act,approve")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / ".petra"


def test_an_agent_starts_explains_and_approves_and_the_log_says_who(
    home: Path, tmp_path: Path
) -> None:
    apply(home, tmp_path, "refund")

    async def scenario() -> None:
        async with over_a_pipe(home, *ALL) as agent:
            assert "run_shop_refund" in await agent.tools()
            begun = await agent.call("run_shop_refund", amount=7)
            assert begun["status"] == "waiting"
            assert "after_version" in begun["next"]
            execution = begun["execution"]
            listed = await agent.call("list_executions", status="waiting")
            assert [one["id"] for one in listed["items"]] == [execution]
            assert listed["items"][0]["labels"]["via"] == "mcp"
            why = await agent.call("explain_execution", execution=execution)
            assert why["explanation"]["waiting"][0]["reason"] == "human"
            [item] = (await agent.call("list_work_items"))["items"]
            assert item["title"] == "Refund 7?"
            shown = await agent.call("get_work_item", execution=execution, item=item["id"])
            assert shown["body"]["spec"]["actions"] == ["approve", "reject"], shown
            done = await agent.call(
                "complete_work_item", execution=execution, item=item["id"], action="approve"
            )
            assert done["status"] == "completed"
            log = (await agent.call("list_records", execution=execution, limit=100))["items"]
            assert {one["event"].get("actor") for one in log} - {None, ""} == {login_name()}
            then = await agent.call("state_at", execution=execution, record=begun["version"])
            assert then["status"] == "waiting"

    asyncio.run(scenario())


def test_without_leave_an_agent_only_reads(home: Path, tmp_path: Path) -> None:
    apply(home, tmp_path, "adds")

    async def scenario() -> None:
        async with over_a_pipe(home) as agent:
            assert set(await agent.tools()) == READS
            acts: dict[str, dict[str, Any]] = {
                "run_adds": {"n": 1},
                "start_execution": {"path": "adds"},
                "cancel_execution": {"execution": "x"},
                "complete_work_item": {"execution": "x", "item": "y", "action": "approve"},
            }
            for name, given in acts.items():
                told = await agent.problem(name, **given)
                assert told["code"] == "not-allowed"
                assert "--allow" in told["hint"]
            assert (await agent.call("list_executions"))["items"] == []

    asyncio.run(scenario())


def test_a_playbook_is_a_tool_with_its_schema_and_answers_with_its_output(
    home: Path, tmp_path: Path
) -> None:
    apply(home, tmp_path, "adds", "plain", "large")

    async def scenario() -> None:
        async with over_a_pipe(
            home, "--allow", "start", "--playbook", "plain", "--wait", "30"
        ) as agent:
            tools = await agent.tools()
            assert {"run_adds", "run_plain", "run_large"} <= set(tools)
            assert tools["run_adds"].input_schema["required"] == ["n"]
            assert tools["run_adds"].description.startswith("Adds one.")
            done = await agent.call("run_adds", n=41)
            assert (done["status"], done["output"]) == ("completed", 42)
            told = await agent.problem("run_adds", n="many")
            assert told["code"] == "invalid-input"
            assert "n" in told["detail"]
            waits = await agent.call("run_plain")
            assert (waits["status"], waits["work_items"]) == ("waiting", [])
            cut = await agent.call("run_large")
            assert len(json.dumps(cut)) < 60_000
            assert "read_value" in cut["_cut"]["how"]
            rest = await agent.call(
                "read_value", execution=cut["execution"], of="output", pointer="/rows", offset=2990, limit=100
            )  # fmt: skip
            assert (rest["value"], rest["of"]) == (["x" * 100] * 10, 3000)

    asyncio.run(scenario())


def test_texts_are_checked_and_tested(home: Path) -> None:
    suite = (
        "apiVersion: petra/v1\nkind: Test\nplaybook: adds.yaml\n"
        "cases:\n  - {name: it adds, workload: {n: 1}, tools: {add: {ok: 2}}, expect: {status: completed}}\n"
    )

    async def scenario() -> None:
        async with over_a_pipe(home) as agent:
            good = await agent.call("check_playbook", text=ADDS)
            assert (good["ok"], good["problems"]) == (True, [])
            bad = await agent.call("check_playbook", text=ADDS.replace("step: add", "stepp: add"))
            assert not bad["ok"]
            assert bad["problems"][0]["code"].startswith("P")
            ran = await agent.call("run_tests", text=suite, files={"adds.yaml": BOOKS["adds"]})
            assert ran["ok"], ran
            assert "it adds" in json.dumps(ran["cases"])

    asyncio.run(scenario())


HOSTILE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_execution", {}),
    ("get_execution", {"execution": "../../users"}),
    ("get_execution", {"execution": "x/cancel"}),
    ("get_execution", {"execution": "x\u0000"}),
    ("get_execution", {"execution": "x" * 100_000}),
    ("get_execution", {"execution": 5}),
    ("get_execution", {"execution": "no-such"}),
    ("get_execution", {"execution": "x", "more": 1}),
    ("list_executions", {"limit": 10**9}),
    ("list_executions", {"cursor": "'; drop table"}),
    ("list_records", {"execution": "no-such", "after": -1}),
    ("get_playbook", {"path": "../executions"}),
    ("get_playbook", {"path": "no/such"}),
    ("state_at", {"execution": "no-such", "record": 10**30}),
    ("signal_execution", {"execution": "no-such", "name": "../cancel"}),
    ("start_execution", {}),
    ("start_execution", {"path": "no-such"}),
    ("start_execution", {"text": "a: [" * 5_000}),
    ("start_execution", {"text": "not a playbook"}),
    ("start_execution", {"path": "plain", "workload": [1]}),
    ("complete_work_item", {"execution": "no-such", "item": "i", "action": "approve"}),
    ("read_value", {"execution": "no-such", "of": "ctx", "pointer": "nowhere"}),
    ("run_no_such", {}),
    ("get_exekution", {"execution": "x"}),
)


def test_hostile_arguments_are_problems_of_the_tool_and_nothing_breaks(
    home: Path, tmp_path: Path
) -> None:
    apply(home, tmp_path, "plain")

    async def scenario() -> str:
        said = []
        async with over_a_pipe(home, *ALL) as agent:
            for name, given in HOSTILE:
                told = await agent.problem(name, **given)
                assert told["code"] not in ("internal", "strange", "unreachable"), (name, told)
                assert len(json.dumps(told)) < 20_000
                said.append(json.dumps(told))
            deep: object = 1
            for _ in range(50):
                deep = [deep]
            begun = await agent.call("start_execution", text=PLAIN, wait=0)
            await agent.call(
                "signal_execution", execution=begun["id"], name="go", payload={"{{ ctx }}": deep}
            )
            shown = await agent.call("wait_for_execution", execution=begun["id"])
            assert shown["status"] == "completed"
        return "".join(said)

    said = asyncio.run(scenario())
    token = (home / "owner-token").read_text().strip()
    assert token not in said
    assert "Traceback" not in said


def _holder(home: Path) -> int:
    """Return which of the processes that this test started is the server of a folder."""
    return int((home / ADDRESS).read_text().split("process ")[1].split()[0])


def test_two_agents_share_a_folder_and_the_second_takes_over(home: Path, tmp_path: Path) -> None:
    apply(home, tmp_path, "refund")

    async def scenario() -> None:
        async with over_a_pipe(home, *ALL) as second_to_be, over_a_pipe(home, *ALL) as other:
            begun = await second_to_be.call("run_shop_refund")
            assert (await other.call("get_execution", execution=begun["execution"]))[
                "status"
            ] == "waiting"
        async with over_a_pipe(home, *ALL) as first:
            await first.call("list_executions")
            async with over_a_pipe(home, *ALL) as second:
                await second.call("list_executions")
                os.kill(_holder(home), signal.SIGKILL)
                told = await second.problem("list_executions")
                assert told["code"] == "unreachable"
                shown = await second.call("get_execution", execution=begun["execution"])
                assert shown["status"] == "waiting"

    asyncio.run(scenario())


def test_it_ends_when_the_agent_goes_and_when_it_is_told_to(home: Path) -> None:
    for number in (None, signal.SIGTERM):
        process = subprocess.Popen(
            [PETRA, "mcp", "--home", str(home)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        with ending(process):
            assert process.stdin is not None
            assert process.stdout is not None
            hello = {
                "jsonrpc": "2.0", "id": 1, "method": "initialize",
                "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
            }  # fmt: skip
            process.stdin.write(b"no json at all\n" + json.dumps(hello).encode() + b"\n")
            process.stdin.flush()
            answers = [json.loads(process.stdout.readline())]
            while answers[-1].get("id") != 1:
                answers.append(json.loads(process.stdout.readline()))
            assert answers[-1]["result"]["serverInfo"]["name"] == "petra"
            ask = {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "tools/call",
                "params": {"name": "list_executions", "arguments": {}},
            }
            note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            process.stdin.write(
                json.dumps(note).encode() + b"\n" + json.dumps(ask).encode() + b"\n"
            )
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == 2
            if number is None:
                process.stdin.close()
            else:
                process.send_signal(number)
            assert process.wait() == 0
            assert process.stdout.read() == b""
        assert not (home / ADDRESS).exists()
