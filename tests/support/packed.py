"""The columns of a map of iterations, read as a page reads them."""

from __future__ import annotations

import base64
import struct


def unpacked(code: str, text: str) -> list[int]:
    """Return the numbers of a column."""
    raw = base64.b64decode(text)
    return list(struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw))
