"""Links that act: signed, good for one person, one work item and one action, until a time.

Rule 1: a link is nowhere stored: whoever has the key makes it, and the same message has the same link again.
Rule 2: whether it was used is for the server to know; what is said here is whether it is one of ours.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from pathlib import Path

import msgspec

from petra.private import kept

LINK_KEY = "petra.links.key"
LINK_KEY_VARIABLE = "PETRA_LINK_KEY"
"""Servers that share a database share this, so that each knows the links of the others."""
_MAC = 24
_TOKEN_MAX = 2_000


class ActLink(msgspec.Struct, frozen=True, array_like=True):
    """What a link lets somebody do."""

    execution: str
    item: str
    action: str
    person: str
    until: float
    roles: list[str] = []


class Links:
    """Makes links, and reads them."""

    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, b"petra links", hashlib.sha256)

    @classmethod
    def of(cls, home: Path) -> Links:
        """Return those of a home; the key is made when it is not there."""
        if key := os.environ.get(LINK_KEY_VARIABLE):
            return cls(key.encode())
        return cls(kept(home / LINK_KEY, lambda: os.urandom(32)))

    def token(self, link: ActLink) -> str:
        """Return a link as it stands in an address."""
        body = msgspec.json.encode(link)
        mac = hmac.digest(self._key, body, hashlib.sha256)[:_MAC]
        return base64.urlsafe_b64encode(mac + body).rstrip(b"=").decode()

    def read(self, token: str) -> ActLink | None:
        """Return what a link says; None where it is none of ours."""
        if len(token) > _TOKEN_MAX:
            return None
        try:
            raw = base64.urlsafe_b64decode(token.encode() + b"=" * (-len(token) % 4))
        except ValueError:
            return None
        mac, body = raw[:_MAC], raw[_MAC:]
        right = hmac.digest(self._key, body, hashlib.sha256)[:_MAC]
        if not hmac.compare_digest(mac, right):
            return None
        try:
            return msgspec.json.decode(body, type=ActLink)
        except msgspec.MsgspecError:
            return None


def used_name(token: str) -> str:
    """Return the name under which it is noted that a link was used: not the link itself."""
    return hashlib.sha256(token.encode()).hexdigest()
