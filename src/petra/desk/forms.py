"""What a form wants to be filled in with: an example that shows its required fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

FIELDS_MAX: Final = 8
"""So many fields are shown."""
_EXAMPLES: Final[Mapping[str, Any]] = {
    "string": "…",
    "integer": 0,
    "number": 0,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


def example(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return data with every field that the form of a work item requires; None where it requires none."""
    form = spec.get("form")
    required = form.get("required") if isinstance(form, Mapping) else None
    if not isinstance(form, Mapping) or not isinstance(required, list) or not required:
        return None
    properties = form.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    proposal = spec.get("proposal")
    proposed = proposal if isinstance(proposal, Mapping) else {}
    names = [name for name in required if isinstance(name, str)][:FIELDS_MAX]
    return {name: proposed[name] if name in proposed else _value(known.get(name)) for name in names}


def _value(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return "…"
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    choices = schema.get("enum") or schema.get("examples")
    if isinstance(choices, list) and choices:
        return choices[0]
    kind = schema.get("type")
    return _EXAMPLES.get(kind[0] if isinstance(kind, list) and kind else str(kind), "…")
