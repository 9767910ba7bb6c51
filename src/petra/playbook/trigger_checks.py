"""What a trigger that is well formed may still have wrong (S24)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from petra.errors import ExpressionError
from petra.expr import SCOPES, Profile, Use, ValueTemplate, compile_value
from petra.expr.scopes import BUILT_IN
from petra.playbook.event_fields import fields_of, meant
from petra.playbook.problems import Problems, did_you_mean
from petra.playbook.tree import Map, Places
from petra.playbook.trigger import SOURCES, NatsSubject, Trigger, Webhook

_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._~-]*(/[A-Za-z0-9_-][A-Za-z0-9._~-]*)*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SERVER = re.compile(r"(nats|tls)://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?/?")
_SUBJECT = re.compile(r"([^\s.*>]+|\*)(\.([^\s.*>]+|\*))*(\.>)?|>")
_CONSUMER = re.compile(r"[^\s.*>/\\]+")
_NEEDS_HEADER = ("hmac", "token")


def check_trigger(trigger: Trigger, tree: Map, problems: Problems) -> None:
    """Add what is wrong with a trigger."""
    places = Places(tree)
    _one_source(tree, problems)
    if trigger.webhook is not None:
        _webhook(trigger.webhook, places, problems)
    if trigger.nats is not None:
        _nats(trigger.nats, places, problems)
    if trigger.on is not None and trigger.on.playbook == trigger.playbook:
        hint = "it would start itself for ever; let it be another playbook, or loop inside of it"
        problems.error("P503", places.at("on", "playbook"), "the end of a playbook starts it", hint)
    for path, value, use in _expressions(trigger):
        compiled = _expression(path, value, use, places, problems)
        if compiled is not None:
            _fields(trigger, path, compiled, places, problems)


def _one_source(tree: Map, problems: Problems) -> None:
    sources = [key for key in SOURCES if tree.get(key) is not None]
    if not sources:
        words = "it is not said where events come from"
        problems.error("P102", tree.mark, words, f"add one of {', '.join(map(repr, SOURCES))}")
    for key in sources[1:]:
        words = f"'{sources[0]}' and '{key}' exclude each other"
        problems.error("P122", tree.key_at(key), words, "make two triggers")


def _webhook(hook: Webhook, places: Places, problems: Problems) -> None:
    if not _PATH.fullmatch(hook.path):
        hint = (
            "it goes on behind a '/' of the server's: leave the first one out"
            if _PATH.fullmatch(hook.path.removeprefix("/"))
            else "letters, digits and ._~- , with / between its parts"
        )
        at = places.at("webhook", "path")
        problems.error("P502", at, "the path cannot be in an address", hint)
    at = places.at("webhook")
    if hook.verify == "none":
        hint = "add 'secret', and 'verify' as the sender signs"
        words = "whoever knows the address can start it: nothing is verified"
        problems.warn("P504", places.at("webhook", "verify"), words, hint)
    elif hook.secret is None:
        hint = "name a credential that 'petra secret set' stores, or write 'verify: none'"
        problems.error("P102", at, f"'verify: {hook.verify}' needs a 'secret'", hint)
    if hook.verify in _NEEDS_HEADER and not hook.header:
        hint = "such as 'header: X-Signature'"
        problems.error("P102", at, f"'verify: {hook.verify}' needs a 'header'", hint)
    for name in filter(None, (hook.header, *hook.respond.headers)):
        if not _HEADER.fullmatch(name):
            problems.error("P502", at, f"'{name}' cannot be the name of a header", "")


def _nats(source: NatsSubject, places: Places, problems: Problems) -> None:
    at = places.at("nats", "servers")
    if not source.addresses:
        problems.error("P102", at, "there is no server", "such as 'servers: nats://host:4222'")
    for address in source.addresses:
        if "@" in address:
            hint = "store them with 'petra secret set', and name that in 'credential'"
            problems.error("P502", at, "an address is to hold no name and no password", hint)
        elif not _SERVER.fullmatch(address):
            words = f"'{address[:100]}' is no address of a server"
            problems.error("P502", at, words, "such as 'nats://host:4222', or 'tls://…'")
    if not _SUBJECT.fullmatch(source.subject):
        hint = "parts with '.' between them; '*' is one part, '>' at the end is the rest"
        problems.error("P502", places.at("nats", "subject"), "this can be no subject", hint)
    for key in ("stream", "durable"):
        name = getattr(source, key)
        if name is not None and not _CONSUMER.fullmatch(name):
            words = f"this can be no name of a {'stream' if key == 'stream' else 'consumer'}"
            problems.error("P502", places.at("nats", key), words, "without spaces and . * > / \\")
    for key in ("durable", "begin"):
        if source.stream is None and getattr(source, key) is not None:
            hint = "add 'stream': only one that is kept has consumers"
            problems.error("P102", places.at("nats", key), f"'{key}' needs a 'stream'", hint)


def _expressions(trigger: Trigger) -> Iterator[tuple[tuple[str, ...], Any, Use]]:
    for key in ("when", "key", "workload"):
        yield (key,), getattr(trigger, key), Use.TRIGGER
    if trigger.webhook is not None:
        for key in ("status", "headers", "body"):
            expression = getattr(trigger.webhook.respond, key)
            yield ("webhook", "respond", key), expression, Use.RESPONSE


def _expression(
    path: tuple[str, ...], value: Any, use: Use, places: Places, problems: Problems
) -> ValueTemplate | None:
    """Compile what is written there; names that nothing provides are errors."""
    try:
        compiled = compile_value(value, Profile.SERVER)
    except ExpressionError as error:
        at = places.at(*path, *(error.place or ()))
        problems.error("P119", at, str(error), error.hint or "")
        return None
    for place, template in compiled.templates.items():
        for name in sorted({read[0] for read in template.reads} - SCOPES[use]):
            near = did_you_mean(name, sorted(SCOPES[use]))
            hint = f"'{name}' has no meaning in {use.value}" if name in BUILT_IN else near
            words = f"nothing provides the name '{name}' here"
            problems.error("P205", places.at(*path, *place), words, hint or "write 'event.…'")
    if path == ("when",) and isinstance(value, str) and not compiled.templates:
        hint = f"write '{{{{ {value} }}}}'"
        problems.error("P119", places.at("when"), "the condition is no expression", hint)
    return compiled


def _fields(
    trigger: Trigger,
    path: tuple[str, ...],
    compiled: ValueTemplate,
    places: Places,
    problems: Problems,
) -> None:
    """Warn of fields that no event of this source has: they are empty, and a condition on them passes everything."""
    known = fields_of(trigger)
    if known is None:
        return
    for place, template in compiled.templates.items():
        for name, *fields in sorted(template.reads):
            if name == "event" and fields and fields[0] not in known:
                words = f"such an event has no field '{fields[0]}'"
                hint = meant(trigger, tuple(map(str, fields)))
                problems.warn("P505", places.at(*path, *place), words, hint)
