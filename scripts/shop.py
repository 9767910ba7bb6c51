"""The small shop of the tour: an HTTP service on this machine, now and then unwell."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep
from urllib.parse import parse_qs, urlsplit

ORDERS = 100
PER_PAGE = 25
LOST = {13, 77}
ILL_FOR = 2


class Shop:
    """Serves on a free port of the loopback until closed."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        shop = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = shop.answer(self.path)
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Somebody hung up: that is what the demo is about."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, target: str) -> tuple[int, object]:
        parts = urlsplit(target)
        self.calls[parts.path] = self.calls.get(parts.path, 0) + 1
        match parts.path.strip("/").split("/"):
            case ["orders"]:
                return 200, _page(int(parse_qs(parts.query).get("page", ["1"])[0]))
            case ["score"]:
                ill = self.calls[parts.path] <= ILL_FOR
                return (503, {"error": "busy"}) if ill else (200, {"score": 0.93})
            case ["orders", number]:
                sleep(0.03)
                lost = int(number) in LOST
                return (
                    (404, {"error": "lost"})
                    if lost
                    else (200, {"id": int(number), "customer": f"c{number}"})
                )
            case ["offers", carrier]:
                sleep({"rail": 0.1, "road": 0.05}.get(carrier, 0.4))
                return 200, {"carrier": carrier, "price": {"rail": 7, "road": 9}.get(carrier, 5)}
            case _:
                return 404, {"error": "no such thing"}


def _page(number: int) -> dict[str, object]:
    first = (number - 1) * PER_PAGE + 1
    orders = [
        {"id": one, "amount": 20 + one % 7}
        for one in range(first, min(first + PER_PAGE, ORDERS + 1))
    ]
    return {"orders": orders, "more": first + PER_PAGE <= ORDERS}
