"""Hearing messages of NATS (S24).

Rule 1: with a stream, a message is acknowledged when it is durable here. What is not acknowledged comes again, and is the
same event.
Rule 2: without one, NATS keeps nothing for whoever is away.
Rule 3: whatever ends a connection, we begin anew: so one that is refused is told, not tried again in silence.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from petra.engine.limits import LISTEN_CHECK_S, MESSAGES_AT_ONCE, MESSAGES_BYTES_MAX, NATS_CONNECT_S
from petra.engine.trigger_hearing import HeardEvent, Hearing, in_words
from petra.engine.trigger_registry import KeptTrigger
from petra.engine.trigger_watches import WatchNotes
from petra.errors import UsageError
from petra.kernel.scope import timestamp
from petra.keychain import KeychainError
from petra.triggers.messages import NatsMessage, StreamPlace, message_occurrence

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

    from petra.engine.engine import Engine

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")


class NatsListener(Hearing):
    """Hears the messages of a subject for one trigger."""

    def __init__(self, engine: Engine, kept: KeptTrigger, notes: WatchNotes) -> None:
        super().__init__(engine, kept, notes, MESSAGES_AT_ONCE)
        assert kept.trigger.nats is not None, "it hears messages"
        self._nats = kept.trigger.nats
        self.forgetful = self._nats.stream is None
        self._client: Client | None = None
        self._pump: asyncio.Task[None] | None = None
        self._refused: Exception | None = None

    # The connection

    async def connect(self) -> None:
        """Begin to hear."""
        try:
            from nats.aio.client import Client  # noqa: PLC0415 - few hear messages
            from nats.errors import Error  # noqa: PLC0415 - see above
        except ImportError:
            words = "NATS needs 'nats-py'; install it with pip install 'petra[nats]'"
            raise UsageError(words) from None
        access = await self._access()
        self._client = Client()
        try:
            await self._client.connect(
                self._nats.addresses, name=f"petra trigger {self._kept.name}", allow_reconnect=False,
                max_reconnect_attempts=1, reconnect_time_wait=0, connect_timeout=NATS_CONNECT_S,
                ping_interval=int(LISTEN_CHECK_S), error_cb=self._failed, closed_cb=self._closed, **access,
            )  # fmt: skip
        except (Error, OSError) as error:
            raise UsageError(f"{', '.join(self._nats.addresses)}: {self._reason(error)}") from None
        await self._subscribe(self._client)
        if self._refused is not None:
            raise self._refused

    async def _subscribe(self, client: Client) -> None:
        if self._nats.stream is not None:
            source = await self._consumer(client.jetstream(), self._nats.stream)
            self._pump = asyncio.create_task(self._fetch(source))
            return
        await client.subscribe(
            self._nats.subject, cb=self._hear, pending_bytes_limit=MESSAGES_BYTES_MAX
        )
        await client.flush(int(LISTEN_CHECK_S))  # a refusal comes before the answer to this

    def _reason(self, error: Exception) -> str:
        """Say why there is no connection: what came last says more than that no server is left."""
        error = self._refused or error
        return "it does not answer" if isinstance(error, TimeoutError) else in_words(error)

    async def check(self) -> None:
        """Ask for a sign of life."""
        assert self._client is not None, "it is connected"
        await self._client.flush(int(LISTEN_CHECK_S))

    async def disconnect(self) -> None:
        """Leave."""
        if self._pump is not None:
            self._pump.cancel()
        if self._client is not None and not self._client.is_closed:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._client.close(), NATS_CONNECT_S)

    async def _failed(self, error: Exception) -> None:
        """Hear of what went wrong: a subject that is not ours, or more messages than we could take."""
        self._refused = error
        if self._client is not None and self._client.is_connected:
            self.end(in_words(error))

    async def _closed(self) -> None:
        self.end()

    async def _access(self) -> dict[str, Any]:
        name = self._nats.credential
        if name is None:
            return {}
        secret = await self._engine.triggers.secret(self._kept.namespace, name)
        return access_of(name, secret)

    # With a stream

    async def _consumer(
        self, stream: JetStreamContext, name: str
    ) -> JetStreamContext.PullSubscription:
        """Find or make the consumer: it knows what we have, whoever of us asks."""
        from nats.js.api import AckPolicy, DeliverPolicy  # noqa: PLC0415 - see above
        from nats.js.errors import NotFoundError  # noqa: PLC0415 - see above

        durable = self._nats.durable or durable_name(self._kept.namespace, self._kept.name)
        policy = DeliverPolicy.ALL if self._nats.begin == "all" else DeliverPolicy.NEW
        try:
            known = (await stream.consumer_info(name, durable)).config
        except NotFoundError:
            await stream.add_consumer(
                name, durable_name=durable, filter_subject=self._nats.subject, deliver_policy=policy,
                ack_policy=AckPolicy.EXPLICIT,
            )  # fmt: skip
        else:
            if known.deliver_subject or known.ack_policy != AckPolicy.EXPLICIT:
                words = "is one that pushes, or acknowledges otherwise; choose another 'durable'"
                raise UsageError(f"the consumer '{durable}' of stream '{name}' {words}")
            if known.filter_subject != self._nats.subject:
                await stream.add_consumer(name, known, filter_subject=self._nats.subject)
        return await stream.pull_subscribe_bind(
            durable, stream=name, pending_bytes_limit=MESSAGES_BYTES_MAX
        )

    async def _fetch(self, source: JetStreamContext.PullSubscription) -> None:
        from nats.errors import TimeoutError as NothingError  # noqa: PLC0415 - see above

        try:
            while True:
                try:
                    for message in await source.fetch(MESSAGES_AT_ONCE, timeout=LISTEN_CHECK_S):
                        await self._hear(message)
                except NothingError:
                    continue
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and we begin anew
            self.end(f"it cannot listen: {in_words(error)}")

    # Hearing

    async def _hear(self, received: Msg) -> None:
        """Take a message; there is room for some, the others wait in the client or at the server."""
        stored = None
        if self._nats.stream is not None:
            stored = StreamPlace(
                self._nats.stream, received.metadata.sequence.stream, _nanoseconds(received)
            )
        now = timestamp(self._engine.clock.now())
        message = NatsMessage(received.subject, received.data, received.headers or {}, now, stored)
        acknowledge = received.ack if stored is not None else None
        await self._heard.put(HeardEvent(message_occurrence(message), acknowledge))


def _nanoseconds(message: Msg) -> int:
    """Return when the stream got a message: the same however often it is delivered."""
    return int(message.metadata.timestamp.timestamp() * 1_000_000) * 1_000


def durable_name(namespace: str, trigger: str) -> str:
    """Return the name of the consumer of a trigger that names none."""
    whole = f"petra-{namespace}-{trigger}"
    plain = _NO_NAME.sub("_", whole)
    if plain == whole:
        return plain
    return f"{plain}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def access_of(name: str, secret: Any) -> dict[str, str]:
    """Return what a credential gives access by: a token, or a name and a password.

    Raises:
        KeychainError: it is neither.
    """
    if isinstance(secret, str) and secret:
        return {"token": secret}
    if isinstance(secret, Mapping):
        user = secret.get("username", secret.get("user"))
        if isinstance(user, str) and isinstance(secret.get("password"), str):
            return {"user": user, "password": secret["password"]}
        if isinstance(secret.get("token"), str):
            return {"token": secret["token"]}
    raise KeychainError(
        f"credential '{name}' is to be a token, or an object with 'username' and 'password'"
    )
