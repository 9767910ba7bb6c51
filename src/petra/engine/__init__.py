"""The control-plane shell: load, decide, append, release. What is acknowledged is durable."""

from __future__ import annotations

from petra.engine.draft import Answered, Make
from petra.engine.engine import Engine

__all__ = ["Answered", "Engine", "Make"]
