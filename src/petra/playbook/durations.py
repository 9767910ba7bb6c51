"""Times that somebody wrote with a unit, as other systems take them: here they are seconds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|sec|m|min|h|d)")
_UNITS: Mapping[str, float] = MappingProxyType(
    {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
)


def as_seconds(text: str) -> str:
    """Say how a time is written here; nothing where a text is none."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return ""
    return f"write seconds, without a unit: {float(match[1]) * _UNITS[match[2]]:g}"
