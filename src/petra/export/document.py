"""The whole log as one JSON document: every record with its receipt and its hashes."""

from __future__ import annotations

import json

import msgspec

from petra.export.life import ExportedLog


def document(log: ExportedLog) -> str:
    """Return the log as JSON; hashing its records again proves them."""
    return (
        json.dumps(
            {
                "execution": log.execution,
                "playbook": log.playbook.metadata.name,
                "status": log.status,
                "records": [
                    {
                        "type": type(record.event).__struct_config__.tag,
                        **msgspec.to_builtins(record),
                    }
                    for record in log.records
                ],
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )
