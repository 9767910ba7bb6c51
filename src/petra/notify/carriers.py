"""How a message gets there: one try, whatever the other side does.

Rule 1: a try ends in time. Nobody's answer is read further than its status.
Rule 2: redirects are not followed: what is signed or secret goes where the channel says, and nowhere else.
Rule 3: what is said of a failure holds no secret: neither the address, which may be one, nor what the other side wrote.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from petra.clock import Clock
from petra.errors import UnreadableError
from petra.keychain import Credentials
from petra.notify.channels import ChannelSpec
from petra.notify.messages import Outgoing, cloud_event, mail, slack, teams
from petra.notify.signing import signed
from petra.notify.tries import Try

if TYPE_CHECKING:
    from petra.tools.base import ToolError

_OK = range(200, 300)
_GONE = 410
_RETRY_AFTER_MAX_S = 3_600.0


class Carriers:
    """Every way out. ``credentials`` has the secrets that channels name."""

    def __init__(self, credentials: Credentials, clock: Clock) -> None:
        self._credentials = credentials
        self._clock = clock

    async def send(self, channel: ChannelSpec, message: Outgoing) -> Try:
        """Try once, in time."""
        carry: Callable[[ChannelSpec, Outgoing], Awaitable[Try]]
        carry = self._mail if channel.kind == "email" else self._post
        try:
            async with asyncio.timeout(channel.timeout_s):
                return await carry(channel, message)
        except TimeoutError:
            return Try(f"there was no answer in {channel.timeout_s:g} s", away=True)
        except UnreadableError as error:
            return Try(str(error))

    async def _secret(self, name: str) -> str:
        secret = await self._credentials.fetch(name)
        if isinstance(secret, dict):
            secret = secret.get("password") or secret.get("secret") or secret.get("token") or ""
        return str(secret)

    # HTTP

    async def _post(self, channel: ChannelSpec, message: Outgoing) -> Try:
        import ssl  # noqa: PLC0415 - most homes never need it

        import httpx2  # noqa: PLC0415

        from petra.tools.base import ToolError  # noqa: PLC0415
        from petra.tools.egress import GatedTransport  # noqa: PLC0415

        shape: dict[str, Callable[[Outgoing], Any]] = {
            "webhook": cloud_event, "slack": slack, "teams": teams,
        }  # fmt: skip
        body = msgspec.json.encode(shape[channel.kind](message))
        url = await self._secret(channel.url_secret) if channel.url_secret else channel.url or ""
        headers = await self._headers(channel, message, body)
        tls, limits = ssl.create_default_context(), httpx2.Limits(max_connections=1)
        transport = (
            httpx2.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits)
            if channel.allow_private
            else GatedTransport(tls, limits)
        )
        try:
            async with (
                httpx2.AsyncClient(transport=transport, timeout=channel.timeout_s) as client,
                client.stream("POST", url, content=body, headers=headers) as answer,
            ):
                return self._judged(answer.status_code, answer.headers.get("retry-after"))
        except ToolError as error:
            return _not_let(error)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            return Try(f"it cannot be reached: {type(error).__name__}", away=True)

    async def _headers(
        self, channel: ChannelSpec, message: Outgoing, body: bytes
    ) -> dict[str, str]:
        kind = "application/cloudevents+json" if channel.kind == "webhook" else "application/json"
        headers = {"Content-Type": kind, "User-Agent": "petra"}
        if channel.kind == "webhook":
            at = int(self._clock.now())
            headers |= {"webhook-id": message.id, "webhook-timestamp": str(at)}
            if channel.secret:
                secret = await self._secret(channel.secret)
                headers["webhook-signature"] = signed(secret, message.id, at, body)
        return headers

    def _judged(self, status: int, retry_after: str | None) -> Try:
        if status in _OK:
            return Try()
        words = f"it answered {status}"
        if 300 <= status < 400:
            words += ", a redirect, and those are not followed"
        return Try(words, final=status == _GONE, after_s=self._seconds(retry_after))

    def _seconds(self, retry_after: str | None) -> float | None:
        if not retry_after:
            return None
        if retry_after.isdecimal():
            return min(float(retry_after), _RETRY_AFTER_MAX_S)
        try:
            from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few say a date

            until = parsedate_to_datetime(retry_after).timestamp()
        except (ValueError, OverflowError):
            return None
        return min(max(0.0, until - self._clock.now()), _RETRY_AFTER_MAX_S)

    # Mail

    async def _mail(self, channel: ChannelSpec, message: Outgoing) -> Try:
        from petra.notify.post import Post  # noqa: PLC0415 - most homes never need it
        from petra.tools.base import ToolError  # noqa: PLC0415
        from petra.tools.egress import public_address  # noqa: PLC0415

        to = recipients(channel, message)
        if not to:
            return Try("the channel knows no address for it", final=True)
        host, port = channel.host or "", channel.port or (465 if channel.tls == "tls" else 587)
        try:
            address = host if channel.allow_private else await public_address(host, port)
        except ToolError as error:
            return _not_let(error)
        password = await self._secret(channel.password) if channel.password else ""
        letter = mail(message, channel.sender or "", to)
        post = Post(channel, host, port, address, password)
        try:
            return await asyncio.to_thread(post.send, letter)
        except asyncio.CancelledError:
            post.cut()  # the thread ends at once, however long the other side goes on
            raise


def _not_let(error: ToolError) -> Try:
    """Say why a connection was not made: its address is not public, or there is none."""
    denied = error.kind == "denied"
    words = f"{error}; 'allow_private: true' lets a channel go there" if denied else str(error)
    return Try(words, final=denied, away=not denied)


def recipients(channel: ChannelSpec, message: Outgoing) -> list[str]:
    """Return to whom a mail goes: to the one it is for, else to everybody the channel names."""
    person = message.rows[0].person
    if person:
        return [channel.people[person]] if person in channel.people else []
    return list(channel.to)
