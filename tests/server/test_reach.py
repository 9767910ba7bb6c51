"""Beyond this machine: nobody listens there unsafely, and nobody is believed who may not be."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from ipaddress import ip_address
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from server.conftest import Served, serve
from server.newcomers import WORD, user
from support import forks

from petra.errors import UsageError
from petra.server.gate import PAST, PROXIED, Scope
from petra.server.proxies import Proxies
from petra.server.reach import Names, Reach, is_trusted, networks, origin_of, refuse
from petra.server.tls import Certificate

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SOME = Path("cert.pem"), Path("key.pem")


@pytest.mark.parametrize(
    ("reach", "has_users", "why"),
    [
        pytest.param(Reach(), False, "", id="on this machine"),
        pytest.param(Reach(host="::1"), False, "", id="on this machine, IPv6"),
        pytest.param(Reach(certificate=SOME[0], key=SOME[1]), False, "", id="TLS on this machine"),
        pytest.param(Reach(host="0.0.0.0"), False, "knows no users", id="no users"),
        pytest.param(
            Reach(host="10.1.2.3", certificate=SOME[0], key=SOME[1]), False, "knows no users", id="TLS without users"
        ),
        pytest.param(Reach(host="0.0.0.0"), True, "--tls-cert", id="users without TLS"),
        pytest.param(Reach(host=""), True, "every address", id="everywhere"),
        pytest.param(Reach(host="0.0.0.0", certificate=SOME[0], key=SOME[1]), True, "", id="users and TLS"),
        pytest.param(Reach(host="::", proxies=networks(["10.0.0.0/8"])), True, "", id="behind proxies"),
        pytest.param(Reach(certificate=SOME[0]), True, "both", id="half of TLS"),
    ],
)  # fmt: skip
def test_where_a_server_listens(reach: Reach, *, has_users: bool, why: str) -> None:
    if not why:
        refuse(reach, has_users=has_users)
        return
    with pytest.raises(UsageError, match=why):
        refuse(reach, has_users=has_users)


@pytest.mark.parametrize("given", ["10.0.0.1/8", "nonsense", "", "10.0.0.0/33"])
def test_what_is_no_network_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="--behind-proxy"):
        networks([given])


@pytest.mark.parametrize(
    ("forwarded", "origin"),
    [
        pytest.param("", "10.0.0.9", id="the proxy itself"),
        pytest.param("203.0.113.7", "203.0.113.7", id="who came to the proxy"),
        pytest.param("1.1.1.1, 203.0.113.7", "203.0.113.7", id="what its sender claims is not believed"),
        pytest.param("203.0.113.7, 10.0.0.8", "203.0.113.7", id="through two proxies"),
        pytest.param("203.0.113.7, nonsense", "10.0.0.9", id="what is no address ends it"),
        pytest.param("10.0.0.7", "10.0.0.7", id="only proxies"),
    ],
)  # fmt: skip
def test_where_a_request_came_from(forwarded: str, origin: str) -> None:
    assert origin_of("10.0.0.9", forwarded, networks(["10.0.0.0/8"])) == origin


def test_who_is_a_proxy() -> None:
    proxies = networks(["10.0.0.0/8,::1", "192.0.2.1"])
    trusted = ["10.9.9.9", "::1", "192.0.2.1"]
    assert [one for one in (*trusted, "192.0.2.2", "", "x") if is_trusted(one, proxies)] == trusted


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost:7777", True),
        ("127.0.0.1:7777", True),
        ("[::1]:7777", True),
        ("petra.example.org:7777", True),
        ("PETRA.example.org:7777", True),
        ("a.wild.example.org:7777", True),
        ("a.b.wild.example.org:7777", False),
        ("petra.example.org", False),
        ("petra.example.org:80", False),
        ("evil.example.com:7777", False),
        ("", False),
        (":7777", False),
        ("localhost:7777:7777", False),
        ("127.0.0.1:7777@evil.example.com", False),
    ],
)
def test_a_server_answers_to_its_own_names(host: str, *, own: bool) -> None:
    reach = Reach(host="0.0.0.0", certificate=SOME[0], key=SOME[1])
    names = Names(reach, 7777, lambda: {"petra.example.org", "*.wild.example.org"})
    assert (host in names) is own


def test_a_usual_port_need_not_be_named() -> None:
    reach = Reach(host="0.0.0.0", port=443, certificate=SOME[0], key=SOME[1])
    names = Names(reach, 443, lambda: {"petra.example.org"})
    assert "petra.example.org" in names
    assert "petra.example.org:80" not in names


# TLS


def make_certificate(folder: Path, *names: str) -> tuple[Path, Path]:
    """Write a certificate for this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "petra test")])
    dns = [x509.DNSName(one) for one in names]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW)
        .not_valid_after(NOW.replace(year=2100))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1")), *dns]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    folder.mkdir(exist_ok=True)
    certificate, secret = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate, secret


def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificate.read_text())


def get(served: Served, path: str, trusted: ssl.SSLContext) -> httpx2.Response:
    with httpx2.Client(verify=trusted, timeout=60) as client:
        return client.get(f"{served.url}{path}", follow_redirects=False)


@pytest.mark.slow
def test_a_certificate_is_read_again_when_it_changes(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path / "tls")
    before = trusting(certificate)
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with serve(tmp_path / ".petra", *options) as served:
        assert served.url.startswith("https://127.0.0.1:")
        assert get(served, "/livez", before).status_code == 200
        cookie = get(served, served.said["login_url"].removeprefix(served.url), before)
        assert "secure" in cookie.headers["set-cookie"].lower()
        other, new_key = make_certificate(tmp_path / "other")
        after = trusting(other)
        other.replace(certificate)  # for a moment they do not fit together
        assert get(served, "/livez", before).status_code == 200
        new_key.replace(key)
        assert get(served, "/livez", after).status_code == 200
        with pytest.raises(httpx2.ConnectError):
            get(served, "/livez", before)


def test_a_key_that_is_not_its_own_is_refused(tmp_path: Path) -> None:
    certificate, _ = make_certificate(tmp_path / "one")
    _, key = make_certificate(tmp_path / "two", "petra.example.org")
    with pytest.raises(UsageError, match="cannot be used"):
        Certificate(certificate, key)
    with pytest.raises(UsageError, match="cannot be used"):
        Certificate(tmp_path / "none.pem", key)
    own, key = make_certificate(tmp_path / "two", "petra.example.org")
    assert Certificate(own, key).names == {"petra.example.org", "127.0.0.1"}


# Proxies


@pytest.mark.slow
def test_forwarded_headers_count_behind_a_proxy(tmp_path: Path) -> None:
    proxied = {
        "X-Forwarded-For": "203.0.113.7",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "petra.example.org",
    }
    with (
        serve(tmp_path / ".petra", "--behind-proxy", "127.0.0.0/8", "--prefix", "/petra") as served,
        httpx2.Client(base_url=served.url, headers=proxied, timeout=60) as client,
    ):
        assert client.get("/livez").status_code == 200
        entry = client.get(served.said["login_url"].removeprefix(served.url))
        assert (entry.status_code, entry.headers["location"]) == (303, "/petra/")
        assert "secure" in entry.headers["set-cookie"].lower()
        cookie = entry.headers["set-cookie"].partition(";")[0]
        own = {"Cookie": cookie, "Origin": "https://petra.example.org"}
        csrf = client.get("/api/v1/me", headers=own).json()["csrf"]
        seen = client.get("/api/v1/sessions", headers=own).json()["items"]
        assert [one["address"] for one in seen] == ["203.0.113.7"]
        foreign = {**own, "Origin": "https://evil.example.com", "X-CSRF-Token": csrf}
        assert client.delete("/api/v1/session", headers=foreign).status_code == 403
        own["X-CSRF-Token"] = csrf
        assert client.delete("/api/v1/session", headers=own).status_code == 204


def test_forwarded_headers_of_anybody_else_are_dropped(server: Served, api: httpx2.Client) -> None:
    claimed = {
        "X-Forwarded-For": "203.0.113.7",
        "X-Forwarded-Host": "evil.example.com",
        "X-Forwarded-Proto": "https",
    }
    with httpx2.Client(base_url=server.url, headers=claimed, timeout=60) as client:
        assert client.get("/livez").status_code == 200
        strange = client.get("/livez", headers={"Host": "evil.example.com"})
        assert (strange.status_code, strange.json()["code"]) == (421, "host")
        name = user(api, "viewer@default")
        begun = client.post("/api/v1/session", json={"name": name, "password": WORD})
        assert "secure" not in begun.headers["set-cookie"].lower()
        seen = client.get("/api/v1/sessions").json()["items"]
        assert [one["address"] for one in seen] == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("peer", "past", "proxied"),
    [("10.0.0.1", False, True), ("203.0.113.9", True, False), ("127.0.0.1", False, False)],
)
def test_nobody_comes_past_the_proxies(peer: str, *, past: bool, proxied: bool) -> None:
    seen: list[Scope] = []

    async def inner(scope: Scope, receive: object, send: object) -> None:
        del receive, send
        seen.append(scope)

    scope: Scope = {"type": "http", "scheme": "http", "client": (peer, 5), "headers": []}
    asyncio.run(Proxies(inner, networks(["10.0.0.0/8"]))(scope, None, None))  # type: ignore[arg-type]
    assert (PAST in seen[0], PROXIED in seen[0]) == (past, proxied)


@pytest.mark.slow
def test_a_server_that_would_listen_unsafely_says_what_is_missing(tmp_path: Path) -> None:
    options = ["serve", "--home", str(tmp_path / ".petra"), "--host", "0.0.0.0", "--port", "0"]
    done = forks.SERVER.run(tmp_path, *options)
    assert done.returncode == 1
    assert "knows no users" in done.stderr
