"""Two hundred answers that a server should not give, and the kind of error each must become.

None stands for an answer that is odd but fine.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

from support.stub_http import Answer, redirect, reply

Row = tuple[str, bytes | Answer, str | None]

OK = "HTTP/1.1 200 OK\r\n"
JSON = "Content-Type: application/json\r\n"


def raw(text: str, then: str = "close") -> Answer:
    return Answer(text.encode("latin-1"), then)


def statuses() -> Iterator[Row]:
    kinds = {
        401: "auth", 403: "auth", 404: "not_found", 408: "timeout", 410: "not_found", 429: "rate_limit",
        504: "timeout",
    }  # fmt: skip
    for code in [*range(400, 432), 449, 450, 451, 460, 494, 499]:
        yield f"status {code}", reply("no", f"{code} No"), kinds.get(code, "client_error")
    for code in [*range(500, 512), 520, 521, 522, 525, 530, 598, 599]:
        yield f"status {code}", reply("no", f"{code} No"), kinds.get(code, "server_error")
    yield "status 404 with bad JSON", reply("{", "404 No", kind="application/json"), "not_found"
    yield (
        "status 500 without a phrase",
        raw("HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n"),
        "server_error",
    )


def lines() -> Iterator[Row]:
    for name, first in [
        ("no HTTP at all", "hello"),
        ("another protocol", "SSH-2.0-OpenSSH_9.6"),
        ("an empty line", ""),
        ("no status", "HTTP/1.1"),
        ("a status of letters", "HTTP/1.1 abc OK"),
        ("a status of two digits", "HTTP/1.1 20 OK"),
        ("a status of four digits", "HTTP/1.1 2000 OK"),
        ("a negative status", "HTTP/1.1 -200 OK"),
        ("no version", "HTTP/ 200 OK"),
        ("a null byte", "HTTP/1.1 200 O\0K"),
        ("lower case", "http/1.1 200 OK"),
        ("a space in front", " HTTP/1.1 200 OK"),
        ("markup", "<html>"),
    ]:
        yield f"first line: {name}", raw(f"{first}\r\nContent-Length: 0\r\n\r\n"), "parse"

    yield "first line: a later version", raw("HTTP/1.9 200 OK\r\nContent-Length: 0\r\n\r\n"), None


def headers() -> Iterator[Row]:
    for name, header in [
        ("no colon", "Nonsense"),
        ("no name", ": value"),
        ("a space in the name", "A B: 1"),
        ("a space before the colon", "Name : 1"),
        ("a null byte", "Name: a\0b"),
        ("a control character in the name", "Na\x01me: 1"),
        ("brackets in the name", "Na(me): 1"),
        ("two lengths that differ", "Content-Length: 3\r\nContent-Length: 5"),
        ("a length of letters", "Content-Length: many"),
        ("a negative length", "Content-Length: -1"),
        ("a length with a sign", "Content-Length: +3"),
        ("a length in hex", "Content-Length: 0x3"),
        ("an empty length", "Content-Length: "),
        ("an unknown transfer encoding", "Transfer-Encoding: gzip"),
        ("two transfer encodings", "Transfer-Encoding: chunked, chunked"),
        ("identity as a transfer encoding", "Transfer-Encoding: identity"),
    ]:
        yield f"header: {name}", raw(f"{OK}{header}\r\n\r\nabc"), "parse"
    yield "header: 200 kB of one", raw(f"{OK}A: {'x' * 200_000}\r\n\r\n"), "parse"
    many = "".join(f"A{n}: {'x' * 100}\r\n" for n in range(2000))
    yield "header: 2,000 of them", raw(f"{OK}{many}\r\n"), "parse"
    yield (
        "header: never ending",
        Answer(f"{OK}A: ".encode() + b"x" * 65536, "close", repeat=40),
        "parse",
    )
    yield "header: letters beyond ASCII", raw(f"{OK}A: \xe9\xff\r\nContent-Length: 0\r\n\r\n"), None
    yield "header: an empty value", raw(f"{OK}A:\r\nContent-Length: 0\r\n\r\n"), None
    yield "header: the same one twice", raw(f"{OK}A: 1\r\nA: 2\r\nContent-Length: 0\r\n\r\n"), None
    yield (
        "header: two lengths that agree",
        raw(f"{OK}Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
        None,
    )
    yield "header: an unknown charset", reply("x", kind="text/plain; charset=klingon"), None
    yield "header: an odd charset", reply(b"\xff\xfe", kind="text/plain; charset=utf-16"), None
    yield "header: a broken content type", reply("x", kind=";;;=/json,"), None
    yield "header: a cookie of 4 kB", reply("x", headers={"Set-Cookie": "a=" + "b" * 4000}), None


def sockets() -> Iterator[Row]:
    for name, sent in [
        ("nothing", ""),
        ("half a first line", "HTTP/1."),
        ("half a header", f"{OK}Content-Le"),
        ("no end of the headers", f"{OK}Content-Length: 5\r\n"),
        ("no body", f"{OK}Content-Length: 5\r\n\r\n"),
        ("half a body", f"{OK}Content-Length: 5\r\n\r\nab"),
        ("half a JSON body", f"{OK}{JSON}Content-Length: 9\r\n\r\n[1, 2"),
        ("no first chunk", f"{OK}Transfer-Encoding: chunked\r\n\r\n"),
        ("half a chunk", f"{OK}Transfer-Encoding: chunked\r\n\r\n5\r\nab"),
        ("no last chunk", f"{OK}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"),
        ("no end of the trailer", f"{OK}Transfer-Encoding: chunked\r\n\r\n0\r\n"),
    ]:
        yield f"closed after {name}", raw(sent), "connection"
        yield f"reset after {name}", raw(sent, "reset"), "connection"
        yield f"silent after {name}", raw(sent, "hang"), "timeout"


def chunks() -> Iterator[Row]:
    for name, sent in [
        ("a size of letters", "xyz\r\nab\r\n0\r\n\r\n"),
        ("a negative size", "-2\r\nab\r\n0\r\n\r\n"),
        ("a size that is too short", "1\r\nab\r\n0\r\n\r\n"),
        ("a size of 30 digits", "f" * 30 + "\r\nab\r\n0\r\n\r\n"),
        ("no size", "\r\nab\r\n0\r\n\r\n"),
    ]:
        yield f"chunk: {name}", raw(f"{OK}Transfer-Encoding: chunked\r\n\r\n{sent}"), "parse"
    bare = f"{OK}Transfer-Encoding: chunked\r\n\r\n2\nab\n0\n\n"
    yield "chunk: bare line feeds", raw(bare), "connection"
    extended = "2;a=b\r\nab\r\n0\r\nTrailer: 1\r\n\r\n"
    yield "chunk: an extension", raw(f"{OK}Transfer-Encoding: chunked\r\n\r\n{extended}"), None


def encodings() -> Iterator[Row]:
    good = gzip.compress(b"fine")
    for name, body, encoding, kind in [
        ("text that is no gzip", b"not at all", "gzip", "parse"),
        ("gzip with a wrong checksum", good[:-8] + b"\0" * 8, "gzip", "parse"),
        ("text that is no deflate", b"not at all", "deflate", "parse"),
        ("deflate called gzip", zlib.compress(b"fine"), "gzip", "parse"),
        ("gzip twice", gzip.compress(good), "gzip, gzip", None),
        ("an encoding nobody knows", b"fine", "snappy", None),
        ("a bomb of 40 MB", gzip.compress(b"\0" * 40_000_000), "gzip", "limit"),
    ]:  # fmt: skip
        yield f"encoding: {name}", reply(body, headers={"Content-Encoding": encoding}), kind


def bodies() -> Iterator[Row]:
    for name, text in [
        ("half an object", b"{"), ("half a list", b"[1,"), ("half a text", b'"abc'), ("a bare word", b"hello"),
        ("a trailing comma", b"[1,]"), ("single quotes", b"{'a': 1}"), ("a comment", b"[1] // one"),
        ("two values", b"1 2"), ("two objects", b"{}{}"), ("NaN", b"[NaN]"), ("Infinity", b"[Infinity]"),
        ("a leading zero", b"[01]"), ("a plus", b"[+1]"), ("a dot alone", b"[.5]"), ("hex", b"[0x10]"),
        ("True", b"[True]"), ("None", b"None"), ("undefined", b"undefined"), ("markup", b"<html>"),
        ("a null byte", b"[1]\0"), ("invalid UTF-8", b'"\xff\xfe"'), ("an overlong form", b'"\xc0\xaf"'),
        ("UTF-16", '{"a": 1}'.encode("utf-16")), ("half a surrogate pair", b'"\\ud800"'),
        ("a control character", b'"a\nb"'), ("an unknown escape", b'"\\x41"'), ("an object in a guard", b")]}',\n[1]"),
        ("a key without quotes", b"{a: 1}"), ("a key that is a number", b"{1: 1}"), ("no colon", b'{"a" 1}'),
        ("100,000 levels", b"[" * 100_000 + b"]" * 100_000), ("100,000 objects", b'{"a":' * 100_000),
        ("only white space", b"   "), ("lines of JSON", b'{"a": 1}\n{"a": 2}\n'), ("an event stream", b"data: {}\n\n"),
    ]:  # fmt: skip
        yield f"JSON: {name}", reply(text, kind="application/json"), "parse"
    for name, text, media in [
        ("a byte order mark", b"\xef\xbb\xbf[1]", "application/json"),
        ("the same key twice", b'{"a": 1, "a": 2}', "application/json"),
        ("a number of 400 digits", b"1" * 400, "application/json"),
        ("nothing", b"", "application/json"),
        ("a media type of its own", b"{}", "application/vnd.api+json; charset=utf-8"),
    ]:
        yield f"JSON: {name}", reply(text, kind=media), None
    yield "body: bytes that are no text", reply(b"\x89PNG\xff\xfe", kind="image/png"), None
    yield "body: text that is none", reply(b"\xff\xfe\xfd", kind="text/plain"), None
    yield "body: larger than allowed", reply(b"x" * 2_000_000), "limit"
    yield (
        "body: without end",
        Answer(OK.encode() + b"\r\n" + b"x" * 65536, "close", repeat=100),
        "limit",
    )
    claim = f"{OK}Content-Length: 99999999999\r\n\r\n".encode() + b"x" * 65536
    yield "body: a length of 100 GB", Answer(claim, "close", repeat=50), "limit"
    yield "body: for a 204", raw("HTTP/1.1 204 No Content\r\n\r\nsurprise"), None
    yield "body: for a 304", raw("HTTP/1.1 304 Not Modified\r\n\r\nsurprise"), None
    yield "body: longer than its length", raw(f"{OK}Content-Length: 2\r\n\r\nabcdef"), None
    yield "body: in HTTP/1.0, until the end", raw("HTTP/1.0 200 OK\r\n\r\nfine"), None
    yield (
        "body: after a 100",
        raw(f"HTTP/1.1 100 Continue\r\n\r\n{OK}Content-Length: 2\r\n\r\nok"),
        None,
    )
    yield (
        "body: after a 103",
        raw(f"HTTP/1.1 103 Early Hints\r\n\r\n{OK}Content-Length: 2\r\n\r\nok"),
        None,
    )


def redirects() -> Iterator[Row]:
    yield "redirect: to itself", redirect("/"), "limit"
    yield "redirect: to a file", redirect("file:///etc/passwd"), "client_error"
    yield "redirect: to another protocol", redirect("ftp://127.0.0.1/x"), "client_error"
    yield "redirect: to a script", redirect("javascript:alert(1)"), "client_error"
    yield "redirect: to a closed port", redirect("http://127.0.0.1:1/"), "connection"
    yield "redirect: to nobody", redirect("http://nobody.invalid/"), "connection"
    yield "redirect: to a bad port", redirect("http://127.0.0.1:99999999/"), "parse"
    yield "redirect: to a bad address", redirect("http://[::1/"), "parse"
    yield "redirect: to a null byte", redirect("http://127.0.0.1/\x01"), "parse"
    yield "redirect: to a missing page", redirect("/gone"), "not_found"
    yield "redirect: nowhere", reply("", "302 Found"), None
    yield "redirect: choices", reply("", "300 Multiple Choices"), None


HOSTILE: list[Row] = [
    *statuses(), *lines(), *headers(), *sockets(), *chunks(), *encodings(), *bodies(), *redirects(),
]  # fmt: skip
