"""Tokens and what they hash to."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import zlib
from typing import Final

PREFIX: Final = "petra_"
_SECRET, _SUM = 32, 8
ID_CHARS: Final = 12


def new_token() -> str:
    """Make a token: what it is, a secret, and a checksum by which a typo is seen."""
    secret = base64.b32encode(os.urandom(20)).decode().lower()
    return f"{PREFIX}{secret}{zlib.crc32(secret.encode()):08x}"


def is_token(text: str) -> bool:
    """Tell whether something can be a token: then it is worth looking for."""
    body = text.removeprefix(PREFIX)
    if len(text) != len(PREFIX) + _SECRET + _SUM or not text.isascii() or body == text:
        return False
    secret, checksum = body[:_SECRET], body[_SECRET:]
    return f"{zlib.crc32(secret.encode()):08x}" == checksum


def new_session() -> str:
    """Make the secret of a session, which its cookie carries."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return what is stored of a secret that was drawn at random: nobody finds it again by trying."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
