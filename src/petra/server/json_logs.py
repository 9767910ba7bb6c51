"""Logs as JSON, a line each, with the ids of the request and the execution they are about: for whoever collects them.

On a terminal people read: there it says what is wrong, in words.
"""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

REQUEST: Final[ContextVar[str]] = ContextVar("petra.request", default="")
"""The id of the request that is being answered."""
_ABOUT: Final = "execution %s"
"""How a message begins that is about an execution: its first argument is the id."""
_encode = msgspec.json.Encoder(enc_hook=str).encode


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request = getattr(record, "request_id", "") or REQUEST.get()
        execution = getattr(record, "execution", "") or _execution(record)
        extra = {"request_id": request, "execution": execution, "ms": getattr(record, "ms", None)}
        line |= {name: value for name, value in extra.items() if value not in ("", None)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line).decode()


def _execution(record: logging.LogRecord) -> str:
    if isinstance(record.msg, str) and record.msg.startswith(_ABOUT) and record.args:
        first = record.args[0] if isinstance(record.args, tuple) else ""
        return str(first)
    return ""


def set_up_logs() -> None:
    """Log as JSON to stderr, unless that is a terminal."""
    if sys.stderr.isatty():
        return
    for costly in ("logThreads", "logProcesses", "logMultiprocessing", "_srcfile"):
        setattr(
            logging, costly, None
        )  # as Python's own guide says: it looks nothing up that no line shows
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for noisy in ("uvicorn.access", "httpx2", "httpcore2", "asyncio", "websockets"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
