"""Schemas: of workloads, of keys of ctx, and of forms; each is one, and whole by itself (S3, S10, S14)."""

from __future__ import annotations

from typing import Any

from petra.json_schema import validator
from petra.playbook.checks.document import Document


def check_schemas(document: Document) -> None:
    """Report the schemas of a document that are none."""
    for leaf in document.leaves:
        if leaf.facts.get("schema") and isinstance(leaf.value, dict):
            reason = _schema_fault(leaf.value)
            if reason is not None:
                document.problems.error(
                    "P126",
                    document.at(*leaf.path),
                    f"not a JSON Schema: {reason}",
                    "see json-schema.org for the keywords",
                )


def _schema_fault(schema: dict[str, Any]) -> str | None:
    from jsonschema_rs import ValidationError, meta  # noqa: PLC0415 - most playbooks have no schema

    try:
        meta.validate(schema)
        validator(schema)
    except ValidationError as error:
        return str(error.message)
    except Exception as error:  # noqa: BLE001 - an unknown $schema is reported in many ways
        return str(error)
    return None
