"""Cities × hotels × pages: a parallel loop in a parallel loop, pages in order inside, against a real server."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from engine_support import local, playbook

from petra.store.sqlite import SqliteStore

CITIES, HOTELS, PAGES = 20, 20, 5
CITIES_AT_ONCE, HOTELS_AT_ONCE = 4, 5

WORKFLOW = """
  - step: rooms
    loop:
      in: "{{ range(CITIES) }}"
      iterator: city
      spec: {mode: parallel, max_in_flight: CITIES_AT_ONCE}
      loop:
        in: "{{ range(HOTELS) }}"
        iterator: hotel
        spec: {mode: parallel, max_in_flight: HOTELS_AT_ONCE}
    tool:
      - {name: begin, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {page: 1, seen: []}}}}]}}}
      - name: page
        kind: http
        url: "{{ workload.api }}/{{ iter.parent.city }}/{{ iter.hotel }}"
        params: {page: "{{ iter.page }}"}
        spec:
          policy:
            rules:
              - when: "{{ outcome.status == 'error' }}"
                then: {do: fail}
              - when: "{{ outcome.result.data.more }}"
                then: {do: jump, to: page, set_iter: {page: "{{ iter.page + 1 }}", seen: "{{ iter.seen + [iter.page] }}"}}
              - else:
                  then: {do: continue, set_iter: {seen: "{{ iter.seen + [iter.page] }}"}}
      - {name: sum, kind: python, args: {seen: "{{ iter.seen }}"}, code: "result = seen"}
"""


class Rooms:
    """Serves pages and watches who asks at the same time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.busy = threading.Event()
        self.asking: Counter[tuple[str, str]] = Counter()
        self.most_cities = self.most_hotels = self.most_pages = self.calls = 0
        rooms = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                target, _, query = self.path.partition("?")
                city, hotel = target.strip("/").split("/")
                rooms.enter((city, hotel))
                rooms.busy.wait(0.01)  # a server that answers at once would never see two at a time
                raw = json.dumps({"more": int(query.removeprefix("page=")) < PAGES}).encode()
                rooms.leave((city, hotel))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def enter(self, who: tuple[str, str]) -> None:
        with self.lock:
            self.calls += 1
            self.asking[who] += 1
            self.most_pages = max(self.most_pages, self.asking[who])
            per_city = Counter(city for city, _ in self.asking)
            self.most_cities = max(self.most_cities, len(per_city))
            self.most_hotels = max(self.most_hotels, *per_city.values())

    def leave(self, who: tuple[str, str]) -> None:
        with self.lock:
            self.asking[who] -= 1
            if not self.asking[who]:
                del self.asking[who]


@pytest.mark.slow
@pytest.mark.spec("S9", "002§11-2", "002§11-3")
def test_no_loop_ever_has_more_in_flight_than_it_may(tmp_path: Path) -> None:
    async def scenario(rooms: Rooms) -> None:
        text = WORKFLOW
        for word, number in (
            ("CITIES_AT_ONCE", CITIES_AT_ONCE),
            ("HOTELS_AT_ONCE", HOTELS_AT_ONCE),
            ("CITIES", CITIES),
            ("HOTELS", HOTELS),
        ):
            text = text.replace(word, str(number))
        store = await SqliteStore.open(tmp_path / "petra.db")
        async with local(store, slots=64) as petra:
            api = f"http://127.0.0.1:{rooms.server.server_address[1]}"
            result = await petra.run(playbook(text), {"api": api})
            assert result.status == "completed", result.error
            assert result.output == [[list(range(1, PAGES + 1))] * HOTELS] * CITIES
        await store.close()

    rooms = Rooms()
    asyncio.run(scenario(rooms))
    rooms.server.shutdown()
    rooms.server.server_close()
    assert rooms.calls == CITIES * HOTELS * PAGES
    assert rooms.most_pages == 1
    assert 1 < rooms.most_hotels <= HOTELS_AT_ONCE
    assert 1 < rooms.most_cities <= CITIES_AT_ONCE
