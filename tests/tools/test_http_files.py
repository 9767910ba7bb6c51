"""``kind: http``: bodies of several parts, and answers that go to the object store."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from support.attempts import bad, good, with_tools
from support.stub_http import Answer, Asked, reply, serving
from tools.test_http import ask, ask_once

from petra.keychain import Scrubber
from petra.objects import ExecutionObjects, LocalObjects
from petra.tools.base import ToolContext
from petra.tools.registry import Registry
from petra.wire import Outcome
from petra.worker.results import CleanObjects


class Shelf:
    """The object store of one execution, as a worker gives it to a tool."""

    def __init__(self, folder: Path, scrubber: Scrubber | None = None) -> None:
        own = ExecutionObjects(LocalObjects(folder), "e1")
        self.objects = CleanObjects(own, scrubber or Scrubber())


@pytest.mark.spec("S18", "S22")
def test_an_answer_may_be_stored_and_sent_on(tmp_path: Path) -> None:
    content = bytes(range(256)) * 4096
    routes = {
        "/file": b"HTTP/1.1 200 OK\r\nContent-Type: image/png; x=1\r\nContent-Length: %d\r\n\r\n%s"
        % (len(content), content),
        "/up": reply(b""),
    }
    shelf = Shelf(tmp_path)

    async def use(registry: Registry) -> tuple[Outcome, Asked]:
        async with serving(routes) as stub:
            made = ToolContext(objects=shelf.objects)
            got = await registry.attempt("http", {"url": stub.url("/file"), "download": True}, made)
            part = {"ref": got.result["data"], "filename": 'a"\r\nb.png'.replace("\r\n", ""), "content_type": "image/png"}  # fmt: skip
            sent = {"url": stub.url("/up"), "method": "POST", "multipart": {"file": part, "n": 1, "tags": ["x", "y"]}}  # fmt: skip
            good(await registry.attempt("http", sent, made))
            return got, stub.asked[-1]

    outcome, asked = with_tools(use)
    result = good(outcome)
    assert (result["status"], result["data"]["size"]) == (200, len(content))
    assert result["data"]["schema_hint"] == "image/png"
    assert list(result) == ["status", "headers", "data"]
    assert asyncio.run(shelf.objects.get(result["data"])) == content
    assert asked.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert content in asked.body
    head = asked.body.split(content)[0]
    assert b'name="file"; filename="a%22b.png"' in head
    assert b"Content-Type: image/png" in head
    assert asked.body.count(b'name="tags"') == 2
    assert b'name="n"\r\n\r\n1\r\n' in asked.body


@pytest.mark.spec("S22")
def test_parts_are_text_json_or_base64() -> None:
    parts = {
        "text": "é",
        "json": {"data": {"a": [1]}, "content_type": "application/json"},
        "raw": {"data": "AAE=", "encoding": "base64", "filename": "r.bin"},
        "none": None,
    }
    outcome, asked = ask_once({"/": reply(b"")}, {"method": "POST", "multipart": parts})
    good(outcome)
    assert b'name="text"\r\n\r\n\xc3\xa9\r\n' in asked.body
    assert b'Content-Type: application/json\r\n\r\n{"a":[1]}\r\n' in asked.body
    assert b"\r\n\r\n\x00\x01\r\n" in asked.body
    assert b"none" not in asked.body


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, "multipart is empty"),
        ({"a": {}}, "either data or ref"),
        ({"a": {"data": 1, "ref": 2}}, "either data or ref"),
        ({"a": {"ref": "x"}}, "is no reference"),
        ({"a": {"path": "/etc/passwd"}}, "has no 'path'"),
        ({"a": {"data": "?", "encoding": "base64"}}, "is no base64"),
        ({"a": {"data": "x", "encoding": "hex"}}, "takes base64"),
        ({"a": {"data": "x", "filename": "a\r\nX: y"}}, "one line of text"),
        ({"a": {"data": "x", "content_type": "a\nb"}}, "one line of text"),
        ({"a": {"data": "x", "filename": 7}}, "one line of text"),
        ({"a": ["x"] * 1001}, "at most 1,000 parts"),
        ({"a": {"ref": {"store": "local", "key": "e2/" + "0" * 64 + ".bin", "checksum": "0" * 64, "size": 1, "schema_hint": None}}}, "no object store"),
    ],
)  # fmt: skip
def test_a_part_that_is_none_is_refused(parts: dict[str, Any], said: str) -> None:
    (outcome,), stub = ask({"/": reply(b"")}, {"method": "POST", "multipart": parts})
    assert bad(outcome).kind == "client_error"
    assert said in bad(outcome).message
    assert stub.asked == []


def test_a_name_cannot_break_out_of_its_header() -> None:
    parts = {'x"; filename="y\r\nA: b': "v"}
    outcome, asked = ask_once({"/": reply(b"")}, {"method": "POST", "multipart": parts})
    good(outcome)
    assert b"\r\nA: b" not in asked.body


@pytest.mark.spec("S18")
def test_the_file_of_another_execution_is_not_sent(tmp_path: Path) -> None:
    other = asyncio.run(LocalObjects(tmp_path).put("e2", b"secret")).as_data()
    request = {"method": "POST", "multipart": {"a": {"ref": other}}}
    (outcome,), stub = ask({"/": reply(b"")}, request, objects=Shelf(tmp_path).objects)
    assert (bad(outcome).kind, stub.asked) == ("denied", [])


@pytest.mark.spec("S22")
def test_only_a_good_answer_of_bounded_size_is_stored(tmp_path: Path) -> None:
    routes = {"/": reply(b"x" * 1000), "/bad": reply(b"no", "404 Not Found")}
    objects = Shelf(tmp_path).objects
    large, refused, none = ask(
        routes,
        {"download": True, "max_bytes": 999},
        {"url": "/bad", "download": True},
        {"download": "perhaps"},
        objects=objects,
    )[0]
    assert (bad(large).kind, large.more["http"]["status"]) == ("limit", 200)
    assert (bad(refused).kind, bad(refused).details["data"]) == ("not_found", "no")
    assert bad(none).kind == "client_error"
    assert list(tmp_path.iterdir()) == []
    (homeless,), _ = ask(routes, {"download": True})
    assert "no object store" in bad(homeless).message


@pytest.mark.spec("S20")
@pytest.mark.parametrize("before", [0, 1024 * 1024 - 5])
def test_a_file_that_holds_a_secret_is_not_kept(tmp_path: Path, before: int) -> None:
    scrubber = Scrubber()
    scrubber.add("hunter2-and-more")
    routes = {"/": reply(b"." * before + b"hunter2-and-more" + b"." * 100)}
    objects = Shelf(tmp_path, scrubber).objects
    (outcome,), _ = ask(routes, {"download": True}, objects=objects)
    assert bad(outcome).kind == "denied"
    assert "holds a secret" in bad(outcome).message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("S18")
def test_a_download_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    broken = Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc", then="close")
    (outcome,), _ = ask({"/": broken}, {"download": True}, objects=Shelf(tmp_path).objects)
    assert bad(outcome).kind in {"connection", "parse"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_a_download_of_any_size_takes_little_memory(tmp_path: Path) -> None:
    block, count = b"x" * 1024 * 1024, 64

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (count * len(block)))
        for _ in range(count):
            writer.write(block)
            await writer.drain()
        writer.close()

    async def use(registry: Registry) -> tuple[Outcome, int]:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            made = ToolContext(objects=Shelf(tmp_path).objects)
            tracemalloc.start()
            try:
                outcome = await registry.attempt("http", {"url": url, "download": True}, made)
                return outcome, tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    outcome, most = with_tools(use)
    assert good(outcome)["data"]["size"] == count * len(block)
    assert most < 16 * 1024 * 1024
