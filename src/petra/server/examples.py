"""Examples in the description of the API: what a server was really sent, and what it answered.

They were recorded while the tests asked (``tests/server/recording.py``, ``scripts/api_examples.py``), and lie beside this file; a
test holds each against the shape that it is an example of, so that none can rot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from petra.server.links import METHODS

FILE: Final = "examples.json"
_PLAYBOOK: Final = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: hello}\nworkflow:\n- {step: greet, tool: {kind: noop}}\n"
_HELLO: Final = {"resumed": True, "server": "0.1.0", "at": "2026-01-31T09:00:00.000Z"}
TEXTS: Final[Mapping[str, Any]] = {
    "application/yaml": _PLAYBOOK,
    "application/x-ndjson": '{"at":1769850000.5,"step":"greet","task":"greet_task","path":[],"stream":"stdout","text":"hello"}\n',
    "text/plain; version=0.0.4": '# TYPE petra_executions gauge\npetra_executions{status="completed"} 3\n',
    "text/event-stream": {"event": "hello", "data": _HELLO},
    "text/csv": "seq,at,type\n1,2026-01-31T09:00:00.000Z,execution.started\n",
    "application/xml": '<log xes.version="1849-2016"/>\n',
}
"""What is no JSON, by media type: nothing of it is recorded. A message of a stream stands for its name and its data."""


class Example(msgspec.Struct, frozen=True):
    """What is sent, by media type, and what is answered, by status."""

    sent: dict[str, Any] = {}
    answers: dict[str, Any] = {}


@cache
def kept() -> dict[str, Example]:
    """Return the examples, by method and address."""
    raw = (files("petra.server") / FILE).read_bytes()
    return msgspec.json.decode(raw, type=dict[str, Example])


def illustrate(paths: Mapping[str, Any], prefix: str) -> None:
    """Write the examples into the calls that they are of."""
    for path, item in paths.items():
        for method in METHODS:
            for place in _places(item.get(method, {})):
                _put(place, TEXTS)
            example = kept().get(f"{method} {path.removeprefix(prefix)}")
            if method in item and example is not None:
                _put(item[method].get("requestBody", {}), example.sent)
                for status, value in example.answers.items():
                    _put(item[method]["responses"].get(status, {}), {"application/json": value})


def _places(call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the body that a call takes, and its answers."""
    if "requestBody" in call:
        yield call["requestBody"]
    yield from call.get("responses", {}).values()


def _put(place: dict[str, Any], by_media: Mapping[str, Any]) -> None:
    """Put examples beside the shapes of a body; several answers may share one description, so it is not changed itself."""
    content = place.get("content", {})
    more = {
        media: {**content[media], "example": value}
        for media, value in by_media.items()
        if media in content
    }
    if more:
        place["content"] = {**content, **more}
