"""A client of a Petra server, with the words of ``petra.open``.

async with petra.client.connect("http://127.0.0.1:7777", token) as server:
    done = await server.run("orders.yaml", {"order": 7})
"""

from __future__ import annotations

from petra.client.client import Client, connect
from petra.client.problems import ServerError
from petra.client.shapes import Execution, Told

__all__ = ["Client", "Execution", "ServerError", "Told", "connect"]
