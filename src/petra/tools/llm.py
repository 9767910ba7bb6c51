"""``kind: llm``: one answer of a language model, from an endpoint that speaks as OpenAI's chat completions do.

Rule 1: it is one request of ``kind: http``: the same time limits, credentials, gates and kinds of errors.
Rule 2: with a ``schema`` the answer is data that fits it, or an error of kind schema; so are the arguments of tools.
Rule 3: what was spent is in the result. A ``budget`` is looked at before the call: whoever has none left makes none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from petra.json_schema import validator
from petra.kinds import Fields, Http, Llm, Price, TokenBudget
from petra.tools.base import ToolContext, ToolError, ToolSettings, number, ok
from petra.tools.http import HttpTool
from petra.wire import Outcome

READ_S: Final = 300
"""A model thinks before the first byte of its answer."""
MILLION: Final = 1_000_000
SHOWN: Final = 300
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool"})
_SPENT: Final = "insufficient_quota"


class LlmTool:
    """Asks a language model."""

    kind: ClassVar[str] = "llm"
    spec: ClassVar[type[Fields]] = Llm

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._http = HttpTool(settings)

    async def run(self, fields: Llm, context: ToolContext) -> Outcome:
        """Ask, and read the answer."""
        tools = list(_tools(fields.tools))
        left = _left(fields.budget)
        request = Http(
            url=f"{fields.endpoint.rstrip('/')}/chat/completions",
            method="POST",
            headers=fields.headers,
            json=_body(fields, tools, left),
            auth=fields.auth,
            timeout=fields.timeout if fields.timeout is not None else READ_S,
            verify=fields.verify,
            max_bytes=fields.max_bytes,
            follow_redirects=False,
        )
        try:
            answered = await self._http.run(request, context)
        except ToolError as error:
            raise _of_quota(error) from error
        return ok(_result(fields, tools, answered.result["data"]), answered.more)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()


def _of_quota(error: ToolError) -> ToolError:
    """Tell who has nothing left to spend there from whoever asked too fast."""
    said = str((error.details or {}).get("data", "")) if isinstance(error.details, dict) else ""
    if error.code == 402 or (error.code == 429 and _SPENT in said):
        return ToolError(
            "quota", error.message, code=error.code, details=error.details, more=error.more
        )
    return error


# The request


def _body(fields: Llm, tools: Sequence[Mapping[str, Any]], left: int | None) -> dict[str, Any]:
    body: dict[str, Any] = {**(fields.options or {}), "model": fields.model}
    body["messages"] = _messages(fields)
    body["stream"] = False
    if tools:
        body["tools"] = [{"type": "function", "function": tool} for tool in tools]
    if fields.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": fields.schema},
        }
    if left is not None:
        name = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
        body[name] = min(int(number(body.get(name), name, left)), left)
    return body


def _messages(fields: Llm) -> list[Any]:
    messages = fields.messages
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list) or not messages:
        raise ToolError("client_error", "messages takes a text, or a list of {role, content}")
    for n, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
            roles = ", ".join(sorted(_ROLES))
            raise ToolError("client_error", f"messages[{n}] has no role that is one of {roles}")
    system = [{"role": "system", "content": fields.system}] if fields.system else []
    return [*system, *messages]


def _tools(tools: Any) -> Iterator[dict[str, Any]]:
    """Yield tools as they are sent: in our short form, or in the long one of the API."""
    if tools is not None and not isinstance(tools, list):
        raise ToolError("client_error", "tools takes a list of {name, description, parameters}")
    for n, declared in enumerate(tools or ()):
        tool = declared.get("function", declared) if isinstance(declared, Mapping) else {}
        if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str):
            raise ToolError("client_error", f"tools[{n}] has no name")
        yield dict(tool)


def _left(budget: TokenBudget | None) -> int | None:
    """Return the tokens that may still be spent, as far as that is said.

    Raises:
        ToolError: nothing is left.
    """
    if budget is None:
        return None
    if (budget.tokens is None) == (budget.cost is None):
        raise ToolError("client_error", "budget takes one of tokens and cost")
    most = number(budget.tokens if budget.tokens is not None else budget.cost, "budget", 0)
    try:
        spent = float(budget.spent)
    except (TypeError, ValueError):
        raise ToolError("client_error", f"budget.spent is {budget.spent!r:.80}") from None
    if not spent < most:
        raise ToolError("limit", f"the budget of {most:g} is spent: {spent:g} so far")
    return int(most - spent) or 1 if budget.tokens is not None else None


# The answer


def _result(fields: Llm, tools: Sequence[Mapping[str, Any]], data: Any) -> dict[str, Any]:
    choice = _choice(data)
    message, finish = choice["message"], choice.get("finish_reason")
    text = _text(message)
    usage = _usage(data)
    spent = {"usage": usage, "cost": _cost(usage, fields.price)}
    if message.get("refusal") or finish == "content_filter":
        said = str(message.get("refusal") or "its answer was filtered")[:SHOWN]
        raise ToolError("denied", f"the model refused: {said}", details=spent)
    calls = [_call(call, tools, spent) for call in message.get("tool_calls") or ()]
    parsed = None
    if fields.schema is not None and not calls:
        if finish == "length":
            raise ToolError("limit", "the answer was cut before its end", details=spent)
        parsed = _parsed(text, "the answer", spent)
        _fits(parsed, fields.schema, "the answer", spent)
    return {
        "text": text, "data": parsed, "tool_calls": calls, "message": message, "finish": finish,
        "model": data.get("model", fields.model), **spent,
    }  # fmt: skip


def _choice(data: Any) -> Mapping[str, Any]:
    choices = data.get("choices") if isinstance(data, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, Mapping) or not isinstance(first.get("message"), Mapping):
        raise ToolError("parse", "the answer has no choices[0].message; is this a chat endpoint?")
    return first


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):  # parts, of which texts are one kind
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(data: Mapping[str, Any]) -> dict[str, int]:
    said = data.get("usage")
    usage = said if isinstance(said, Mapping) else {}
    sent, answered = (_count(usage.get(key)) for key in ("prompt_tokens", "completion_tokens"))
    return {"input": sent, "output": answered, "total": sent + answered}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _cost(usage: Mapping[str, int], price: Price | None) -> float | None:
    if price is None:
        return None
    try:
        per = {"input": float(price.input), "output": float(price.output)}
    except (TypeError, ValueError):
        raise ToolError("client_error", "price takes numbers") from None
    return round(sum(usage[name] * each for name, each in per.items()) / MILLION, 9)


def _call(call: Any, tools: Sequence[Mapping[str, Any]], spent: Any) -> dict[str, Any]:
    """Return what a model wants of a tool, with its arguments as data that fit."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise ToolError("parse", "the model calls a tool without a name", details=spent)
    name = function["name"]
    known = {tool["name"]: tool for tool in tools}
    if name not in known:
        raise ToolError(
            "schema", f"the model calls '{name[:100]}', which is no tool", details=spent
        )
    where = f"the call of '{name[:100]}'"
    arguments = _parsed(str(function.get("arguments") or "{}"), where, spent)
    if isinstance(schema := known[name].get("parameters"), Mapping):
        _fits(arguments, dict(schema), where, spent)
    return {"id": call.get("id"), "name": name, "arguments": arguments}


def _parsed(text: str, what: str, spent: Any) -> Any:
    """Read JSON; some models put it into a fence."""
    plain = text.strip()
    if plain.startswith("```") and plain.endswith("```"):
        plain = plain[3:-3].removeprefix("json").strip()
    try:
        return msgspec.json.decode(plain)
    except (msgspec.DecodeError, RecursionError) as error:
        words = f"{what} is no JSON: {error}"
        raise ToolError("schema", words, details={**spent, "text": text[:4_000]}) from None


def _fits(value: Any, schema: dict[str, Any], what: str, spent: Any) -> None:
    try:
        problems = list(validator(schema).iter_errors(value))
    except ValueError as error:
        raise ToolError("client_error", f"the schema of {what} is none: {error}") from None
    if problems:
        where = "/".join(str(part) for part in problems[0].instance_path)
        words = f"{what} does not fit its schema: {where + ': ' if where else ''}"
        words += str(problems[0].message)[:SHOWN]
        raise ToolError("schema", words, details={**spent, "data": value})
