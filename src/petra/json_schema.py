"""JSON Schemas, each whole by itself: nobody reads a file, or asks an address, for what one refers to.

Else whoever writes a schema, or the data that one is made of, could have the server read its files and ask addresses that only it
can reach; and everybody would wait for the answer.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

SAID_MAX: Final = 500


def validator(schema: Any, **options: Any) -> Any:
    """Return what checks values against a schema.

    Raises:
        ValueError: it is no schema, or refers to something that is not in it.
    """
    import jsonschema_rs  # noqa: PLC0415 - most playbooks have no schema

    try:
        return jsonschema_rs.validator_for(schema, retriever=_refused, **options)
    except Exception as error:  # noqa: BLE001 - what is wrong with a schema is reported in many ways
        raise ValueError(_words_of(error)) from None


def _refused(address: str) -> NoReturn:
    raise LookupError(address)


def _words_of(error: Exception) -> str:
    words = str(getattr(error, "message", error)).partition("\n")[0]
    if "retrieving it failed" in words:
        where = words.partition("' is not present")[0].removeprefix("Resource '")
        words = f"it refers to '{where}', which is not in it, and nobody fetches that; put it under $defs"
    return words[:SAID_MAX]
