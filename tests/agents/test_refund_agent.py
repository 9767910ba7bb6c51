"""The example for real: an agent starts it, a stub of a model proposes, a person approves, the till is asked once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from agents.agent import applied, over_a_pipe
from support.stub_http import Asked, reply_json, serving

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[2] / "examples/refund_agent.yaml"


def _model(asked: Asked) -> bytes:
    """Answer as a model would: in no form at first, then as it was told."""
    tries.append(json.loads(asked.body))
    said = "Sure!" if len(tries) == 1 else '{"amount": 40, "why": "It arrived broken."}'
    return reply_json(
        {
            "choices": [
                {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 200, "completion_tokens": 20},
        }
    )


tries: list[Any] = []


def test_an_agent_starts_a_model_proposes_a_person_approves_and_it_is_paid_once(
    tmp_path: Path,
) -> None:
    home = tmp_path / ".petra"
    applied(EXAMPLE, home)

    async def scenario() -> list[Asked]:
        routes = {
            "/v1/chat/completions": _model,
            "/refunds": lambda asked: reply_json({"paid": json.loads(asked.body)["amount"]}),
        }
        async with serving(routes) as stub:
            given = {
                "complaint": "Broken!", "order": "O-1", "models": stub.url("/v1"), "till": stub.url("").rstrip("/"),
            }  # fmt: skip
            async with over_a_pipe(home, "--allow", "start", MODEL_KEY="sesame") as agent:
                begun = await agent.call("run_refund_agent", **given)
                while not begun["work_items"]:  # the second try comes two seconds later
                    more = await agent.call(
                        "wait_for_execution",
                        execution=begun["execution"],
                        after_version=begun["version"],
                    )
                    begun = {"execution": more["id"], **more}
                [item] = begun["work_items"]
                told = await agent.problem(
                    "complete_work_item",
                    execution=begun["execution"],
                    item=item["id"],
                    action="approve",
                )
                assert told["code"] == "not-allowed"
            async with over_a_pipe(home, "--allow", "approve", MODEL_KEY="sesame") as person:
                done = await person.call(
                    "complete_work_item", execution=begun["execution"], item=item["id"], action="approve",
                    data={"amount": 25}, wait=50,
                )  # fmt: skip
                assert done["status"] == "completed", await person.call(
                    "explain_execution", execution=done["id"]
                )
                assert done["output"] == {"paid": 25, "why": "It arrived broken.", "spent": 220}
                log = await person.call("list_records", execution=begun["execution"], limit=100)
                assert "sesame" not in json.dumps(log)
            return list(stub.asked)

    asked = asyncio.run(scenario())
    calls = [one for one in asked if one.path == "/v1/chat/completions"]
    assert len(calls) == 2
    assert calls[0].headers["authorization"] == "Bearer sesame"
    assert tries[0]["messages"][1]["content"].endswith("The customer wrote: Broken!")
    [paid] = [one for one in asked if one.path == "/refunds"]
    assert json.loads(paid.body)["amount"] == 25
    assert paid.headers["idempotency-key"]
