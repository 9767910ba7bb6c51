"""Values on the command line: JSON, or a file that has it, and the workload with its single values."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from petra.playbook import Playbook

_Command = TypeVar("_Command", bound=Callable[..., Any])


def with_workload(command: _Command) -> _Command:
    """Add ``--workload`` and ``--set``."""
    sets = click.option(
        "--set", "sets", multiple=True, metavar="KEY=VALUE", help="One value; KEY may have dots."
    )
    whole = click.option(
        "--workload",
        metavar="JSON|@FILE",
        default="",
        help="The workload, merged over the defaults.",
    )
    return whole(sets(command))


def workload_of(workload: str, sets: Sequence[str]) -> dict[str, Any]:
    """Read the workload; values of ``--set`` win. A value that is no JSON is a text."""
    values = _document(workload) if workload else {}
    for pair in sets:
        key, equals, text = pair.partition("=")
        if not equals or not all(key.split(".")):
            raise click.UsageError(f"'--set {pair}' must be KEY=VALUE, e.g. --set order.id=7")
        _put(values, key.split("."), _value(text, pair), pair)
    return values


def json_value(written: str, option: str) -> Any:
    """Read the JSON of an option, or of the file that it names after an ``@``.

    Raises:
        click.UsageError: it is none.
    """
    try:
        return parsed(_text(written, option))
    except ValueError as error:
        hint = f"write it in quotes, e.g. {option} '{{\"amount\": 20}}', or name a file: {option} @file.json"
        raise click.UsageError(f"{option} is not JSON: {error}; {hint}") from None


def _text(written: str, option: str) -> str:
    if not written.startswith("@"):
        return written
    try:
        return Path(written[1:]).read_text(encoding="utf-8")
    except OSError as error:
        raise click.UsageError(
            f"{option}: cannot read {written[1:]}: {error.strerror or error}"
        ) from None
    except UnicodeDecodeError:
        raise click.UsageError(
            f"{option}: cannot read {written[1:]}: it is not text in UTF-8"
        ) from None


def _document(written: str) -> dict[str, Any]:
    try:
        document = parsed(_text(written, "--workload"))
    except ValueError as error:
        hint = "" if written.startswith("@") else "; a file is given as '@file.json'"
        raise click.UsageError(f"the workload is not JSON: {error}{hint}") from None
    if not isinstance(document, dict):
        raise click.UsageError("the workload must be a JSON object")
    return document


def parsed(text: str) -> Any:
    """Read a text of JSON.

    Raises:
        ValueError: it is none, or nested more deeply than anybody reads.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise TooDeepError("it is nested too deeply") from None


class TooDeepError(ValueError):
    """JSON that is nested so deeply that nobody reads it."""


def _value(text: str, pair: str) -> Any:
    try:
        return parsed(text)
    except TooDeepError as error:
        raise click.UsageError(f"'--set {pair[:40]}…': {error}") from None
    except ValueError:
        return text


def _put(into: dict[str, Any], keys: list[str], value: Any, pair: str) -> None:
    for key in keys[:-1]:
        inner = into.setdefault(key, {})
        if not isinstance(inner, dict):
            raise click.UsageError(f"'--set {pair}': '{key}' is a value, not an object")
        into = inner
    into[keys[-1]] = value


def unknown_keys(playbook: Playbook, values: dict[str, Any]) -> list[str]:
    """Say which keys a playbook that declares its workload does not know, with the nearest one it does."""
    schema = playbook.executor.spec.input_schema
    known = schema.get("properties") if isinstance(schema, dict) else None
    others = dict.fromkeys(known) if isinstance(known, dict) else {}
    declared = {**others, **playbook.workload}
    return _unknown(declared, values, "") if declared else []


def _unknown(declared: dict[str, Any], values: dict[str, Any], path: str) -> list[str]:
    slips: list[str] = []
    for key, value in values.items():
        if key not in declared:
            from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

            close = get_close_matches(key, declared, n=1)
            hint = f"did you mean '{path}{close[0]}'?" if close else f"it has {', '.join(declared)}"
            slips.append(f"the workload of this playbook has no '{path}{key}'; {hint}")
        elif isinstance(value, dict) and isinstance(declared[key], dict) and declared[key]:
            slips += _unknown(declared[key], value, f"{path}{key}.")
    return slips
