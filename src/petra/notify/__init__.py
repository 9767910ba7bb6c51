"""Telling people and systems: which channels a server has, what a message looks like there, and how it gets there.

What is told is decided by the engine, in the transaction of its cause (``petra.engine.herald``); ``Sender`` sends it.
"""

from __future__ import annotations

from petra.notify.channels import ChannelSpec, NotifyFile, ServerRule, read_notify
from petra.notify.links import ActLink, Links
from petra.notify.sender import Sender

__all__ = [
    "ActLink",
    "ChannelSpec",
    "Links",
    "NotifyFile",
    "Sender",
    "ServerRule",
    "read_notify",
]
