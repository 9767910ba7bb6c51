"""An HTTP server as a process of its own, which counts how many requests it has at a time.

``python counting_server.py SECONDS`` answers each after so many seconds and says its port. ``/count`` tells
the most it had at once and how many in all.
"""

from __future__ import annotations

import asyncio
import sys


class Server(asyncio.Protocol):
    """One connection: requests one after the other, each without a body."""

    running = most = calls = 0
    delay = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
            if head.startswith(b"GET /count"):
                self.answer(b'{"most": %d, "calls": %d}' % (Server.most, Server.calls))
            else:
                Server.calls += 1
                Server.running += 1
                Server.most = max(Server.most, Server.running)
                asyncio.get_running_loop().call_later(Server.delay, self.end)

    def end(self) -> None:
        Server.running -= 1
        self.answer(b'{"ok": true}')

    def answer(self, body: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                % (len(body), body)
            )


async def main(delay: float) -> None:
    Server.delay = delay
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
