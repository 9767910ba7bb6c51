"""The description of the API without a server: for the page of the reference."""

from __future__ import annotations

from typing import Any, cast

from petra.server.app import build
from petra.server.resources.docs import described
from petra.server.service import Service


class _Nowhere:
    """Stands where a server's parts would be: nothing of them is needed to say what the calls are."""

    prefix = ""
    version = ""
    base = "/api/v1"


def without_a_server() -> dict[str, Any]:
    """Return what ``/openapi.json`` says."""
    return described(build(cast("Service", _Nowhere())))
