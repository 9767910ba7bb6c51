"""Signatures of webhooks, as Standard Webhooks has them: id, time and body, by HMAC-SHA256."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

PREFIX = "whsec_"


def key_of(secret: str) -> bytes:
    """Return the key that a secret stands for: ``whsec_`` and base64, or any other text as it is."""
    if secret.startswith(PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


def signed(secret: str, name: str, at: int, body: bytes) -> str:
    """Return the signature of a message."""
    content = b"%b.%d.%b" % (name.encode(), at, body)
    mac = hmac.digest(key_of(secret), content, hashlib.sha256)
    return f"v1,{base64.b64encode(mac).decode()}"
