"""Mail: a real SMTP server takes it, encrypted, once; what it does badly is met."""

from __future__ import annotations

import asyncio
import ssl
from email.header import decode_header, make_header
from pathlib import Path
from typing import Any

import msgspec
import pytest
from notify.sending import Sending
from support.certificates import certificate
from support.smtp_server import Mailbox, mailbox

from petra.notify import ActLink, ChannelSpec, Links, NotifyFile
from petra.notify.messages import Saying


def channel(box: Mailbox, **more: Any) -> NotifyFile:
    given = {
        "kind": "email", "host": "127.0.0.1", "port": box.port, "tls": "none", "sender": "Petra <petra@example.org>",
        "to": ["ops@example.org"], "allow_private": True, "timeout_s": 20.0, **more,
    }  # fmt: skip
    return NotifyFile(channels={"mail": ChannelSpec(**given)}, url="https://petra.example.org/")


def test_a_mail_says_what_happened_and_has_an_id_that_stays() -> None:
    async def main() -> None:
        async with mailbox(Mailbox()) as box:
            made = Sending(channel(box))
            row = await made.tell("mail", body=_body(title="Zahlung\nBcc: x@y fehlt – ü"))
            await made.flush()
            (mail,) = box.taken
            assert str(make_header(decode_header(mail["Subject"]))) == "Zahlung Bcc: x@y fehlt – ü"
            assert mail["Bcc"] is None
            assert mail["Message-ID"] == f"<{row.id}@petra>"
            assert box.to == [["ops@example.org"]]
            assert "no money" in mail.get_payload()
            assert (await made.row(row.id)).state == "sent"

    asyncio.run(main())


def _body(**more: Any) -> bytes:
    return msgspec.json.encode(Saying(**{"title": "t", "text": "no money", **more}))


@pytest.mark.parametrize(
    ("behaves", "error", "state"),
    [
        ("silent", "there was no answer in 0.5 s", "waiting"),
        ("drips", "there was no answer in 0.5 s", "waiting"),
        ("closes", "it cannot be reached: SMTPServerDisconnected", "waiting"),
        ("refuses", "it refused every recipient (550)", "waiting"),
        ("hangs-up-after", "", "sent"),
    ],
)
def test_a_server_that_behaves_badly_costs_a_try_and_no_more(
    behaves: str, error: str, state: str
) -> None:
    async def main() -> None:
        async with mailbox(Mailbox(behaves=behaves)) as box:
            bounded = behaves in ("silent", "drips")
            made = Sending(channel(box, **({"timeout_s": 0.5} if bounded else {})))
            row = await made.tell("mail")
            await made.flush()
            found = await made.row(row.id)
            assert (found.state, found.error, found.attempts) == (state, error, 1)
            box.behaves = "well"
            await made.flush(1_000)
            assert (await made.row(row.id)).state == "sent"
            assert len(box.taken) == 1

    asyncio.run(main())


@pytest.mark.parametrize("password", ["right", "wrong"])
def test_it_logs_in_only_when_encrypted_and_by_a_certificate_it_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    made_for = certificate(tmp_path, "127.0.0.1")
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(*made_for)

    async def main() -> None:
        async with mailbox(Mailbox(tls=served, users={"petra": "right"})) as box:
            file = channel(box, tls="starttls", username="petra", password="smtp")
            made = Sending(file, smtp=password)
            row = await made.tell("mail")
            await made.flush()
            assert box.log_ins == []  # nobody vouches for that server
            assert (await made.row(row.id)).error.startswith("it cannot be reached: SSL")
            monkeypatch.setenv("SSL_CERT_FILE", str(made_for[0]))
            await made.flush(1_000)
            found = await made.row(row.id)
            assert box.log_ins[0] == "petra"
            if password == "right":
                assert (found.state, box.encrypted) == ("sent", [True])
            else:
                assert (found.error, box.taken) == ("it refused the log-in", [])

    asyncio.run(main())


def test_whoever_a_work_item_is_for_gets_links_that_only_they_can_use() -> None:
    links = Links(b"key")
    item = {"id": "i1", "actions": ["approve", "reject"], "title": "Pay?"}

    async def main() -> None:
        async with mailbox(Mailbox()) as box:
            file = channel(box, people={"ada": "ada@example.org"}, roles={"finance": ["ada"]})
            made = Sending(file, links)
            row = await made.tell("mail", person="ada", body=_body(item=item))
            await made.tell("mail", body=_body(item=item))
            await made.flush()
            assert box.to == [["ada@example.org"], ["ops@example.org"]]
            hers, all_others = (m.get_payload(decode=True).decode() for m in box.taken)  # type: ignore[union-attr]
            found = [line.partition("link=")[2] for line in hers.splitlines() if "link=" in line]
            read = [links.read(token) for token in found]
            until = row.created + file.link_s
            assert read == [
                ActLink(row.execution, "i1", action, "ada", until, ["finance"])
                for action in ("approve", "reject")
            ]
            assert "https://petra.example.org/act?link=" in hers
            assert "link=" not in all_others

    asyncio.run(main())


@pytest.mark.parametrize("place", [0, 10, 40, -1])
def test_a_link_that_was_changed_is_none_of_ours(place: int) -> None:
    token = Links(b"key").token(ActLink("e", "i", "approve", "ada", 5.0))
    other = "A" if token[place] != "A" else "B"
    changed = token[:place] + other + (token[place + 1 :] if place != -1 else "")
    assert Links(b"key").read(changed) is None
    assert Links(b"other").read(token) is None
    for strange in ("", "ä", "a" * 5_000, "!!!!"):
        assert Links(b"key").read(strange) is None
