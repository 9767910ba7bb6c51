"""Conditions of a change: what its author saw, by the ``ETag`` that it came with, or that nothing is there yet."""

from __future__ import annotations

from typing import Annotated, Final

from litestar.params import HeaderParameter

from petra.server.problems import ProblemError

IfMatch = Annotated[str | None, HeaderParameter(name="If-Match", required=False)]
IfNoneMatch = Annotated[
    str | None,
    HeaderParameter(name="If-None-Match", required=False, schema_extra={"enum": ["*"]}),
]

VERSION_DIGITS: Final = 12
"""A version has fewer digits than that."""


def replaced_by(if_match: str | None, if_none_match: str | None = None) -> str | None:
    """Return which text a change replaces: any where it is not said, none where that is empty.

    Raises:
        ProblemError: ``If-None-Match`` names something; only that nothing is there can be a condition. Or both are sent:
            what is replaced is not there and is, which never holds.
    """
    if if_none_match is None:
        return None if if_match is None else _bare(if_match)
    words = "send 'If-None-Match: *' for what is not there yet, or 'If-Match' for what is"
    if _bare(if_none_match) != "*":
        raise ProblemError("bad-request", words)
    if if_match is not None:
        raise ProblemError("stale", words)
    return ""


def entity_tag(version: object) -> dict[str, str]:
    """Return the header by which what is answered can be named in a condition."""
    return {"ETag": f'"{version}"'}


def version_seen(if_match: str | None) -> int | None:
    """Return the version that somebody saw; None where any will do."""
    version = _bare(if_match or "*")
    if version != "*" and not (
        version.isascii() and version.isdigit() and len(version) <= VERSION_DIGITS
    ):
        raise ProblemError("stale", f"there is no version {version[:40]}")
    return int(version) if version != "*" else None


def _bare(tag: str) -> str:
    """Return what a tag says; a proxy that compresses answers marks it as weak, and means the same."""
    return tag.strip().removeprefix("W/").strip('"')
