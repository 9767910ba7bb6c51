"""Notifications at a real server: listed, tried again, links that act once, and kill -9 between commit and send."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from engine_support import until
from server.conftest import Served, get, serve
from support import forks
from support.smtp_server import Mailbox, mailbox
from support.stub_http import Answer, Asked, reply, serving

pytestmark = pytest.mark.slow

HEAD = "apiVersion: petra/v1\nkind: Playbook\n"
FAILS = f"""{HEAD}metadata: {{name: pay}}
executor: {{spec: {{notify: [{{on: [failed], to: [hook]}}]}}}}
workflow:
  - step: pay
    tool: {{kind: python, code: 'raise ValueError("no money")'}}
"""
ASKS = f"""{HEAD}metadata: {{name: ask}}
executor: {{spec: {{notify: [{{on: [offered], to: [mail]}}]}}}}
workflow:
  - step: ask
    tool: {{kind: human, title: "Pay <b>7</b>?", assignees: {{roles: [finance]}}}}
"""


def home_with(folder: Path, notify: str) -> Path:
    home = folder / ".petra"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "notify.yaml").write_text(f"apiVersion: petra/v1\nkind: Notify\n{notify}")
    return home


def hook(port: int, more: str = "") -> str:
    return (
        f"channels: {{hook: {{kind: webhook, url: 'http://127.0.0.1:{port}/in', allow_private: true{more}}}}}\n"
    )  # fmt: skip


def start(served: Served, source: str) -> str:
    with served.client() as api:
        made = api.post(
            "/executions", json={"playbook": {"text": source}}, headers={"Prefer": "wait=60"}
        )
        assert made.status_code in (200, 201), made.text
        return str(made.json()["id"])


async def eventually(ask: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    """Ask until the answer is as wanted."""
    found: list[Any] = []

    async def asked() -> bool:
        found[:] = [await asyncio.to_thread(ask)]
        return wanted(found[0])

    await until(asked)
    return found[0]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_killed_between_commit_and_answer_it_is_told_by_the_next_one_under_the_same_id(
    kind: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if kind == "postgres":
        monkeypatch.setenv("PETRA_STORE", request.getfixturevalue("new_database")())
    behaves: list[Answer] = [Answer(b"", "hang")]

    def route(_: Asked) -> Answer:
        return behaves[0]

    async def main() -> None:
        async with serving({"/in": route}) as stub:
            home = home_with(tmp_path, hook(stub.port))
            with serve(home) as served:
                await asyncio.to_thread(start, served, FAILS)
                await stub.until(lambda s: len(s.asked) == 1)  # committed; not settled
                served.process.send_signal(signal.SIGKILL)
                served.process.wait()
            behaves[0] = Answer(reply())
            with serve(home) as served, served.client() as api:

                def states() -> list[str]:
                    return [one["state"] for one in api.get("/notifications").json()["items"]]

                assert await eventually(states, lambda found: found == ["sent"])
                shown = get(f"{served.url}/metrics").text
                assert 'petra_notification_tries_total{channel="hook",outcome="sent"} 1' in shown
                assert 'petra_notifications{state="sent"} 1' in shown
            assert len({asked.headers["webhook-id"] for asked in stub.asked}) == 1
            assert len(stub.asked) == 2

    asyncio.run(main())


def test_killed_before_anything_could_be_sent_it_is_sent_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving({}) as nobody:
            port = nobody.port
        home = home_with(tmp_path, hook(port))
        with serve(home) as served:
            await asyncio.to_thread(start, served, FAILS)
            served.process.send_signal(signal.SIGKILL)
            served.process.wait()
        async with serving({"/in": reply()}) as stub:
            home_with(tmp_path, hook(stub.port))
            with serve(home) as served, served.client() as api:
                # where nobody was there to take it, it waits for its next try, or is asked for
                found = api.get("/notifications").json()["items"]
                assert len(found) == 1
                if found[0]["state"] == "waiting":
                    api.post(f"/notifications/{found[0]['id']}/retry", json={})
                await stub.until(lambda s: len(s.asked) == 1)

    asyncio.run(main())


def test_what_was_given_up_is_listed_and_tried_again_by_api_and_command_line(
    tmp_path: Path,
) -> None:
    answers = [reply(b"", "410 Gone")]

    def petra(home: Path, *words: str, code: int = 0) -> str:
        done = forks.PETRA.run(tmp_path, *words, "--home", str(home), environment={**os.environ})
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    async def main() -> None:
        async with serving({"/in": lambda _: answers[0]}) as stub:
            home = home_with(tmp_path, hook(stub.port))
            with serve(home) as served, served.client() as api:
                execution = await asyncio.to_thread(start, served, FAILS)

                def given_up() -> list[dict[str, Any]]:
                    asked = api.get("/notifications", params={"status": "given_up"})
                    return asked.json()["items"]  # type: ignore[no-any-return]

                (one,) = await eventually(given_up, bool)
                assert (one["execution"], one["error"]) == (execution, "it answered 410")
                assert api.get(f"/notifications/{one['id']}").json() == one
                assert api.get("/notifications/nothing").status_code == 404
                listed = await asyncio.to_thread(
                    petra, home, "notifications", "list", "--status", "given_up"
                )
                assert one["id"] in listed
                answers[0] = reply()
                await asyncio.to_thread(petra, home, "notifications", "retry", one["id"])
                await stub.until(lambda s: len(s.asked) == 2)

                def now() -> str:
                    return str(api.get(f"/notifications/{one['id']}").json()["state"])

                await eventually(now, lambda state: state == "sent")
                again = api.post(f"/notifications/{one['id']}/retry", json={})
                assert (again.status_code, again.json()["code"]) == (409, "refused")
            shown = json.loads(
                await asyncio.to_thread(petra, home, "notifications", "show", one["id"])
            )
            assert shown["state"] == "sent"
            assert "no notification" in await asyncio.to_thread(
                petra, home, "notifications", "retry", "nothing", code=1
            )

    asyncio.run(main())


@pytest.mark.spec("S14")
def test_a_link_shows_a_page_acts_once_and_is_noted(tmp_path: Path) -> None:
    async def main() -> None:
        async with mailbox(Mailbox()) as box:
            home = home_with(
                tmp_path,
                f"""url: http://127.0.0.1:1
channels:
  mail:
    kind: email
    host: 127.0.0.1
    port: {box.port}
    tls: none
    from: petra@example.org
    people: {{ada: ada@example.org}}
    roles: {{finance: [ada]}}
    allow_private: true
""",
            )
            with serve(home) as served, served.client() as api:
                execution = await asyncio.to_thread(start, served, ASKS)
                await eventually(lambda: box.taken, bool)
                raw = box.taken[0].get_payload(decode=True)
                text = raw.decode().replace("\r", "")  # type: ignore[union-attr]
                links = dict(re.findall(r"^(\w+): \S+link=(\S+)$", text, re.MULTILINE))
                assert set(links) == {"approve", "reject"}
                async with httpx2.AsyncClient(base_url=served.url, timeout=300) as http:
                    page = await http.get("/act", params={"link": links["approve"]})
                    assert page.status_code == 200
                    assert "Pay &lt;b&gt;7&lt;/b&gt;?" in page.text
                    assert page.headers["referrer-policy"] == "no-referrer"
                    assert api.get(f"/executions/{execution}").json()["status"] == "waiting"
                    strange = await http.post("/act", data={"link": links["approve"][:-3] + "AAA"})
                    assert strange.status_code == 410
                    both = await asyncio.gather(
                        *(http.post("/act", data={"link": links["approve"]}) for _ in range(4))
                    )
                    assert sorted(one.status_code for one in both) == [200, 410, 410, 410]
                    later = await http.post("/act", data={"link": links["reject"]})
                    assert (later.status_code, "somebody was quicker" in later.text) == (410, True)
                done = api.get(f"/executions/{execution}", params={}).json()
                assert done["status"] == "completed"
                assert done["output"] == {"action": "approve", "data": None, "actor": "ada"}
                noted = api.get("/audit").json()["items"]
                mine = [one for one in noted if one["actor"] == "ada"]
                assert [(one["act"], one["outcome"]) for one in mine] == [("link: approve", "done")]
                assert links["approve"] not in json.dumps(noted)

    asyncio.run(main())


def test_a_file_with_mistakes_is_refused_with_their_places(tmp_path: Path) -> None:
    home = home_with(tmp_path, "channels: {hook: {kind: webhok}}\n")
    done = forks.PETRA.run(
        tmp_path, "serve", "--home", str(home), "--port", "0", environment={**os.environ}
    )
    assert done.returncode == 1
    assert "notify.yaml:3:25" in done.stderr
    assert "did you mean 'webhook'?" in done.stderr
