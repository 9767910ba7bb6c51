"""Webhooks: signed, retried, the same id each time, and never where they should not go."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json

import pytest
from engine_support import until
from notify.sending import MovedClock, Sending, hook
from support import patient_loop
from support.stub_http import Answer, Asked, redirect, reply, serving

from petra.notify import ChannelSpec, NotifyFile


def test_a_webhook_is_a_cloud_event_signed_as_standard_webhooks_says() -> None:
    key = b"\x01" * 24
    secret = "whsec_" + base64.b64encode(key).decode()

    async def main() -> None:
        async with serving({"/in": reply()}) as stub:
            made = Sending(hook(stub.url("/in"), secret="hook_key"), hook_key=secret)
            row = await made.tell()
            await made.flush()
            (asked,) = stub.asked
            event = json.loads(asked.body)
            assert (event["specversion"], event["id"]) == ("1.0", row.id)
            assert event["type"] == "petra.execution.failed"
            assert event["data"]["title"] == "orders failed"
            assert asked.headers["content-type"] == "application/cloudevents+json"
            name, at = asked.headers["webhook-id"], asked.headers["webhook-timestamp"]
            signed = hmac.digest(key, f"{name}.{at}.".encode() + asked.body, hashlib.sha256)
            assert asked.headers["webhook-signature"] == "v1," + base64.b64encode(signed).decode()
            assert name == row.id
            sent = await made.row(row.id)
            assert (sent.state, sent.attempts, sent.error) == ("sent", 1, "")
            await made.flush(10_000)
            assert len(stub.asked) == 1

    asyncio.run(main())


def test_what_fails_is_tried_again_later_each_time_under_one_id_until_it_is_taken() -> None:
    answers = iter([reply(b"", "500 Oops"), reply(b"", "503 Later", {"Retry-After": "7"}), reply()])

    async def main() -> None:
        async with serving({"/in": lambda _: next(answers)}) as stub:
            made = Sending(hook(stub.url("/in")))
            row = await made.tell()
            await made.flush()
            first = await made.row(row.id)
            assert (first.state, first.attempts, first.error) == (
                "waiting",
                1,
                "it answered 500",
            )
            assert 4 < first.due - made.clock.now() < 8
            await made.flush()
            assert len(stub.asked) == 1  # not yet
            await made.flush(10)
            second = await made.row(row.id)
            assert 6 < second.due - made.clock.now() <= 7  # as long as the other side asks
            await made.flush(8)
            assert (await made.row(row.id)).state == "sent"
            assert {asked.headers["webhook-id"] for asked in stub.asked} == {row.id}
            assert len(stub.asked) == 3

    asyncio.run(main())


def test_what_is_given_up_is_said_and_stays_listed() -> None:
    async def main() -> None:
        async with serving({"/in": reply(b"", "400 No")}) as stub:
            made = Sending(hook(stub.url("/in"), attempts=3))
            row = await made.tell()
            for _ in range(5):
                await made.flush(100_000)
            assert len(stub.asked) == 3
            found = await made.row(row.id)
            assert (found.state, found.error) == ("given_up", "it answered 400")
            (words,) = made.gave_up
            assert f"petra notifications retry {row.id}" in words

    asyncio.run(main())


def test_who_is_gone_for_good_is_not_asked_again() -> None:
    async def main() -> None:
        async with serving({"/in": reply(b"", "410 Gone")}) as stub:
            made = Sending(hook(stub.url("/in")))
            row = await made.tell()
            await made.flush()
            assert (await made.row(row.id)).state == "given_up"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(b"", "hang"), "there was no answer in 0.3 s"),
        (Answer(b"HTTP/1.1 2", "hang"), "there was no answer in 0.3 s"),
        (Answer(b"", "close"), "it cannot be reached"),
        (Answer(b"HTTP/1.1 200 OK\r\nContent-Le", "reset"), "it cannot be reached"),
        (Answer(b"what?\r\n\r\n", "close"), "it cannot be reached"),
    ],
    ids=["silent", "slow", "closes", "resets-half-way", "strange"],
)
def test_an_answer_that_does_not_come_is_waited_for_only_so_long(
    answer: Answer, error: str
) -> None:
    async def main() -> None:
        async with serving({"/in": answer}) as stub:
            made = Sending(hook(stub.url("/in"), timeout_s=0.3))
            row = await made.tell()
            other = await made.tell()
            await made.flush()
            found = await made.row(row.id)
            assert found.state == "waiting"
            assert found.error.startswith(error)
            # nothing more is tried where nobody answers, and that costs it no try
            assert stub.connections == 1
            assert len(stub.asked) == 1
            assert (await made.row(other.id)).attempts == 0

    patient_loop.run(main())


def test_nobody_there_is_no_answer_either() -> None:
    async def main() -> None:
        async with serving({}) as stub:
            url = stub.url("/in")
        made = Sending(hook(url))
        row = await made.tell()
        await made.flush()
        assert (await made.row(row.id)).error == "it cannot be reached: ConnectError"

    asyncio.run(main())


def test_redirects_are_not_followed() -> None:
    async def main() -> None:
        async with serving({"/in": redirect("/secret"), "/secret": reply()}) as stub:
            made = Sending(hook(stub.url("/in"), secret="key"), key="s3cret-of-ours")
            row = await made.tell()
            await made.flush()
            assert [asked.path for asked in stub.asked] == ["/in"]
            assert "redirect" in (await made.row(row.id)).error

    asyncio.run(main())


def test_private_addresses_are_for_channels_that_say_so() -> None:
    async def main() -> None:
        async with serving({"/in": reply()}) as stub:
            made = Sending(hook(stub.url("/in"), allow_private=False))
            row = await made.tell()
            await made.flush()
            assert stub.connections == 0
            assert "is not public" in (await made.row(row.id)).error

    asyncio.run(main())


def test_a_slow_channel_holds_up_no_other_one() -> None:
    async def main() -> None:
        async with serving({"/in": Answer(b"", "hang"), "/quick": reply()}) as stub:
            file = hook(stub.url("/in"), timeout_s=60.0)
            quick = ChannelSpec(kind="slack", url=stub.url("/quick"), allow_private=True)
            made = Sending(NotifyFile(channels={**file.channels, "quick": quick}))
            await made.tell()
            row = await made.tell("quick")
            running = asyncio.create_task(made.sender.run())
            await stub.until(lambda s: {asked.path for asked in s.asked} == {"/in", "/quick"})

            async def is_sent() -> bool:
                return (await made.row(row.id)).state == "sent"

            await until(is_sent)
            running.cancel()
            await made.sender.close()

    asyncio.run(main())


def test_slack_and_teams_get_what_they_show_and_no_markup_of_others() -> None:
    async def main() -> None:
        async with serving({"/s": reply(), "/t": reply()}) as stub:
            channels = {
                "s": ChannelSpec(kind="slack", url_secret="where", allow_private=True),
                "t": ChannelSpec(kind="teams", url=stub.url("/t"), allow_private=True),
            }
            made = Sending(NotifyFile(channels=channels), where=stub.url("/s"))
            body = b'{"title": "<!channel> pay & go", "text": "<@U1>"}'
            await made.tell("s", body=body)
            await made.tell("t", body=body)
            await made.flush()
            by_path = {asked.path: json.loads(asked.body) for asked in stub.asked}
            assert by_path["/s"]["text"] == "&lt;!channel&gt; pay &amp; go"
            assert {b["text"]["type"] for b in by_path["/s"]["blocks"]} == {"plain_text"}
            card = by_path["/t"]["attachments"][0]["content"]
            assert card["type"] == "AdaptiveCard"
            assert card["body"][0]["text"] == "<!channel> pay & go"

    asyncio.run(main())


def test_a_missing_secret_is_said_and_nothing_goes_out_unsigned() -> None:
    async def main() -> None:
        async with serving({"/in": reply()}) as stub:
            made = Sending(hook(stub.url("/in"), secret="lost"))
            row = await made.tell()
            await made.flush()
            assert stub.asked == []
            assert "no credential 'lost'" in (await made.row(row.id)).error

    asyncio.run(main())


def test_no_secret_is_in_rows_or_errors(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving({"/in": reply(b"", "500 No")}) as stub:
            made = Sending(
                NotifyFile(
                    channels={
                        "hook": ChannelSpec(
                            kind="webhook", url_secret="u", secret="k", allow_private=True, attempts=1
                        )
                    }
                ),
                u=stub.url("/in?token=sesame-open"),
                k="whisper-whisper",
            )  # fmt: skip
            row = await made.tell()
            await made.flush()
            assert len(stub.asked) == 1
            said = repr(await made.row(row.id)) + caplog.text + "".join(made.gave_up)
            assert "given_up" in said
            assert "sesame-open" not in said
            assert "whisper-whisper" not in said

    asyncio.run(main())


def test_a_digest_is_one_message_under_one_id_whatever_happens_between() -> None:
    answers = iter([reply(b"", "500 No"), reply(), reply()])

    async def main() -> None:
        async with serving({"/in": lambda _: next(answers)}) as stub:
            made = Sending(hook(stub.url("/in"), digest_s=60.0))
            rows = [await made.tell() for _ in range(3)]
            await made.flush()
            late = await made.tell()  # it came after the others were on their way
            await made.flush(100)
            first = json.loads(stub.asked[0].body)
            assert first["type"] == "petra.digest"
            assert len(first["data"]["notifications"]) == 3
            assert [(await made.row(row.id)).state for row in rows] == ["sent"] * 3
            ids = [asked.headers["webhook-id"] for asked in stub.asked]
            assert ids.count(first["id"]) == 2
            assert (await made.row(late.id)).sending not in ("", first["id"])

    asyncio.run(main())


def test_a_channel_gets_no_more_a_minute_than_it_takes() -> None:
    times: list[float] = []
    clocks: list[MovedClock] = []

    async def main() -> None:
        async with serving({"/in": route}) as stub:
            made = Sending(hook(stub.url("/in"), per_minute=2))
            clocks.append(made.clock)
            for _ in range(5):
                await made.tell()
            await made.flush()
            assert len(stub.asked) == 5
            assert times[2] - times[0] >= 59
            assert times[4] - times[2] >= 59

    def route(_: Asked) -> bytes:
        times.append(clocks[0].now())
        return reply()

    asyncio.run(main())


def test_an_unknown_channel_is_given_up_at_once_and_named() -> None:
    async def main() -> None:
        made = Sending(NotifyFile())
        row = await made.tell("nowhere")
        await made.flush()
        found = await made.row(row.id)
        assert (found.state, found.error) == (
            "given_up",
            "there is no channel 'nowhere' in notify.yaml",
        )

    asyncio.run(main())


def test_an_execution_that_ended_in_time_is_not_late() -> None:
    async def main() -> None:
        async with serving({"/in": reply()}) as stub:
            made = Sending(hook(stub.url("/in")))
            late = await made.tell(about="late", due=made.clock.now() + 50)
            gone = await made.tell(about="late", execution="other", due=made.clock.now() + 50)
            await made.store.remove([gone.execution])  # a running one stays
            await made.flush()
            assert stub.asked == []
            await made.flush(60)
            assert [asked.headers["webhook-id"] for asked in stub.asked] == [late.id, gone.id]

    asyncio.run(main())
