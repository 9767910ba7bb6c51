"""Telling people and systems: which channels a server has, what a message looks like there, and how it gets there.

What is told is decided by the engine, in the transaction of its cause (``petra.engine.herald``); ``Sender`` sends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.lazy_names import lazy

if TYPE_CHECKING:
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

if not TYPE_CHECKING:  # who has nobody to tell loads no mail
    __getattr__, __dir__ = lazy(
        __name__,
        {
            **dict.fromkeys(
                ("ChannelSpec", "NotifyFile", "ServerRule", "read_notify"), "petra.notify.channels"
            ),
            **dict.fromkeys(("ActLink", "Links"), "petra.notify.links"),
            "Sender": "petra.notify.sender",
        },
    )
