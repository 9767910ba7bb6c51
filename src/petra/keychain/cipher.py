"""AES-256-GCM, by the library ``cryptography``: the only file that knows it, loaded when something is sealed."""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE = 12
_BITS = 256


class ChangedError(Exception):
    """What was sealed, or what it is about, is not what it was."""


def new_key() -> bytes:
    """Make a key."""
    return AESGCM.generate_key(_BITS)


def encrypt(key: bytes, data: bytes, about: bytes) -> bytes:
    """Seal data together with what it is about."""
    nonce = os.urandom(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, data, about)


def decrypt(key: bytes, data: bytes, about: bytes) -> bytes:
    """Open what was sealed.

    Raises:
        ChangedError: it was changed, or the key is another one.
    """
    try:
        return AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], about)
    except InvalidTag:
        raise ChangedError from None
