"""Triggers: documents that say which events start a playbook (S24). The struct is the grammar, as for playbooks.

One of ``webhook``, ``on``, ``postgres``, ``nats`` and ``files`` says where events come from. ``when``, ``key`` and ``workload`` are
expressions over ``event``.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from petra.expr.scopes import Use
from petra.kinds import says
from petra.playbook.model import Metadata, Name, Part
from petra.playbook.write import to_plain
from petra.values import canonical

WAIT_MAX_S = 60.0
WINDOW_S = 300.0
WINDOW_MAX_S = 86_400.0
POLL_S = 10.0
POLL_MAX_S = 86_400.0
BODY_MAX = 16 * 1024 * 1024
BODY_BYTES = 1024 * 1024
"""So large may the body of a webhook be, unless the trigger says otherwise."""

Verify = Literal["standard", "hmac", "github", "stripe", "slack", "token", "none"]
End = Literal["completed", "partial", "failed", "aborted"]
Expression = {"use": Use.TRIGGER}
_ANSWER = {"use": Use.RESPONSE}


class Respond(Part, frozen=True, kw_only=True):
    """What a webhook is answered: at once, or with what came of the execution."""

    wait: Annotated[
        Annotated[float, Meta(ge=0, le=WAIT_MAX_S)],
        says("So many seconds the answer waits for the execution to end."),
    ] = 0.0
    status: Annotated[
        int | str | None, Meta(description="The status code; 200 when absent.", extra=_ANSWER)
    ] = None
    headers: Annotated[
        dict[str, str], Meta(description="Further headers of the answer.", extra=_ANSWER)
    ] = field(default_factory=dict)
    body: Annotated[Any, Meta(description="The answer; the output when absent.", extra=_ANSWER)] = (
        None
    )


class Webhook(Part, frozen=True, kw_only=True):
    """Requests to `/hooks/PATH` of the server."""

    path: Annotated[
        Name, says("The address behind `/hooks/`; no other trigger of the server has it.")
    ]
    secret: Annotated[Name | None, says("The stored credential that requests are signed with.")] = (
        None
    )
    verify: Annotated[
        Verify, says("How a request shows that it comes from whoever knows the secret.")
    ] = "standard"
    header: Annotated[Name | None, says("hmac, token: the header that has the signature.")] = None
    prefix: Annotated[str, says("hmac: what stands before the signature, such as `sha256=`.")] = ""
    algorithm: Annotated[Literal["sha256", "sha512", "sha1"], says("hmac: the hash.")] = "sha256"
    encoding: Annotated[Literal["hex", "base64"], says("hmac: how the signature is written.")] = (
        "hex"
    )
    window_s: Annotated[
        Annotated[float, Meta(gt=0, le=WINDOW_MAX_S)],
        says("standard, stripe, slack: how old a signed request may be, in seconds."),
    ] = WINDOW_S
    format: Annotated[
        Literal["json", "cloudevents"], says("What a request holds: one event, or CloudEvents.")
    ] = "json"
    challenge: Annotated[
        Literal["slack", "meta", "microsoft"] | None,
        says("The handshake by which a sender finds out whether the address is meant."),
    ] = None
    max_bytes: Annotated[
        Annotated[int, Meta(ge=1, le=BODY_MAX)], says("How large a body may be.")
    ] = BODY_BYTES
    respond: Annotated[Respond, says("What is answered.")] = field(default_factory=Respond)


class EndOf(Part, frozen=True, kw_only=True):
    """The end of an execution of another playbook."""

    playbook: Annotated[Name, says("Its path or name; `*` and `?` stand for any characters.")]
    status: Annotated[
        End | list[End] | None, says("Which ends count; `completed` when absent.")
    ] = None

    @property
    def ends(self) -> tuple[str, ...]:
        """The ends that count."""
        if self.status is None:
            return ("completed",)
        return (self.status,) if isinstance(self.status, str) else tuple(self.status)


class Listen(Part, frozen=True, kw_only=True):
    """Notifications of PostgreSQL (`NOTIFY`); what is sent while nobody listens is lost, and that is told."""

    channel: Annotated[Name, says("The channel.")]
    connection: Annotated[Name, says("The stored credential that has the address of the database.")]


class NatsSubject(Part, frozen=True, kw_only=True):
    """Messages of NATS. With a stream each is taken once, also what came while nobody listened; without, that is lost, and told."""

    servers: Annotated[
        Name | list[Name], says("The address of a server, `nats://host:4222`, or a list of them.")
    ]
    subject: Annotated[Name, says("The subject; `*` stands for one part of it, `>` for the rest.")]
    credential: Annotated[
        Name | None, says("The stored credential: a token, or a `username` and a `password`.")
    ] = None
    stream: Annotated[Name | None, says("The stream of JetStream that keeps the messages.")] = None
    durable: Annotated[
        Name | None,
        says("The consumer of the stream, which is made where it is not there; `petra-NAMESPACE-NAME` when absent."),
    ] = None  # fmt: skip
    begin: Annotated[
        Literal["new", "all"] | None,
        says("Which messages a consumer that is made begins with: those to come, or all of the stream; `new` when absent."),
    ] = None  # fmt: skip

    @property
    def addresses(self) -> list[str]:
        """The addresses of the servers."""
        return [self.servers] if isinstance(self.servers, str) else list(self.servers)


class WatchedFiles(Part, frozen=True, kw_only=True):
    """WatchedFiles that appear in a folder or a bucket."""

    folder: Annotated[Name, says("A folder of the server, or `s3://…`, `gs://…`, `az://…`.")]
    pattern: Annotated[Name, says("Which names count; `*`, `?`, and `**/` for folders below.")] = (
        "*"
    )
    every_s: Annotated[
        Annotated[float, Meta(ge=1, le=POLL_MAX_S)], says("How often it looks, in seconds.")
    ] = POLL_S
    settle_s: Annotated[
        Annotated[float, Meta(ge=0, le=POLL_MAX_S)],
        says("A file counts when it has not changed for so many seconds."),
    ] = 2.0


class Trigger(Part, frozen=True, kw_only=True):
    """A trigger: which playbook is started, by which events."""

    api_version: Annotated[Literal["petra/v1"], says("The header.")] = field(name="apiVersion")
    kind: Annotated[Literal["Trigger"], says("What the file holds.")]
    metadata: Metadata
    playbook: Annotated[Name, says("The path of the playbook to start, else its name.")]
    version: Annotated[
        str | int | float | None, says("Which version of it; the current one when absent.")
    ] = None
    webhook: Annotated[Webhook | None, says("Events are requests of other systems.")] = None
    on: Annotated[EndOf | None, says("Events are ends of executions.")] = None
    postgres: Annotated[Listen | None, says("Events are notifications of PostgreSQL.")] = None
    nats: Annotated[NatsSubject | None, says("Events are messages of NATS.")] = None
    files: Annotated[WatchedFiles | None, says("Events are files that appear.")] = None
    when: Annotated[
        str | bool, Meta(description="Which events count; all when absent.", extra=Expression)
    ] = True
    key: Annotated[
        str | None,
        Meta(
            description="What tells one event from another: the same key twice starts one execution.",
            extra=Expression,
        ),
    ] = None
    workload: Annotated[
        dict[str, Any] | str | None,
        Meta(description="What it is started with; `{event: …}` when absent.", extra=Expression),
    ] = None
    paused: Annotated[bool, says("Whether it begins paused.")] = False

    @property
    def name(self) -> str:
        """What it is known by."""
        return self.metadata.name

    @property
    def source(self) -> str:
        """Where its events come from."""
        return next((one for one in SOURCES if getattr(self, one) is not None), "")

    @property
    def digest(self) -> str:
        """What tells one text of it from another."""
        return hashlib.sha256(canonical(to_plain(self))).hexdigest()


SOURCES = ("webhook", "on", "postgres", "nats", "files")


def trigger_of(document: dict[str, Any]) -> Trigger:
    """Return a trigger that is kept as data."""
    return msgspec.convert(document, Trigger)


def trigger_schema() -> dict[str, Any]:
    """Return the JSON Schema of a trigger."""
    from petra.playbook.schema import schema_of  # noqa: PLC0415 - who keeps a trigger needs none

    return schema_of(Trigger, "Petra trigger")
