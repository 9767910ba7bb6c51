"""Logging in at a provider: a real one, on this machine, that says what is right, and everything that is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from server.conftest import TRUSTED, Served, get, serve
from server.newcomers import acting_as, user
from support.oidc_provider import CLIENT, SECRET, Provider, providing

from petra.accounts.oidc_settings import settled
from petra.errors import UsageError

pytestmark = pytest.mark.slow
ANN = {"sub": "ann-1", "preferred_username": "Ann Lee", "groups": ["ops", "others"]}
START = "/login/oidc"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with providing() as found:
        yield found


@pytest.fixture(scope="module")
def served(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("oidc")
    secret = home / "secret"
    secret.write_text(f"{SECRET}\n")
    config = home / "petra.toml"
    config.write_text(
        f'[oidc]\nissuer = "{provider.url}"\nclient_id = "{CLIENT}"\nclient_secret_file = "{secret}"\n'
        '[oidc.roles]\nops = ["operator@default"]\nfinance = ["approver@default", "finance@default"]\n'
    )
    with serve(home / ".petra", "--config", str(config)) as found:
        yield found


@pytest.fixture(autouse=True)
def right(provider: Provider) -> None:
    """Everything is right again, whatever the last test made wrong."""
    provider.who, provider.wrong, provider.alg, provider.calls_itself = dict(ANN), {}, "RS256", ""
    provider.rotate()


def browser(served: Served) -> httpx2.Client:
    return httpx2.Client(base_url=served.url, timeout=60, verify=TRUSTED)


def logged_in(client: httpx2.Client) -> httpx2.Response:
    """Go to the provider and back, as a browser does; return what the server says in the end."""
    there = client.get(START)
    assert there.status_code == 303, there.text
    back = client.get(there.headers["location"])
    assert back.status_code == 303, back.text
    return client.get(back.headers["location"])


def test_somebody_logs_in_at_the_provider_and_has_the_roles_of_their_groups(
    served: Served, provider: Provider
) -> None:
    with browser(served) as client:
        said = client.get("/api/v1/meta").json()
        assert said["log_in"]["oidc"] == "/login/oidc", "who is not in yet is told how to come in"
        assert said["troubles"] == []
        client.cookies.set("petra_session", "planted", domain="127.0.0.1")
        done = logged_in(client)
        assert (done.status_code, done.headers["location"]) == (303, "/"), done.text
        flags = done.headers.get_list("set-cookie")[0].lower()
        assert "httponly" in flags
        assert "samesite=lax" in flags
        me = client.get("/api/v1/me").json()
        assert (me["name"], me["kind"], me["roles"]) == ("ann-lee", "user", ["operator"])
        assert client.post("/api/v1/executions", json={}).json()["code"] == "cross-site"
        with served.client() as api:
            users = {one["name"]: one for one in api.get("/users").json()["items"]}
            assert users["ann-lee"]["issuer"] == provider.url
            log_ins = [one for one in api.get("/audit", params={"limit": "500"}).json()["items"] if one["act"] == "log in"]  # fmt: skip
            assert (log_ins[0]["actor"], log_ins[0]["outcome"]) == ("ann-lee", "done")
            refused = api.patch("/users/ann-lee", json={"password": "a long enough one"})
            assert "logs in at" in refused.json()["detail"]
        provider.who = {**ANN, "groups": ["finance"], "preferred_username": "renamed"}
        assert logged_in(client).status_code == 303
        me = client.get("/api/v1/me").json()
        assert (me["name"], me["roles"]) == ("ann-lee", ["approver", "finance"])


def test_a_name_that_is_taken_is_not_taken_over(served: Served, provider: Provider) -> None:
    with served.client() as api, browser(served) as client:
        name = user(api, "admin@default")
        provider.who = {"sub": "thief", "preferred_username": name, "groups": ["ops"]}
        logged_in(client)
        me = client.get("/api/v1/me").json()
        assert me["name"] != name
        assert me["name"].startswith(name)
        assert me["roles"] == ["operator"]


def test_who_is_disabled_is_out_and_stays_out(served: Served, provider: Provider) -> None:
    provider.who = {"sub": "bob", "preferred_username": "bob", "groups": ["ops"]}
    with served.client() as api, browser(served) as client:
        logged_in(client)
        assert client.get("/api/v1/me").json()["name"] == "bob"
        assert api.patch("/users/bob", json={"disabled": True}).json()["disabled"] is True
        assert client.get("/api/v1/me").status_code == 401
        again = logged_in(client)
        assert (again.status_code, again.json()["code"]) == (401, "no-credentials")


def test_keys_that_are_changed_are_fetched_once_more(served: Served, provider: Provider) -> None:
    with browser(served) as client:
        assert logged_in(client).status_code == 303
        provider.rotate()
        before = provider.asked.count("keys")
        assert logged_in(client).status_code == 303
        assert provider.asked.count("keys") == before + 1
        provider.alg = "ES256"
        provider.rotate()
        assert logged_in(client).status_code == 303
        provider.rotate(publish=False)
        stolen = logged_in(client)
        assert stolen.status_code == 401
        assert "not signed with a key of its own" in stolen.json()["detail"]


WRONG: dict[str, dict[str, Any]] = {
    "of another provider": {"iss": "https://other.example"},
    "for somebody else": {"aud": "another-client"},
    "for somebody else ": {"aud": [CLIENT, "another-client"]},
    "too old": {"exp": 1_000_000_000},
    "too old ": {"exp": "soon"},
    "of a time to come": {"iat": 4_000_000_000},
    "of another log-in": {"nonce": "made-up"},
    "about nobody": {"sub": ""},
    "no group of yours has a role here": {"groups": ["strangers"]},
    "no group of yours has a role here ": {"groups": {"ops": True}},
}


@pytest.mark.parametrize("why", WRONG)
def test_what_is_not_right_lets_nobody_in(served: Served, provider: Provider, why: str) -> None:
    provider.wrong = WRONG[why]
    with browser(served) as client:
        refused = logged_in(client)
        assert (refused.status_code, refused.json()["code"]) == (401, "no-credentials")
        assert why.strip() in refused.json()["detail"]
        assert client.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize("alg", ["none", "HS256"])
def test_a_token_that_anybody_could_have_made_lets_nobody_in(
    served: Served, provider: Provider, alg: str
) -> None:
    provider.alg = alg
    with browser(served) as client:
        assert logged_in(client).status_code == 401
        assert client.get("/api/v1/me").status_code == 401


def test_a_log_in_is_good_once_and_for_the_browser_that_began_it(
    served: Served, provider: Provider
) -> None:
    with browser(served) as client, browser(served) as other:
        there = client.get(START)
        back = client.get(there.headers["location"]).headers["location"]
        assert (
            other.get(back).status_code == 401
        )  # another browser: a log-in that was foisted on it
        kept = dict(client.cookies)
        assert client.get(back).status_code == 303
        for name, value in kept.items():
            client.cookies.set(name, value, domain="127.0.0.1", path=START)
        replayed = client.get(back)
        assert (replayed.status_code, replayed.json()["code"]) == (401, "no-credentials")
        state = parse_qs(urlsplit(client.get(START).headers["location"]).query)["state"][0]
        for query in (
            f"state={state}&code=made-up",
            "code=x",
            "state=x&code=y",
            f"state={state}&error=denied",
        ):
            assert client.get(f"{START}/callback?{query}").status_code == 401
        assert provider.codes == {}


def test_a_provider_that_is_not_there_or_is_another_is_said(tmp_path: Path) -> None:
    roles = ("--oidc-client-id", CLIENT, "--oidc-role", "ops=operator@default")
    with providing() as gone:
        pass
    with (
        serve(tmp_path / "a", "--oidc-issuer", gone.url, *roles) as served,
        browser(served) as client,
    ):
        away = client.get(START)
        assert (away.status_code, away.json()["code"]) == (503, "unavailable")
        assert "Retry-After" in away.headers
        assert client.get("/livez").status_code == 200
    with (
        providing() as found,
        serve(tmp_path / "b", "--oidc-issuer", found.url, *roles) as served,
        browser(served) as client,
    ):
        found.calls_itself = "https://other.example"
        assert "calls itself" in client.get(START).json()["detail"]


def test_a_server_without_a_provider_has_no_such_log_in(server: Served) -> None:
    with httpx2.Client(base_url=server.url, timeout=300) as client:
        for path in (START, f"{START}/callback?state=a&code=b"):
            assert client.get(path).status_code == 404


def test_a_server_reaches_further_with_a_provider_and_without_users(tmp_path: Path) -> None:
    with providing() as found:
        more = (
            "--oidc-issuer",
            found.url,
            "--oidc-client-id",
            CLIENT,
            "--oidc-role",
            "ops=viewer@*",
        )
        with serve(
            tmp_path / ".petra", "--host", "0.0.0.0", "--behind-proxy", "127.0.0.0/8", *more
        ) as served:
            assert get(f"{served.url}/livez").status_code == 200


def test_who_logs_in_there_makes_tokens_that_act_under_their_own_name(served: Served) -> None:
    with browser(served) as client:
        logged_in(client)
        headers = {"X-CSRF-Token": client.get("/api/v1/me").json()["csrf"]}
        made = client.post("/api/v1/tokens", json={"user": "ann-lee"}, headers=headers)
        assert made.status_code == 201, made.text
    with served.client() as api, acting_as(served, api, "ann-lee") as ann:
        assert ann.get("/me").json()["name"] == "ann-lee"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[oidc]\nissuer = 'http://idp.example'\nclient_id = 'a'\nroles = {g = ['viewer']}", "https://"),
        ("[oidc]\nissuer = 'https://idp.example'\nclient_id = 'a'", "lets nobody in"),
        ("[oidc]\nissuer = 'https://idp.example'\nroles = {g = ['viewer']}", "client_id"),
        ("[oidc]\nissuer = 'https://i.e'\nclient_id = 'a'\nroles = {g = ['a b']}", "no role"),
        ("[oidc]\nissuer = 'https://i.e'\nclient_id = 'a'\nroles = {g = 'viewer'}", "settings of OIDC"),
        ("[oidc]\nisuer = 'x'", "settings of OIDC"),
        ("oidc = 1", "is a table"),
        ("[", "cannot be read"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_say_why(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "petra.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=words):
        settled(file, {})
    assert settled(None, {"issuer": "", "roles": {}}) is None
    assert "PETRA_OIDC_SECRET" not in os.environ


def test_the_settings_of_the_how_to_can_be_read(root: Path, tmp_path: Path) -> None:
    page = (root / "docs/how-to/log-in-at-a-provider.md").read_text()
    file = tmp_path / "petra.toml"
    file.write_text(page.partition("```toml\n")[2].partition("```")[0])
    found = settled(file, {})
    assert found is not None
    assert [str(one) for one in found.grants(["finance"])] == [
        "approver@default",
        "finance@default",
    ]
