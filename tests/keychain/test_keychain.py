"""The keychain resolves what a playbook declares: when it is used, fresh, and once for all who ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from support.clocks import FakeClock
from support.web_stub import Answer, Request, serving

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template
from petra.keychain import FileCredentials, Keychain, KeychainError
from petra.keychain.material import postgres
from petra.playbook.model import Credential

CANARY = "can4ry-secret-value"


def entry(name: str, kind: str, **settings: Any) -> Credential:
    return Credential(name=name, kind=kind, settings=settings)


def resolve(keychain: Keychain, name: str, *entries: Credential) -> Any:
    async def get() -> Any:
        try:
            return (await keychain.secrets(entries).get(name)).reveal()
        finally:
            await keychain.close()

    return asyncio.run(get())


def problems(keychain: Keychain, *entries: Credential) -> list[str]:
    return asyncio.run(keychain.check(entries))


@pytest.fixture
def stored(tmp_path: Path) -> FileCredentials:
    credentials = FileCredentials(tmp_path / "credentials.json")
    credentials.set("text", CANARY)
    credentials.set("pair", {"username": "ada", "password": CANARY})
    credentials.set("pg", {"host": "db", "dbname": "shop", "username": "u/1", "password": "p@ss"})
    return credentials


@pytest.mark.spec("S20")
@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (entry("x", "env", var="TOKEN"), CANARY),
        (entry("TOKEN", "env"), CANARY),
        (entry("x", "env", var="OBJECT"), {"a": 1}),
        (entry("x", "credential", credential="text"), CANARY),
        (entry("text", "credential"), CANARY),
        (entry("x", "credential", credential="text", ref="v1"), CANARY),
        (entry("x", "bearer", credential="text"), {"token": CANARY}),
        (entry("x", "bearer", token="env"), {"token": CANARY}),
        (entry("x", "basic", credential="pair"), {"username": "ada", "password": CANARY}),
        (
            entry("x", "basic", username="bob", password="env"),
            {"username": "bob", "password": CANARY},
        ),
        (entry("x", "api_key", key="env"), {"key": CANARY, "header": "X-Api-Key"}),
        (entry("x", "api_key", key="env", header="X-K"), {"key": CANARY, "header": "X-K"}),
        (entry("x", "api_key", key="env", query="k"), {"key": CANARY, "query": "k"}),
        (
            entry("x", "postgres_credential", credential="pg"),
            {"host": "db", "port": 5432, "user": "u/1", "password": "p@ss", "database": "shop",
             "url": "postgresql://u%2F1:p%40ss@db:5432/shop"},
        ),
        (
            entry("x", "postgres_credential", url="postgresql://h:6/d?sslmode=require"),
            {"host": "h", "port": 6, "database": "d", "url": "postgresql://h:6/d?sslmode=require"},
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Credential) else "",
)  # fmt: skip
def test_each_kind_has_its_shape(
    stored: FileCredentials, declared: Credential, value: object
) -> None:
    environ = {"TOKEN": CANARY, "OBJECT": '{"a": 1}'}
    keychain = Keychain(environ=environ, credentials=stored)
    env = entry("env", "env", var="TOKEN")
    assert resolve(keychain, declared.name, declared, env) == value
    assert problems(Keychain(environ=environ, credentials=stored), declared, env) == []


@pytest.mark.spec("S20")
def test_a_file_is_read_without_its_last_line_break(tmp_path: Path) -> None:
    (tmp_path / "s").write_text(CANARY + "\n")
    declared = entry("x", "file", path=str(tmp_path / "s"))
    assert resolve(Keychain(environ={}), "x", declared) == CANARY


@pytest.mark.spec("S20")
@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (entry("x", "env", var="NONE"), "keychain 'x': the variable NONE is not set"),
        (entry("x", "file", path="/no/such"), "/no/such: No such file"),
        (entry("x", "credential"), "no credential 'x'"),
        (entry("x", "bearer", token=CANARY), "token names no entry of the keychain"),
        (entry("x", "basic", username="a", password=CANARY), "password names no entry"),
        (entry("x", "bearer", token="x"), "refers to itself"),
        (entry("x", "oauth2"), "no token_url"),
        (entry("x", "oauth2", token_url="http://h", auth="y"), "does not declare 'y'"),
        (entry("x", "secret_manager", provider="gcp"), "no provider 'gcp' here; known: vault"),
        (entry("x", "postgres_credential", url="mysql://h"), "does not begin with postgresql://"),
        (entry("x", "magic"), "no kind 'magic'"),
        (entry("x", "file", path="a\0b"), r"'a\x00b' is no path"),
        (entry("x", "credential", credential="c", ref="9" * 5_000), "ref is no version"),
        (entry("x", "credential", credential="c", ref="v2147483648"), "ref is no version"),
        (entry("x", "credential", credential="c" * 501), "no credential is called 'ccc"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_check_names_what_is_missing_and_never_the_secret(
    declared: Credential, said: str
) -> None:
    (problem,) = problems(Keychain(environ={}), declared)
    assert said in problem
    assert CANARY not in problem


def test_a_check_that_meets_a_bug_says_so_and_not_its_words() -> None:
    class Broken:
        async def fetch(self, name: str, version: int | None = None, *, dry: bool = False) -> Any:
            raise RuntimeError(f"{name} {version} {dry} {CANARY}")

    keychain = Keychain(environ={}, credentials=Broken())
    assert problems(keychain, entry("x", "credential")) == [
        "keychain 'x' cannot be looked at: RuntimeError"
    ]


@pytest.mark.spec("S20")
def test_a_check_asks_nobody_outside() -> None:
    declared = [
        entry("login", "oauth2", token_url="http://127.0.0.1:1/", auth="pair"),
        entry("pair", "basic", username="a", password="word"),
        entry("word", "env", var="W"),
        entry("through", "bearer", token="login"),
        entry("vault", "secret_manager", path="secret/a"),
    ]
    assert problems(Keychain(environ={"W": CANARY}), *declared) == []
    assert (
        problems(Keychain(environ={}), declared[0], declared[1], declared[2])
        == ["keychain 'word': the variable W is not set; set it where the worker runs"] * 3
    )


def with_stub(answer: Answer, scenario: Callable[[str, list[Request]], Awaitable[None]]) -> None:
    async def run() -> None:
        async with serving(answer) as stub:
            await scenario(stub.url, stub.requests)

    asyncio.run(run())


@pytest.mark.spec("S20")
def test_a_token_is_fetched_once_and_anew_before_it_expires() -> None:
    served: list[str] = []

    def answer(_: Request) -> tuple[int, object]:
        served.append(f"token-number-{len(served) + 1}")
        return 200, {"access_token": served[-1], "expires_in": 3600}

    async def scenario(url: str, requests: list[Request]) -> None:
        clock = FakeClock()
        keychain = Keychain(environ={"S": CANARY}, clock=clock)
        secrets = keychain.secrets(
            [
                entry("login", "oauth2", token_url=url + "/token", client_id="me",
                      client_secret="s", scope=["a", "b"], data={"audience": "api"}),
                entry("s", "env", var="S"),
            ]
        )  # fmt: skip
        first = await asyncio.gather(*(secrets.get("login") for _ in range(20)))
        assert {one.reveal()["token"] for one in first} == {"token-number-1"}
        await clock.advance(3530)
        assert (await secrets.get("login")).reveal() == {"token": "token-number-1"}
        await clock.advance(11)
        assert (await secrets.get("login")).reveal() == {"token": "token-number-2"}
        assert parse_qs(requests[0].body) == {
            "grant_type": ["client_credentials"], "client_id": ["me"], "client_secret": [CANARY],
            "scope": ["a b"], "audience": ["api"],
        }  # fmt: skip
        assert keychain.scrubber.scrub("token-number-1 token-number-2") == "*** ***"
        await keychain.close()

    with_stub(answer, scenario)


@pytest.mark.spec("S20")
def test_a_client_with_auth_identifies_itself_in_the_header() -> None:
    async def scenario(url: str, requests: list[Request]) -> None:
        keychain = Keychain(environ={"W": "p:w/d"})
        secrets = keychain.secrets(
            [
                entry(
                    "login", "oauth2", endpoint=url, auth="pair", token_field="id", ttl_field="t"
                ),
                entry("pair", "basic", username="me", password="w"),
                entry("w", "env", var="W"),
            ]
        )
        assert (await secrets.get("login")).reveal() == {"token": "abcdef"}
        assert requests[0].headers["authorization"] == "Basic bWU6cCUzQXclMkZk"
        assert "p:w/d" not in requests[0].body
        await keychain.close()

    with_stub(lambda _: (200, {"id": "abcdef", "t": "soon"}), scenario)


@pytest.mark.spec("S20")
@pytest.mark.parametrize(
    ("answer", "said", "kind"),
    [
        ((401, {"error": "invalid_client", "error_description": CANARY}), "401 (invalid_client)", "auth"),
        ((400, {"error": f"<{CANARY}>"}), "answers 400", "auth"),
        ((503, None), "answers 503", "connection"),
        ((200, {"token": 1}), "has no 'access_token'", "auth"),
        ((200, [1]), "has no 'access_token'", "auth"),
    ],
)  # fmt: skip
def test_a_token_server_that_refuses_is_told_without_its_words(
    answer: tuple[int, object], said: str, kind: str
) -> None:
    async def scenario(url: str, _: list[Request]) -> None:
        keychain = Keychain(environ={})
        with pytest.raises(KeychainError) as caught:
            await keychain.secrets([entry("x", "oauth2", token_url=url)]).get("x")
        assert said in str(caught.value)
        assert CANARY not in str(caught.value)
        assert caught.value.kind == kind
        await keychain.close()

    with_stub(lambda _: answer, scenario)


def test_a_server_that_is_not_there_is_an_error_of_kind_connection() -> None:
    keychain = Keychain(environ={})
    with pytest.raises(KeychainError, match=r"127\.0\.0\.1:1 cannot be asked") as caught:
        resolve(keychain, "x", entry("x", "oauth2", token_url=f"http://u:{CANARY}@127.0.0.1:1/"))
    assert caught.value.kind == "connection"
    assert CANARY not in str(caught.value)


@pytest.mark.spec("S20")
@pytest.mark.parametrize("path", ["secret/app/db", "secret/data/app/db"])
def test_vault_is_asked_in_its_own_words(path: str) -> None:
    def answer(request: Request) -> tuple[int, object]:
        if request.headers.get("x-vault-token") != "root-token":
            return 403, {"errors": ["permission denied"]}
        if request.path != "/v1/secret/data/app/db":
            return 404, {"errors": []}
        found = {"data": {"user": "ada", "pw": CANARY}, "metadata": {"version": 3}}
        return 200, {"data": found, "lease_duration": 0}

    async def scenario(url: str, requests: list[Request]) -> None:
        environ = {"VAULT_ADDR": url + "/", "VAULT_TOKEN": "root-token", "VAULT_NAMESPACE": "team"}
        keychain = Keychain(environ={**environ, "BAD": "another-token"})
        secrets = keychain.secrets(
            [
                entry("whole", "secret_manager", path=path),
                entry("mapped", "secret_manager", provider="vault", path=path, map={"p": "pw"}),
                entry("gone", "secret_manager", path="secret/none"),
                entry("lacks", "secret_manager", path=path, map={"p": "none"}),
                entry("refused", "secret_manager", path=path, auth="bad"),
                entry("bad", "env", var="BAD"),
            ]
        )
        assert (await secrets.get("whole")).reveal() == {"user": "ada", "pw": CANARY}
        assert (await secrets.get("mapped")).reveal() == {"p": CANARY}
        assert requests[0].headers["x-vault-namespace"] == "team"
        for name, said in (
            ("gone", "there is no secret at 'secret/none'"),
            ("lacks", "the secret has no 'none'"),
            ("refused", f"the token may not read '{path}'"),
        ):
            with pytest.raises(KeychainError, match=said):
                await secrets.get(name)
        await keychain.close()

    with_stub(answer, scenario)


def test_vault_says_which_variable_it_lacks() -> None:
    with pytest.raises(KeychainError, match="VAULT_ADDR is not set"):
        resolve(Keychain(environ={}), "x", entry("x", "secret_manager"))


@pytest.mark.spec("S6", "S20")
def test_templates_read_what_was_prepared_and_nothing_else() -> None:
    async def scenario() -> None:
        environ = {"A": CANARY}
        secrets = Keychain(environ=environ).secrets(
            [entry("a", "env", var="A"), entry("b", "bearer", token="a"), entry("c", "env")]
        )
        await secrets.prepare(["a", "b", "c", "undeclared"])
        scope = {"keychain": secrets.view}

        def render(text: str) -> object:
            return compile_template(text, Profile.WORKER).render(scope)

        assert render("{{ keychain.a }}") == CANARY
        assert render("Bearer {{ keychain.b.token }}") == f"Bearer {CANARY}"
        with pytest.raises(KeychainError, match="the variable c is not set") as caught:
            render("{{ keychain.c }}")
        assert caught.value.kind == "not_found"
        with pytest.raises(ExpressionError, match="undefined"):
            render("{{ keychain.undeclared }}")
        with pytest.raises(ExpressionError, match="as a whole"):
            render("{{ keychain }}")
        assert CANARY not in repr(scope) + str(secrets.view)

    asyncio.run(scenario())


@pytest.mark.spec("S20")
def test_renewing_tells_whether_anything_changed() -> None:
    async def scenario() -> None:
        environ = {"A": "first-value"}
        secrets = Keychain(environ=environ).secrets(
            [entry("a", "env", var="A"), entry("b", "bearer", token="a")]
        )
        await secrets.prepare(["b"])
        assert not await secrets.renew(["b"])
        environ["A"] = "second-value"
        assert await secrets.renew(["b"])
        assert (await secrets.get("b")).reveal() == {"token": "second-value"}

    asyncio.run(scenario())


@pytest.mark.spec("S20")
@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (entry("x", "env"), "not_found"),
        (entry("x", "file", path="/no/such/file"), "not_found"),
        (entry("x", "credential"), "not_found"),
        (entry("x", "secret_manager"), "not_found"),
        (entry("x", "secret_manager", provider="nobody"), "not_found"),
        (entry("x", "bearer", token="plain"), "client_error"),
        (entry("x", "bearer", token="x"), "client_error"),
        (entry("x", "oauth2", client_id="me"), "client_error"),
        (entry("x", "oauth2", token_url="http://127.0.0.1:1/"), "connection"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.kind} {value.settings}",
)  # fmt: skip
def test_each_way_to_fail_has_its_kind(made: Credential, kind: str) -> None:
    with pytest.raises(KeychainError) as caught:
        resolve(Keychain(environ={}), "x", made)
    assert caught.value.kind == kind


def test_a_provider_with_a_bug_is_a_provider_that_does_not_answer_and_its_words_are_not_told() -> (
    None
):
    class Broken:
        async def read(self, path: str, **_: str | None) -> Any:
            raise RuntimeError(path + CANARY)

    keychain = Keychain(environ={}, providers={"broken": Broken()})
    with pytest.raises(KeychainError, match="'broken' failed: RuntimeError") as caught:
        resolve(keychain, "x", entry("x", "secret_manager", provider="broken"))
    assert caught.value.kind == "connection"
    assert CANARY not in str(caught.value)


@pytest.mark.spec("S20")
@pytest.mark.parametrize(
    ("url", "host", "port", "made"),
    [
        ("postgresql:///shop?host=/run/pg", "/run/pg", 5432, "postgresql://%2Frun%2Fpg:5432/shop"),
        (
            "postgresql://ada@/shop?host=db.example.com&port=5433&sslmode=require",
            "db.example.com",
            5433,
            "postgresql://ada@db.example.com:5433/shop?sslmode=require",
        ),
    ],
)
def test_a_url_may_name_its_host_as_libpq_has_it(url: str, host: str, port: int, made: str) -> None:
    found = postgres("db", None, url)
    assert (found["host"], found["port"], found["url"]) == (host, port, made)
