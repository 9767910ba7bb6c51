"""The description of the API without a server: for the page of the reference."""

from __future__ import annotations

from typing import Any, cast

from litestar import Litestar

from petra.server.app import build
from petra.server.openapi import description_of
from petra.server.service import Service


class _NoService:
    """Stands where a server's parts would be: nothing of them is needed to say what the calls are."""

    prefix = ""
    version = ""
    base = "/api/v1"


def bare_app() -> Litestar:
    """Return the application of no server: its calls can be looked at, and not called."""
    return build(cast("Service", _NoService()))


def bare_description() -> dict[str, Any]:
    """Return what ``/openapi.json`` says."""
    return description_of(bare_app())
