"""Tools as data: a name, what it does, what it takes, what it needs, and what it calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from petra.agents.calling import WAIT_MAX_S, WAIT_S, Caller
from petra.client.problems import ServerError
from petra.json_schema import validator
from petra.playbook.problems import did_you_mean

Allowed = Literal["start", "act", "approve"]
ALLOWED: Final[tuple[Allowed, ...]] = ("start", "act", "approve")
POWERS: Final[Mapping[Allowed | None, frozenset[str]]] = {
    None: frozenset({"see"}),
    "start": frozenset({"start"}),
    "act": frozenset({"steer"}),
    "approve": frozenset({"decide"}),
}
"""What a token must let somebody do, for tools of each kind."""
ITEMS: Final = frozenset({"see", "decide"})
SHOWN: Final = 300

Given = dict[str, Any]
Schema = dict[str, Any]


@dataclass(frozen=True)
class AgentTool:
    """Something that an agent can have done."""

    name: str
    about: str
    schema: Schema
    run: Callable[[Caller, Given], Awaitable[Any]]
    allowed: Allowed | None = None
    powers: frozenset[str] | None = None
    destroys: bool = False
    title: str = ""

    @property
    def needs(self) -> frozenset[str]:
        """One of these powers is enough."""
        return self.powers if self.powers is not None else POWERS[self.allowed]

    @cached_property
    def _validator(self) -> Any:
        return validator(self.schema, validate_formats=False)

    def refuse(self, arguments: Given) -> None:
        """Refuse arguments that do not fit.

        Raises:
            ServerError: which do not, and why.
        """
        problems = [_problem_text(error) for error in self._validator.iter_errors(arguments)]
        if problems:
            hint = (
                f"'{self.name}' takes: {', '.join(self.schema.get('properties', ())) or 'nothing'}"
            )
            raise ServerError(
                "invalid-input", "; ".join(problems[:5]), hint=hint, errors=tuple(problems[:20])
            )


def _problem_text(error: Any) -> str:
    where = "/".join(str(part) for part in error.instance_path)
    words = str(error.message)
    words = words if len(words) <= SHOWN else f"{words[:SHOWN]}…"
    return f"{where}: {words}" if where else words


def among(tools: Iterable[AgentTool], name: str) -> AgentTool:
    """Return the tool of a name.

    Raises:
        ServerError: there is none.
    """
    known = {tool.name: tool for tool in tools}
    if name not in known:
        hint = did_you_mean(name, sorted(known)) or "tools/list names those there are"
        raise ServerError("unknown-tool", f"there is no tool '{name[:100]}'", hint=hint)
    return known[name]


# What tools take


def takes(required: Mapping[str, Schema] | None = None, **optional: Schema) -> Schema:
    """Return the schema of arguments: those that must be there, and others."""
    must = required or {}
    return {
        "type": "object",
        "properties": {**must, **optional},
        "required": list(must),
        "additionalProperties": False,
    }


def name_of(about: str) -> Schema:
    """Return the schema of an id or a name that stands in an address."""
    return {
        "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^/?#\\x00-\\x1f\\x7f]+$",
        "description": about,
    }  # fmt: skip


def text(about: str, most: int = 2_000) -> Schema:
    """Return the schema of a text."""
    return {"type": "string", "maxLength": most, "description": about}


def count(about: str, least: int, most: int, default: int) -> Schema:
    """Return the schema of a number."""
    return {
        "type": "integer", "minimum": least, "maximum": most, "default": default, "description": about,
    }  # fmt: skip


EXECUTION: Final = {"execution": name_of("The id of an execution.")}
WAIT: Final = count("Seconds to wait until it ends or rests.", 0, WAIT_MAX_S, WAIT_S)
KEY: Final = text("A key of your own: the same key again does it only once.", 200)
REASON: Final = text("Why, for whoever reads the log.")
