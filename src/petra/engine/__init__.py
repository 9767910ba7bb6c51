"""The control-plane shell: load, decide, append, release. What is acknowledged is durable."""

from __future__ import annotations

from petra.engine.engine import Answered, Engine

__all__ = ["Answered", "Engine"]
