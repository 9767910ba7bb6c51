"""What schemathesis is told in Python (``fuzz_plan``): numbers as clients write them, and how to read lines of JSON."""

from __future__ import annotations

import json
from typing import Any

import schemathesis


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Write whole numbers without a fraction: for JSON Schema 32.0 is an integer, for JSON readers that know types it is none."""
    del context
    return _whole(body)


def _whole(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _whole(one) for key, one in value.items()}
        case list():
            return [_whole(one) for one in value]
        case _:
            return value


@schemathesis.deserializer("application/x-ndjson")
def read_lines(context: Any, response: Any) -> Any:
    """Read a document per line."""
    del context
    return [json.loads(line) for line in response.content.splitlines() if line.strip()]
