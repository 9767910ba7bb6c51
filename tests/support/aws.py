"""A server that speaks AWS, on this machine."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def aws_address() -> Iterator[str]:
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - it takes a second

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def aws(aws_address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let whoever has no other configuration find that server; return its address."""
    for name, value in {
        "AWS_ENDPOINT_URL": aws_address, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return aws_address


def new_bucket(address: str, name: str) -> None:
    """Make a bucket."""
    urllib.request.urlopen(urllib.request.Request(f"{address}/{name}", method="PUT")).close()
