"""The control-plane shell: load, decide, append, release. What is acknowledged is durable."""

from __future__ import annotations

from petra.engine.answers import Answered
from petra.engine.engine import Engine
from petra.engine.submissions import Make

__all__ = ["Answered", "Engine", "Make"]
