"""Traces: one per execution, a span per step run and per call of a tool, and nothing of it without being asked."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from server.conftest import serve
from support.clocks import FakeClock
from support.patience import until

from petra.embedded import Home
from petra.errors import UsageError
from petra.kernel import Record
from petra.kernel import events as e
from petra.kernel.replay import EventReceipt
from petra.own_labels import TRACE
from petra.playbook import read
from petra.telemetry import TRACES, are_wanted
from petra.telemetry.calls import TracedTools
from petra.telemetry.otel import Traces
from petra.telemetry.requests import RequestSpans
from petra.telemetry.spans import ExecutionSpans
from petra.trace_context import RUN, RunTraced, SpanId, of_execution, of_run, read_header
from petra.wire import Error, Outcome

CANARY = "canary-4711-do-not-tell"
GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: traced}
workflow:
  - step: ask
    tool:
      kind: http
      url: "{{ workload.url }}?secret={{ workload.secret }}"
      headers: {X-Secret: "{{ workload.secret }}"}
    next: {arcs: [{step: breaks}]}
  - step: breaks
    tool: {kind: python, args: {said: "{{ workload.secret }}"}, code: "raise ValueError(said)"}
"""


@contextmanager
def answering() -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    """Give an address of this machine, and what is sent there: path, headers, body."""
    heard: list[tuple[str, dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            heard.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815 - so it is called

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def all_spans_in(bodies: list[bytes]) -> list[Any]:
    return [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def spans_in(bodies: list[bytes]) -> dict[str, Any]:
    return {span.name: span for span in all_spans_in(bodies)}


@pytest.mark.slow
def test_a_server_and_its_worker_send_one_trace_that_goes_on_from_the_caller_and_to_the_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering() as (collector, sent), answering() as (called, asked):
        monkeypatch.setenv("PETRA_TRACES", "otlp")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        with serve(tmp_path / ".petra") as server:
            with server.client() as api:
                body = {
                    "playbook": {"text": BOOK},
                    "workload": {"url": f"{called}/x", "secret": CANARY},
                }
                headers = {"traceparent": GIVEN, "Prefer": "wait=60", "Idempotency-Key": "k"}
                made = api.post("/executions", json=body, headers=headers)
                assert made.status_code == 201, made.text
                name = made.json()["id"]
                # another context is no other question
                again = api.post(
                    "/executions",
                    json=body,
                    headers={**headers, "traceparent": GIVEN[:-5] + "32-01"},
                )
                assert again.json()["id"] == name
                assert api.get(f"/executions/{name}").status_code == 200
            # at its end a worker on a busy machine may have no time to send
            until(lambda: {"tool http", "tool python"} <= set(spans_in([x for _, _, x in sent])))
            assert server.end() == 0
        bodies = [body for _, _, body in sent]
    spans = spans_in(bodies)
    start = "POST /api/v1/executions"
    shown = "GET /api/v1/executions/{execution}"
    names = {"execution traced", "step ask", "step breaks", "tool http", "tool python"}
    assert set(spans) == {*names, start, shown}
    trace = bytes.fromhex(GIVEN.split("-")[1])
    assert {span.trace_id for name, span in spans.items() if name != shown} == {trace}
    root = spans["execution traced"]
    requests = {span.span_id: span for span in all_spans_in(bodies) if span.name == start}
    assert len(requests) == 2
    first = requests[root.parent_span_id]
    assert first.parent_span_id == bytes.fromhex(GIVEN.split("-")[2])
    assert first.kind == first.SPAN_KIND_SERVER
    assert spans[shown].trace_id not in (b"", trace)
    assert spans[shown].parent_span_id == b""
    assert not any(name.encode() in span.SerializeToString() for span in requests.values())
    assert name.encode() not in spans[shown].SerializeToString()
    assert spans["step ask"].parent_span_id == root.span_id
    assert spans["tool http"].parent_span_id == spans["step ask"].span_id
    assert spans["tool python"].parent_span_id == spans["step breaks"].span_id
    (request,) = asked
    assert request[1]["traceparent"] == f"00-{trace.hex()}-{spans['tool http'].span_id.hex()}-01"
    assert CANARY in request[0]
    assert not any(CANARY.encode() in body for body in bodies)
    assert not any(called.encode() in body for body in bodies)


@pytest.mark.slow
def test_without_being_asked_nothing_of_it_is_imported() -> None:
    code = (
        "import sys, petra.cli.serve, petra.server, petra.server.tracing, petra.worker.working, petra.embedded\n"
        "from petra.telemetry import traces\n"
        "assert traces('petra') is None\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={"PATH": ""}
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_another_word_is_told_which_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETRA_TRACES", "jaeger")
    with pytest.raises(UsageError, match="'otlp' or 'off'"):
        are_wanted()


def _log(labels: dict[str, str]) -> list[Record]:
    entry = e.Produced(id="t", step="one")
    events: list[e.AnyEvent] = [
        e.ExecutionStarted(
            playbook="book", digest="d", workload={"secret": CANARY}, entry=entry, labels=labels
        ),
        e.StepStarted(run="r1", step="one", consumed=["t"]),
        e.StepFailed(run="r1", step="one", error=Error(kind="auth", message=CANARY)),
        e.ExecutionEnded(status="failed", error=Error(kind="auth", message=CANARY)),
    ]
    return [
        Record(seq=n, at=float(n), event=event, receipt=EventReceipt(), hash="", previous="")
        for n, event in enumerate(events, 1)
    ]


@pytest.mark.parametrize("labels", [{}, {TRACE: GIVEN}], ids=["its own", "the caller's"])
@pytest.mark.parametrize("known", [0, 2], ids=["from the beginning", "after a restart"])
def test_spans_are_those_of_the_log_and_hold_no_value(labels: dict[str, str], known: int) -> None:
    sends = InMemorySpanExporter()
    traces = Traces(sends, "petra")
    log = _log(labels)

    async def read_log(_: str) -> list[Record]:
        return log

    async def main() -> None:
        await ExecutionSpans(traces, read_log).take("e", log[known:])

    asyncio.run(main())
    traces.close()
    step, root = sends.get_finished_spans()
    assert (step.name, root.name) == ("step one", "execution book")
    given = labels.get(TRACE, "")
    assert root.context is not None
    assert root.context.trace_id == of_execution("e", given).trace
    assert step.parent is not None
    assert step.parent.span_id == root.context.span_id == of_execution("e").span
    assert (root.parent.span_id if root.parent else 0) == (0xB7AD6B7169203331 if given else 0)
    assert (step.start_time, step.end_time) == (2_000_000_000, 3_000_000_000)
    assert root.start_time == 1_000_000_000
    assert dict(step.attributes or {})["error.type"] == "auth"
    assert CANARY not in step.to_json() + root.to_json()


@pytest.mark.parametrize(
    ("asked", "name", "attributes"),
    [
        pytest.param(
            ("GET", "/api/v1/executions/{execution}", 404), "GET /api/v1/executions/{execution}",
            {"http.request.method": "GET", "http.route": "/api/v1/executions/{execution}", "http.response.status_code": 404},
            id="it is named by its template, and what a caller did wrong is no failure",
        ),
        pytest.param(
            ("PUT", "/x", 503), "PUT /x",
            {"http.request.method": "PUT", "http.route": "/x", "http.response.status_code": 503, "error.type": "503"},
            id="a failure of the server is one",
        ),
        pytest.param(
            (CANARY, "", 0), "HTTP", {"http.request.method": "_OTHER"},
            id="neither what nobody knows nor an address that leads nowhere is told",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("given", ["", GIVEN, CANARY], ids=["alone", "of a caller", "of nonsense"])
def test_a_request_is_a_span_below_its_caller(
    asked: tuple[str, str, int], name: str, attributes: dict[str, Any], given: str
) -> None:
    method, route, status = asked
    sends = InMemorySpanExporter()
    traces = Traces(sends, "petra")
    request = RequestSpans(traces).begin(given, 1.0)
    request.end(method, route, status, 3.0)
    traces.close()
    (span,) = sends.get_finished_spans()
    assert span.context is not None
    assert (span.name, dict(span.attributes or {})) == (name, attributes)
    assert (span.context.trace_id, span.context.span_id) == request.span
    assert span.kind is SpanKind.SERVER
    assert (span.start_time, span.end_time) == (1_000_000_000, 3_000_000_000)
    assert (not span.status.is_ok) == (status >= 500)
    above = read_header(given)
    assert (span.parent.span_id if span.parent else None) == (above.span if above else None)
    if above is not None:
        assert span.context.trace_id == above.trace
    assert CANARY not in span.to_json()


def test_a_call_outside_of_a_run_and_one_that_is_cancelled() -> None:
    sends = InMemorySpanExporter()
    traces = Traces(sends, "petra")

    class Tools:
        async def attempt(self, kind: str, *_: Any) -> Outcome:
            if kind == "hangs":
                await asyncio.Event().wait()
            return Outcome(status="ok")

    async def main() -> None:
        tools = TracedTools(Tools(), traces, FakeClock())
        await tools.attempt("http", {}, None)
        RUN.set(RunTraced("e", "r", "s"))
        hanging = asyncio.create_task(tools.attempt("hangs", {}, None))
        await asyncio.sleep(0)
        hanging.cancel()
        await asyncio.wait([hanging])

    asyncio.run(main())
    traces.close()
    (span,) = sends.get_finished_spans()
    assert span.name == "tool hangs"
    assert not span.status.is_ok
    assert span.parent is not None
    assert span.parent.span_id == of_run("e", "r").span


@pytest.mark.parametrize(
    "text", ["", "x", GIVEN + "-", "ff" + GIVEN[2:], "00-" + "0" * 32 + GIVEN[35:], GIVEN.upper()]
)
def test_what_is_no_context_is_none(text: str) -> None:
    assert read_header(text) is None


def test_a_context_is_read_as_it_is_written() -> None:
    found = SpanId(1, 2)
    assert read_header(found.header) == found
    assert read(BOOK).ok


def test_a_folder_is_not_opened_where_traces_are_asked_for_and_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRACES, "otlp")
    monkeypatch.setitem(sys.modules, "petra.telemetry.otel", None)

    async def opening() -> None:
        async with Home.open(tmp_path / ".petra"):
            raise AssertionError("its workers would end as soon as they begin")

    with pytest.raises(UsageError, match=r"install petra\[otel\]"):
        asyncio.run(opening())
    assert not (tmp_path / ".petra").exists()
