"""``petra worker``: a server that is gone again before it has said everything is asked on the next connection."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from petra.cli.worker import _learned
from petra.wire.connection import LostError
from petra.worker import server_objects
from petra.worker.server_objects import ServerObjects


class Line:
    closed = False

    def close(self) -> None:
        self.closed = True


def test_a_server_that_is_gone_before_it_named_its_store_costs_a_connection_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_objects, "PATIENCE_S", -1.0)
    line = Line()

    async def scenario() -> None:
        objects = ServerObjects("http://127.0.0.1:1", "petra_x")
        with pytest.raises(LostError, match="cannot be reached"):
            await _learned(objects, cast("Any", line))
        await objects.close()

    asyncio.run(scenario())
    assert line.closed
