"""Records what a server is really sent and answers, for the examples of its description (``scripts/api_examples.py``).

Every test that asks through the client of ``conftest`` takes part, where PETRA_EXAMPLES names a folder.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import httpx2

FOLDER: Final = os.environ.get("PETRA_EXAMPLES", "")
LARGEST: Final = 6_000


def record(operation: str, response: httpx2.Response) -> None:
    """Write down a request that went well, and its answer."""
    if not FOLDER or not 200 <= response.status_code < 300 or len(response.content) > LARGEST:
        return
    request = response.request
    sent = request.content
    if len(sent) > LARGEST:
        return
    media = request.headers.get("content-type", "").partition(";")[0]
    answered = response.headers.get("content-type", "").partition(";")[0]
    found: dict[str, Any] = {
        "operation": operation, "status": str(response.status_code),
        "answer": response.json() if answered == "application/json" and response.content else None,
        "media": media if sent else "", "sent": _read(sent, media),
    }  # fmt: skip
    with (Path(FOLDER) / f"{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps(found) + "\n")


def _read(sent: bytes, media: str) -> Any:
    if media == "application/json" and sent:
        return json.loads(sent)
    return sent.decode("utf-8", "replace")
