"""The channels of a server and its own rules, as ``notify.yaml`` in its home says them (``kind: Notify``).

Rule 1: no secret stands in it: ``secret``, ``password`` and ``url_secret`` are names of credentials (``petra secret set``).
Rule 2: a channel reaches public addresses only, unless it says ``allow_private``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from petra.errors import ExpressionError, UsageError
from petra.expr import Profile, compile_value
from petra.kinds import says
from petra.playbook.decode import Decoder
from petra.playbook.notify import NotifyRule
from petra.playbook.own_keys import OwnKeys
from petra.playbook.problems import START, Problem, Problems, did_you_mean, headline
from petra.playbook.tree import Map
from petra.playbook.yaml12 import TEXT_BYTES_MAX, parse

NOTIFY_FILE = "notify.yaml"
_Text = Annotated[str, Meta(min_length=1)]
_Seconds = Annotated[float, Meta(gt=0)]


class ChannelSpec(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A way to people or systems."""

    kind: Annotated[Literal["webhook", "slack", "teams", "email"], says("What goes out there.")]
    url: Annotated[_Text | None, says("webhook, slack, teams: where to.")] = None
    url_secret: Annotated[_Text | None, says("The credential that holds the address.")] = None
    secret: Annotated[_Text | None, says("webhook: the credential that signs.")] = None
    host: Annotated[_Text | None, says("email: the SMTP server.")] = None
    port: Annotated[
        Annotated[int, Meta(ge=1, le=65535)] | None,
        says("email: 465 with `tls: tls`, else 587, when absent."),
    ] = None
    tls: Annotated[Literal["starttls", "tls", "none"], says("email: how it is encrypted.")] = (
        "starttls"
    )
    username: Annotated[_Text | None, says("email: who logs in there.")] = None
    password: Annotated[_Text | None, says("email: the credential of whoever logs in.")] = None
    sender: Annotated[_Text | None, says("email: from whom it is.")] = field(
        name="from", default=None
    )
    to: Annotated[list[_Text], says("email: addresses that hear everything.")] = []
    people: Annotated[
        dict[str, _Text], says("email: addresses of users, who hear of their work items.")
    ] = {}
    roles: Annotated[dict[str, list[_Text]], says("email: users that have a role.")] = {}
    allow_private: Annotated[bool, says("It may be in a private network.")] = False
    timeout_s: Annotated[_Seconds, says("Seconds that one try may take.")] = 15.0
    attempts: Annotated[int, Meta(ge=1, le=100, description="Tries before it is given up.")] = 10
    digest_s: Annotated[_Seconds | None, says("Collect what comes in so many seconds.")] = None
    per_minute: Annotated[
        Annotated[int, Meta(ge=1)] | None, says("At most so many messages a minute.")
    ] = None


class ServerRule(NotifyRule, frozen=True):
    """A rule for all playbooks of a server, or for some of them."""

    playbook: Annotated[str, says("Of which playbooks, by path; `*` stands for anything.")] = "*"
    namespace: Annotated[str, says("Of which namespaces.")] = "*"


class NotifyFile(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A whole document."""

    api_version: Annotated[Literal["petra/v1"], says("The header.")] = field(
        name="apiVersion", default="petra/v1"
    )
    kind: Annotated[Literal["Notify"], says("What the file holds.")] = "Notify"
    url: Annotated[_Text | None, says("Where people reach this server; links begin so.")] = None
    link_s: Annotated[_Seconds, says("Seconds that a link to act is good for.")] = 259_200.0
    keep_s: Annotated[_Seconds, says("Seconds that what was sent stays listed.")] = 604_800.0
    channels: Annotated[dict[str, ChannelSpec], says("The channels, by name.")] = {}
    rules: Annotated[list[ServerRule], says("Who is told of what, whatever playbooks say.")] = []


def notify_schema() -> dict[str, Any]:
    """Return the JSON Schema of the file."""
    from petra.playbook.schema import schema_of  # noqa: PLC0415 - only who asks for it

    return schema_of(NotifyFile, "Petra notify file")


def read_notify(path: Path) -> NotifyFile:
    """Read the channels of a server; where there is no such file, there are none.

    Raises:
        UsageError: it cannot be read, or has problems; each is named with its place.
    """
    try:
        with path.open("rb") as file:
            text = file.read(TEXT_BYTES_MAX).decode("utf-8-sig")
    except FileNotFoundError:
        return NotifyFile()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    problems = Problems()
    tree = _decoded(text, problems)
    if problems.has_errors:
        raise UsageError("\n".join(headline(problem, str(path)) for problem in problems))
    return tree


def notify_problems(text: str) -> tuple[Problem, ...]:
    """Return what is wrong with the text of such a file."""
    problems = Problems()
    _decoded(text, problems)
    return tuple(problems)


def _decoded(text: str, problems: Problems) -> NotifyFile:
    tree = parse(text, problems)
    if not isinstance(tree, Map):
        if not problems.has_errors:
            problems.error(
                "P107", START, "this tells of no channels", "write 'kind: Notify' and 'channels'"
            )
        return NotifyFile()
    file = Decoder(problems, OwnKeys(problems)).struct(tree, NotifyFile, (), START)
    if not problems.has_errors:
        _make_sense(file, tree, problems)
    return file


def _make_sense(file: NotifyFile, tree: Map, problems: Problems) -> None:
    channels = tree.get("channels")
    for name, channel in file.channels.items():
        at = channels.key_at(name) if isinstance(channels, Map) else START
        for wrong in _wrong_with(channel):
            problems.error("P122", at, f"channel '{name}': {wrong[0]}", wrong[1])
    for number, rule in enumerate(file.rules):
        for fault, hint in _wrong_with_rule(rule, file):
            problems.error("P104", tree.value_at("rules"), f"rule {number + 1}: {fault}", hint)


def _wrong_with(channel: ChannelSpec) -> list[tuple[str, str]]:
    wrong = []
    if channel.kind == "email":
        missing = [
            key for key in ("host", "from") if not getattr(channel, key.replace("from", "sender"))
        ]
        wrong += [(f"it has no '{key}'", f"add '{key}:'") for key in missing]
        if not channel.to and not channel.people:
            wrong.append(("nobody hears it", "add 'to:' or 'people:'"))
        if channel.password and channel.tls == "none":
            wrong.append(("a password would go unencrypted", "leave 'tls: none' out"))
    elif (channel.url is None) == (channel.url_secret is None):
        wrong.append(("it needs one address", "add 'url:' or 'url_secret:', not both"))
    if channel.secret and channel.kind != "webhook":
        wrong.append((f"'{channel.kind}' is not signed", "leave 'secret:' out"))
    return wrong


def _wrong_with_rule(rule: ServerRule, file: NotifyFile) -> list[tuple[str, str]]:
    wrong = [
        (f"there is no channel '{name}'", did_you_mean(name, file.channels))
        for name in rule.to
        if name not in file.channels
    ]
    try:
        for template in (rule.when, rule.title, rule.text, rule.data):
            compile_value(template, Profile.SERVER)
    except ExpressionError as error:
        wrong.append((str(error), "mend the template"))
    return wrong
