"""Values in words: as JSON, on one line."""

from __future__ import annotations

import json
from typing import Any

from petra.objects import is_reference


def short(value: Any, most: int = 200) -> str:
    """Show a value as JSON, cut where it is long; of what is stored apart, how large it is."""
    text = json.dumps(_sized(value), ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


def _sized(value: Any) -> Any:
    """Put words in the place of references; what is told apart by its checksum stays so."""
    if isinstance(value, list):
        return [_sized(part) for part in value]
    if not isinstance(value, dict):
        return value
    if is_reference(value):
        checksum = f" ({value['checksum'][:8]})" if "checksum" in value else ""
        return f"{value['size']:,} bytes, stored apart{checksum}"
    return {key: _sized(part) for key, part in value.items()}
