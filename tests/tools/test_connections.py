"""Connections of the http tool: used again, bounded, and encrypted only with whom they should be."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from support.attempts import bad, good, with_tools
from support.stub_http import Answer, Route, reply, reply_json, serving

from petra.tools.base import ToolContext
from petra.tools.registry import Registry
from petra.wire import Outcome


async def ask(registry: Registry, url: str, **fields: object) -> Outcome:
    return await registry.attempt("http", {"url": url, **fields}, ToolContext())


def test_a_connection_is_used_again_and_one_that_broke_is_not() -> None:
    async def use(registry: Registry) -> list[int]:
        counts = []
        routes: dict[str, Route | bytes | Answer] = {
            "/": reply_json(1),
            "/cut": Answer(b"HTTP/1.1 200 OK\r\nContent-", "reset"),
        }
        async with serving(routes) as stub:
            for path in ("/", "/", "/cut", "/", "/"):
                await ask(registry, stub.url(path))
                counts.append(stub.connections)
        return counts

    assert with_tools(use) == [1, 1, 1, 2, 2]


def test_an_answer_that_is_not_read_to_its_end_spoils_nothing() -> None:
    async def use(registry: Registry) -> None:
        async with serving({"/": reply_json(1), "/large": reply("x" * 1_000_000)}) as stub:
            error = bad(await ask(registry, stub.url("/large"), max_bytes=1_000))
            assert error.kind == "limit"
            assert good(await ask(registry, stub.url()))["data"] == 1

    with_tools(use)


def test_requests_beyond_the_bound_wait_for_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petra.tools.connections.CONNECTIONS", 3)

    async def use(registry: Registry) -> tuple[int, int]:
        async with serving({"/": reply_json(1)}) as stub:
            outcomes = await asyncio.gather(*(ask(registry, stub.url()) for _ in range(30)))
            assert {one.status for one in outcomes} == {"ok"}
            return stub.open_most, stub.connections

    most, connections = with_tools(use)
    assert most <= 3
    assert connections <= 3


def test_a_request_that_is_cancelled_while_it_waits_takes_no_connection_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("petra.tools.connections.CONNECTIONS", 1)

    async def use(registry: Registry) -> None:
        async with serving({"/": reply_json(1), "/hang": Answer(b"", "hang")}) as stub:
            first = asyncio.create_task(ask(registry, stub.url("/hang")))
            await stub.until(lambda found: found.open_now == 1)
            second = asyncio.create_task(ask(registry, stub.url()))
            third = asyncio.create_task(ask(registry, stub.url()))
            await asyncio.sleep(0)
            for task in (second, first):
                task.cancel()
            await asyncio.gather(first, second, return_exceptions=True)
            assert good(await third)["data"] == 1

    with_tools(use)


def test_idle_connections_are_bounded_and_the_oldest_goes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("petra.tools.connections.IDLE", 2)

    async def use(registry: Registry) -> list[int]:
        async with (
            serving({"/": reply_json(1)}) as a,
            serving({"/": reply_json(1)}) as b,
            serving({"/": reply_json(1)}) as c,
        ):
            for stub in (a, b, c, b, c, a):
                good(await ask(registry, stub.url()))
            return [stub.connections for stub in (a, b, c)]

    assert with_tools(use) == [2, 1, 1]


def certificate(folder: Path) -> ssl.SSLContext:
    """Return the TLS of a server that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    day = dt.timedelta(days=1)
    now = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + day * 36_500)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


@pytest.mark.spec("S22")
def test_a_certificate_that_nobody_vouches_for_is_refused_unless_told_otherwise(
    tmp_path: Path,
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply_json("hello"))
        await writer.drain()
        writer.close()

    async def use(registry: Registry) -> None:
        tls = certificate(tmp_path)
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with server:
            error = bad(await ask(registry, url))
            assert error.kind == "connection"
            assert "CERTIFICATE_VERIFY_FAILED" in error.message
            assert good(await ask(registry, url, verify=False))["data"] == "hello"
            assert bad(await ask(registry, url, verify=True)).kind == "connection"

    with_tools(use)
