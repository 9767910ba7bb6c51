"""``kind: llm`` against a stub of a chat endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.attempts import bad, good
from support.stub_http import Answer, Asked, reply, reply_json, serving

from petra.playbook import read
from petra.tools.base import ToolContext, ToolSettings
from petra.tools.registry import Registry
from petra.wire import Outcome

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = [{"name": "pay", "description": "Pays.", "parameters": SCHEMA}]


def said(content: Any = "hello", finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "model": "m-1",
        "choices": [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500},
    }  # fmt: skip


def ask(
    answer: Any, settings: ToolSettings | None = None, **fields: Any
) -> tuple[Outcome, list[Asked]]:
    """Ask a stub that answers so."""
    sent = answer if isinstance(answer, bytes | Answer) else reply_json(answer)

    async def main() -> tuple[Outcome, list[Asked]]:
        async def secret(_name: str) -> Any:
            return {"token": "sesame"}

        registry = Registry(settings, plug_ins=False)
        async with serving({"/v1/chat/completions": lambda _asked: sent}) as stub:
            given = {"endpoint": stub.url("/v1"), "model": "m", "messages": "hi", **fields}
            try:
                done = await registry.attempt("llm", given, _context(secret))
            finally:
                await registry.close()
            return done, list(stub.asked)

    return asyncio.run(main())


def _context(secret: Any) -> ToolContext:
    return ToolContext(secret=secret, scrub=lambda text: text.replace("sesame", "***"))


def body(asked: list[Asked]) -> Mapping[str, Any]:
    [one] = asked
    found: Mapping[str, Any] = json.loads(one.body)
    return found


def test_a_text_is_asked_and_what_was_spent_is_in_the_result() -> None:
    done, asked = ask(
        said(), system="Be brief.", options={"temperature": 0}, auth="key", price={"input": 2, "output": "10"}
    )  # fmt: skip
    found = good(done)
    assert (found["text"], found["data"], found["tool_calls"]) == ("hello", None, [])
    assert found["usage"] == {"input": 1000, "output": 500, "total": 1500}
    assert found["cost"] == pytest.approx(0.007)
    assert (found["model"], found["finish"]) == ("m-1", "stop")
    assert asked[0].headers["authorization"] == "Bearer sesame"
    assert body(asked) == {
        "model": "m", "temperature": 0, "stream": False,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
    }  # fmt: skip


@pytest.mark.parametrize("text", ['{"n": 3}', '```json\n{"n": 3}\n```'])
def test_with_a_schema_the_answer_is_data(text: str) -> None:
    done, asked = ask(said(text), schema=SCHEMA)
    assert good(done)["data"] == {"n": 3}
    assert body(asked)["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize("text", ["no json", '{"n": "three"}', "{}", "[" * 100_000])
def test_an_answer_that_does_not_fit_is_an_error_that_says_what_it_cost(text: str) -> None:
    done, _ = ask(said(text), schema=SCHEMA)
    error = bad(done)
    assert error.kind == "schema"
    assert error.details["usage"]["total"] == 1500


def test_an_answer_that_was_cut_or_refused_is_no_answer() -> None:
    assert bad(ask(said('{"n":', "length"), schema=SCHEMA)[0]).kind == "limit"
    refused = bad(ask(said(None, refusal="I will not."), schema=SCHEMA)[0])
    assert (refused.kind, "I will not." in refused.message) == ("denied", True)
    assert bad(ask(said("", "content_filter"))[0]).kind == "denied"


def test_calls_of_tools_come_with_arguments_that_fit() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    done, asked = ask(said(None, "tool_calls", tool_calls=[call]), tools=TOOLS, schema=SCHEMA)
    assert good(done)["tool_calls"] == [{"id": "c1", "name": "pay", "arguments": {"n": 1}}]
    assert body(asked)["tools"] == [{"type": "function", "function": TOOLS[0]}]
    for function in (
        {"name": "steal", "arguments": "{}"},
        {"name": "pay", "arguments": "{"},
        {"name": "pay", "arguments": '{"n": "x"}'},
    ):
        wrong = said(None, "tool_calls", tool_calls=[{"id": "c", "function": function}])
        assert bad(ask(wrong, tools=TOOLS)[0]).kind == "schema"
    assert bad(ask(said(None, tool_calls=[{}]), tools=TOOLS)[0]).kind == "parse"


def test_a_budget_stops_calls_and_bounds_their_answers() -> None:
    _, asked = ask(said(), budget={"tokens": 2000, "spent": "1500"}, options={"max_tokens": 9000})
    assert body(asked)["max_tokens"] == 500
    for budget in ({"tokens": 2000, "spent": 2000}, {"cost": 0.5, "spent": "0.6"}):
        done, asked = ask(said(), budget=budget)
        assert (bad(done).kind, bad(done).retryable, asked) == ("limit", False, [])
    assert bad(ask(said(), budget={"tokens": 5, "spent": "much"})[0]).kind == "client_error"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (reply_json({"error": {}}, "429 Too Many Requests", **{"Retry-After": "7"}), "rate_limit"),
        (reply_json({"error": {"code": "insufficient_quota"}}, "429 Too Many Requests"), "quota"),
        (reply("busy", "503 Service Unavailable"), "server_error"),
        (reply_json({"error": {"message": "bad key sesame"}}, "401 Unauthorized"), "auth"),
        (reply("", "302 Found", {"Location": "http://127.0.0.1:1/"}), "parse"),
        (reply_json({"choices": []}), "parse"),
        (reply_json([1]), "parse"),
        (reply("no json", kind="application/json"), "parse"),
        (Answer(b"", "reset"), "connection"),
        (Answer(b"", "hang"), "timeout"),
        (reply_json(said("x" * 5000)), "limit"),
    ],
)
def test_what_goes_wrong_has_a_kind_for_the_policy(answer: Any, kind: str) -> None:
    done, _ = ask(answer, auth="key", timeout=0.3, max_bytes=4000)
    error = bad(done)
    assert error.kind == kind
    assert "sesame" not in json.dumps([error.message, error.details])
    if kind == "rate_limit":
        assert error.details["retry_after"] == 7


@pytest.mark.parametrize("messages", [[], {"role": "user"}, [{"role": "boss", "content": "x"}], 5])
def test_messages_that_are_none_are_told_before_anything_is_sent(messages: Any) -> None:
    done, asked = ask(said(), messages=messages)
    assert (bad(done).kind, asked) == ("client_error", [])


def test_a_private_address_is_refused_where_the_worker_says_so() -> None:
    done, asked = ask(said(), ToolSettings(refuse_private=True))
    assert (bad(done).kind, asked) == ("denied", [])


HEAD = (
    "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: t}\nworkflow:\n  - step: a\n    tool: "
)


@pytest.mark.parametrize(
    ("tool", "code"),
    [
        ("{kind: llm, endpoint: 'http://x', model: m, messages: hi, budget: {spent: 1}}", "P102"),
        ("{kind: llm, endpoint: 'http://x', model: m, messages: hi, temperature: 1}", "P101"),
        ("{kind: llm, endpoint: 'http://x', model: m}", "P102"),
        ("{kind: mcp, tool: t}", "P102"),
        ("{kind: mcp, tool: t, url: 'http://x', command: y}", "P122"),
        ("{kind: mcp, tool: t, url: 'http://x', argv: [y]}", "P215"),
        (
            "{kind: llm, endpoint: 'http://x', model: m, messages: hi, schema: {type: objekt}}",
            "P126",
        ),
    ],
)
def test_a_task_that_cannot_work_is_found_before_it_runs(tool: str, code: str) -> None:
    found = [problem.code for problem in read(HEAD + tool + "\n").problems]
    assert any(one.startswith(code) for one in found), found
