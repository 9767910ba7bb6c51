"""The web UI as a server hands it out: one page for every address of it, files for ever, a policy that lets nothing in."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import httpx2
import pytest
from server.conftest import Served, get, serve

from petra.server.resources.pages import BUILT, ROOTS

ADDRESSES = ("/", *(f"/{root}" for root in ROOTS), "/e/01a?at=4&sel=step:pay", "/p/a/b/c", "/login")


@pytest.fixture(scope="module")
def page(server: Served) -> httpx2.Response:
    if not (BUILT / "index.html").exists():
        pytest.skip("the web UI is not built here; 'make ui' builds it")
    return get(server.url)


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_address_of_a_page_is_answered_with_the_page(server: Served, address: str) -> None:
    found = get(f"{server.url}{address}")
    assert found.headers["content-type"].startswith("text/html")
    assert found.status_code in {200, 503}, "503 says that it is not built, and how to build it"
    if found.status_code == 503:
        assert "make ui" in found.text


@pytest.mark.parametrize(
    "address", ["/nothing", "/api/v1/nothing", "/assets/nothing.js", "/assets/..%2Findex.html"]
)
def test_what_is_no_page_is_told_as_a_problem(server: Served, address: str) -> None:
    found = get(f"{server.url}{address}")
    assert (found.status_code, found.json()["code"]) == (404, "not-found")


def test_the_policy_lets_nothing_in_and_its_nonce_is_used_once(
    page: httpx2.Response, server: Served
) -> None:
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    (nonce,) = re.findall(r"'nonce-([\w-]+)'", policy)
    assert f'nonce="{nonce}"' in page.text
    again = get(server.url)
    assert nonce not in again.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-cache"


def test_files_are_kept_for_ever_and_sent_packed(page: httpx2.Response, server: Served) -> None:
    name = re.findall(r'src="\./(assets/[\w.-]+\.js)"', page.text)[0]
    plain = get(f"{server.url}/{name}", headers={"Accept-Encoding": "identity"})
    assert plain.status_code == 200
    assert "immutable" in plain.headers["cache-control"]
    assert "javascript" in plain.headers["content-type"]
    assert plain.content == (BUILT / name).read_bytes()
    with httpx2.stream(
        "GET", f"{server.url}/{name}", headers={"Accept-Encoding": "gzip"}
    ) as packed:
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(b"".join(packed.iter_raw())) == plain.content
    with httpx2.stream(
        "GET", f"{server.url}/{name}", headers={"Accept-Encoding": "gzip, br"}
    ) as small:
        assert small.headers["content-encoding"] == "br"


@pytest.mark.slow
@pytest.mark.usefixtures("page")
def test_a_prefix_stands_before_everything(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra", "--prefix", "/behind") as served:
        shown = get(f"{served.url}/executions")
        assert '<base href="/behind/" />' in shown.text
        name = re.findall(r'src="\./(assets/[\w.-]+\.js)"', shown.text)[0]
        assert get(f"{served.url}/{name}").status_code == 200


def test_a_code_that_was_used_leads_a_browser_to_the_login_page(server: Served) -> None:
    browser = {"Accept": "text/html"}
    led = get(f"{server.url}/login?code=never", headers=browser, follow_redirects=False)
    assert (led.status_code, led.headers["location"]) == (303, "/login?used=1")
    assert get(f"{server.url}/login?code=never").json()["code"] == "no-credentials"
