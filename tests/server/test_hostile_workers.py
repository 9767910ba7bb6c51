"""Workers that say what no worker says, over the address of a real server: all of the corpus of ``tests/hostile``, and what only a
WebSocket can say. Each ends with that worker dropped, or with what it said refused; the server and everybody else go on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import msgspec
import pytest
from hostile.test_frames import BOOK, BREACHES, HELLOS, RESULTS, report_of
from server.books import ADDS
from server.conftest import Served, serve
from server.test_executions import started
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from petra.playbook import to_yaml
from petra.wire import Assignment, Report, Wire
from petra.wire import frames as f
from petra.worker.remote import socket_address

pytestmark = pytest.mark.slow

POOL = "hostile"
TEXT = to_yaml(BOOK)
HEARD_S = 120.0
"""After so long a case hangs; none needs a hundredth of it."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server for the whole corpus: what one case does to it, the next ones see."""
    with serve(tmp_path_factory.mktemp("hostile") / ".petra", "--lease", "600") as served:
        yield served


@pytest.fixture
def api(place: Served) -> Iterator[httpx2.Client]:
    with place.client() as client:
        yield client
        assert started(client, ADDS)["status"] == "completed", "others are served"
        assert place.process.poll() is None


class Caller:
    """A worker at the other end of a WebSocket that says what a case wants; as ``hostile.harness.Fake``."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def raw(self, *pieces: bytes) -> None:
        """Send a message of these bytes; a server that has hung up takes none."""
        with contextlib.suppress(ConnectionClosed):
            await self.socket.send(b"".join(pieces))

    async def body(self, body: bytes) -> None:
        await self.raw(body)

    async def data(self, **fields: Any) -> None:
        await self.raw(msgspec.msgpack.encode(fields))

    async def frame(self, frame: f.AnyFrame) -> None:
        await self.raw(f.encode(frame))

    async def hello(self, *, credit: int = 1, **more: Any) -> None:
        await self.frame(f.Hello(worker="caller", pool=POOL, slots=8, credit=credit, **more))

    async def heard(self, kind: type[Any]) -> Any:
        """Wait for a frame of a kind; what comes before it is not looked at."""
        while True:
            raw = await asyncio.wait_for(self.socket.recv(), HEARD_S)
            frame = f.decode(raw if isinstance(raw, bytes) else raw.encode())
            if isinstance(frame, kind):
                return frame

    async def given(self) -> Assignment:
        [assignment] = (await self.heard(f.Assignments)).assignments
        return assignment  # type: ignore[no-any-return]

    async def report(self, given: Assignment, **more: Any) -> None:
        await self.frame(f.Reports(reports=[report_of(given, **more)]))

    async def dropped(self) -> tuple[int, str]:
        """Wait until the server has hung up; return its code, and why."""
        try:
            while True:
                await asyncio.wait_for(self.socket.recv(), HEARD_S)
        except ConnectionClosed as error:
            return (error.rcvd.code, error.rcvd.reason) if error.rcvd else (0, "")


@asynccontextmanager
async def calling(place: Served) -> AsyncIterator[Caller]:
    """Connect as a worker does."""
    async with connect(
        socket_address(place.url),
        additional_headers={"Authorization": f"Bearer {place.said['token']}"},
        subprotocols=[f.SUBPROTOCOL],  # type: ignore[list-item]
        compression=None,
        max_size=None,
        ping_interval=None,
        close_timeout=1,
    ) as socket:
        yield Caller(socket)


def begun(api: httpx2.Client) -> str:
    answer = api.post("/executions", json={"playbook": {"text": TEXT}})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def ended(api: httpx2.Client, execution: str) -> dict[str, Any]:
    with api.stream("GET", f"/executions/{execution}/stream") as answer:
        for _ in answer.iter_lines():
            pass  # it lasts as long as the execution
    return dict(api.get(f"/executions/{execution}").json())


def types(api: httpx2.Client, execution: str) -> list[str]:
    return [
        one["event"]["type"] for one in api.get(f"/executions/{execution}/records").json()["items"]
    ]


async def done_by_another(place: Served, api: httpx2.Client, execution: str) -> None:
    """Have an honest worker do the run that another one lost."""
    async with calling(place) as honest:
        await honest.hello()
        again = await honest.given()
        assert (again.execution, again.delivery) == (execution, 2)
        await honest.report(again)
        assert ended(api, execution)["output"] == 7


Case = Callable[[Caller, str, Assignment], Awaitable[None]]


def with_a_run(place: Served, api: httpx2.Client, case: Case) -> str:
    """Give a case a worker that has a run; return the execution of it."""

    async def scenario() -> str:
        async with calling(place) as one:
            await one.hello()
            execution = begun(api)
            given = await one.given()
            assert given.execution == execution
            await case(one, execution, given)
            return execution

    return asyncio.run(scenario())


@pytest.mark.spec("S18", "S22")
@pytest.mark.parametrize("name", BREACHES)
def test_a_worker_that_breaks_the_protocol_is_dropped_and_its_run_done_by_another(
    name: str, place: Served, api: httpx2.Client
) -> None:
    act, words = BREACHES[name]

    async def case(one: Caller, execution: str, given: Assignment) -> None:
        await act(one, given)  # type: ignore[arg-type]
        code, why = await one.dropped()
        assert code in {1008, 1009}
        assert "no frame" in why if words == "bytes" else words in why or code == 1009
        await done_by_another(place, api, execution)

    with_a_run(place, api, case)


@pytest.mark.parametrize("name", HELLOS)
def test_who_cannot_say_hello_is_not_let_in(name: str, place: Served, api: httpx2.Client) -> None:
    async def scenario() -> None:
        async with calling(place) as one:
            await one.data(**HELLOS[name])
            code, why = await one.dropped()
            assert code == 1008
            assert why
        assert "w" not in {one["name"] for one in api.get("/workers").json()["items"]}

    asyncio.run(scenario())


@pytest.mark.spec("S18")
@pytest.mark.parametrize("name", RESULTS)
def test_a_report_that_holds_what_is_no_data_ends_for_its_worker_or_for_its_step(
    name: str, place: Served, api: httpx2.Client
) -> None:
    async def case(one: Caller, execution: str, given: Assignment) -> None:
        report = report_of(given, report=Report(status="ok", result="HERE"))
        body = msgspec.msgpack.encode(f.Reports(reports=[report]))
        await one.body(body.replace(b"\xa4HERE", RESULTS[name]))
        with contextlib.suppress(ConnectionClosed):
            await one.heard(f.Ack)
            assert set(types(api, execution)) & {"step.done", "step.failed", "incident.raised"}
            return
        await done_by_another(place, api, execution)

    with_a_run(place, api, case)


MESSAGES: dict[str, str | bytes] = {
    "a text": "hello",
    "an empty text": "",
    "a text of a frame": msgspec.json.encode({"frame": "credit", "slots": 1}).decode(),
    "a text of a megabyte": "\u2603" * 350_000,
    "nothing": b"",
    "more than a frame may have": b"\xc6" + b"\x00" * (f.MAX_FRAME + 1024),
}


@pytest.mark.spec("S22")
@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_that_is_no_frame_ends_the_connection(
    name: str, place: Served, api: httpx2.Client
) -> None:
    async def case(one: Caller, execution: str, _: Assignment) -> None:
        with contextlib.suppress(ConnectionClosed):
            await one.socket.send(MESSAGES[name])
        code, _why = await one.dropped()
        assert code in {1003, 1007, 1008, 1009}
        if code == 1008:
            await done_by_another(place, api, execution)

    execution = with_a_run(place, api, case)
    api.post(f"/executions/{execution}/cancel", json={})


def test_half_a_message_keeps_nobody_waiting(place: Served, api: httpx2.Client) -> None:
    async def case(one: Caller, execution: str, given: Assignment) -> None:
        stuck, goes_on = asyncio.Event(), asyncio.Event()

        async def halves() -> AsyncIterator[bytes]:
            whole = f.encode(f.Reports(reports=[report_of(given)]))
            yield whole[:10]
            stuck.set()
            await goes_on.wait()
            yield whole[10:]

        sending = asyncio.create_task(one.socket.send(halves()))
        await stuck.wait()
        assert await asyncio.to_thread(lambda: started(api, ADDS)["status"]) == "completed"
        assert "step.done" not in types(api, execution)
        goes_on.set()
        await sending
        await one.heard(f.Ack)
        assert ended(api, execution)["output"] == 7

    with_a_run(place, api, case)


@pytest.mark.spec("S5")
@pytest.mark.parametrize("lease", ["x" * 32, "", "theirs"])
def test_a_report_without_the_lease_is_not_applied(
    lease: str, place: Served, api: httpx2.Client
) -> None:
    async def case(holder: Caller, execution: str, given: Assignment) -> None:
        async with calling(place) as thief:
            await thief.hello(credit=0)
            used = given.lease if lease == "theirs" else lease
            stolen = Report(status="ok", result="stolen")
            await thief.report(given, lease=used, report=stolen)
            assert (await thief.heard(f.Ack)).parts == [(used, 1)]
            assert "step.done" not in types(api, execution)
        await holder.report(given)
        assert ended(api, execution)["output"] == 7

    with_a_run(place, api, case)


@pytest.mark.spec("S5")
def test_a_beat_for_the_run_of_another_and_lines_of_its_execution_go_nowhere(
    place: Served, api: httpx2.Client
) -> None:
    async def case(holder: Caller, execution: str, given: Assignment) -> None:
        line = f.LogLine(at=0.0, execution=execution, step="work", task="t", text="forged")
        async with calling(place) as other:
            await other.hello(credit=0)
            await other.frame(f.Heartbeat(leases=[given.lease]))
            await other.frame(f.Log(lines=[line], dropped={execution: 5}))
            await other.heard(f.Ack)
        assert "forged" not in api.get(f"/executions/{execution}/logs").text
        await holder.report(given)
        assert ended(api, execution)["output"] == 7

    with_a_run(place, api, case)


FLOODS: dict[str, tuple[f.AnyFrame | dict[str, Any], int]] = {
    "beats": (f.Heartbeat(leases=["x" * 32] * 10), 20_000),
    "lines": (f.Log(lines=[]), 5_000),
    "unknown frames": ({"frame": "obey", "x": [1]}, 1_001),
    "questions for credentials": (f.Reveal(number=1, lease="x", name="y"), 5_000),
    "tries that are none": ({"frame": "retrying", "execution": "e", "run": "r"}, 1_000),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_holds_nobody_up(name: str, place: Served, api: httpx2.Client) -> None:
    """It is taken, or its worker is dropped; others are served meanwhile."""
    frame, times = FLOODS[name]
    raw = msgspec.msgpack.encode(frame)

    async def case(one: Caller, execution: str, given: Assignment) -> None:
        async def flood() -> None:
            for _ in range(times):
                await one.raw(raw)

        async def drain() -> None:
            with contextlib.suppress(ConnectionClosed):
                while True:
                    await one.socket.recv()

        flooding, draining = asyncio.create_task(flood()), asyncio.create_task(drain())
        assert await asyncio.to_thread(lambda: started(api, ADDS)["status"]) == "completed"
        await flooding
        is_dropped = draining.done()
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)
        if not is_dropped:
            await one.report(given)
            with contextlib.suppress(ConnectionClosed):
                await one.heard(f.Ack)
                assert ended(api, execution)["output"] == 7
                return
        await done_by_another(place, api, execution)

    with_a_run(place, api, case)


def test_a_playbook_that_is_wanted_many_times_in_one_frame_is_sent_once(
    place: Served, api: httpx2.Client
) -> None:
    """Else one frame of a few megabytes would keep the server writing the same text for a minute."""

    async def case(one: Caller, execution: str, given: Assignment) -> None:
        await one.frame(f.Want(digests=[given.playbook] * 100_000))
        await one.frame(f.Log(lines=[]))
        texts = 0
        while not isinstance(frame := await one.heard(Wire), f.Ack):
            texts += isinstance(frame, f.PlaybookText)
        assert texts == 1
        await one.report(given)
        assert ended(api, execution)["output"] == 7

    with_a_run(place, api, case)
