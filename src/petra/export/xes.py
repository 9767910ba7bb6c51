"""XES (IEEE 1849-2016): one trace per execution; this profile has the life of every activity.

Rule 1: a step run is an activity instance; work items add what people did to them. The words are those of the
standard's lifecycle extension.
Rule 2: times strictly increase within a trace, by a microsecond where records share one; ``petra:seq`` says which
record an event comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from petra.export.life import Log, life, moment, offered
from petra.kernel import events as e

Attribute = str | int | float | bool
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EXTENSIONS = (
    ("Concept", "concept", "http://www.xes-standard.org/concept.xesext"),
    ("Time", "time", "http://www.xes-standard.org/time.xesext"),
    ("Lifecycle", "lifecycle", "http://www.xes-standard.org/lifecycle.xesext"),
    ("Organizational", "org", "http://www.xes-standard.org/org.xesext"),
)
_ACTS = {
    "claim": "assign", "release": "withdraw", "start": "start", "delegate": "reassign", "reassign": "reassign",
    "suspend": "suspend", "resume": "resume", "return": "reassign", "escalate": "reassign",
}  # fmt: skip


@dataclass(slots=True)
class XesEvent:
    """One event of a trace."""

    name: str
    lifecycle: str
    at: float
    seq: int
    more: dict[str, Attribute | None] = field(default_factory=dict)


def activities_xes(log: Log) -> str:
    """Return the activities of an execution with their lifecycle: start, complete, and what lies between."""
    return write(log, list(_activities(log)), "activities")


def _activities(log: Log) -> Iterator[XesEvent]:
    step_of: dict[str, str] = {}
    item_run: dict[str, str] = {}
    for lived in life(log.records):
        event, at, seq = lived.event, lived.at, lived.seq
        for item in offered(event):
            item_run[item.id] = getattr(event, "run", "")
        match event:
            case e.StepStarted():
                step_of[event.run] = event.step
                word = "schedule" if offered(event) else "start"
                yield XesEvent(event.step, word, at, seq, {"concept:instance": event.run})
            case e.StepEnded():
                more: dict[str, Attribute | None] = {"concept:instance": event.run}
                more["org:resource"] = event.actor
                more["petra:attempts"] = sum(1 for one in event.attempts if not one.noop)
                more["petra:error"] = event.error.message if event.error is not None else None
                word = "ate_abort" if isinstance(event, e.StepFailed) else "complete"
                yield XesEvent(event.step, word, at, seq, more)
            case e.Withdrawn():
                for run in event.runs:
                    if run in step_of:
                        yield XesEvent(step_of[run], "withdraw", at, seq, {"concept:instance": run})
            case e.ItemChanged() if event.item in item_run and event.act in _ACTS:
                run = item_run[event.item]
                more = {"concept:instance": run, "org:resource": event.actor or event.holder}
                yield XesEvent(step_of[run], _ACTS[event.act], at, seq, more)
            case _:
                pass


# Writing


def write(log: Log, events: list[XesEvent], profile: str) -> str:
    """Write a log of one trace."""
    return "\n".join(_lines(log, events, profile)) + "\n"


def _lines(log: Log, events: list[XesEvent], profile: str) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<log xes.version="1849-2016" xes.features="" xmlns="http://www.xes-standard.org/">'
    for name, prefix, uri in _EXTENSIONS:
        yield f'  <extension name="{name}" prefix="{prefix}" uri="{uri}"/>'
    yield '  <global scope="trace">'
    yield '    <string key="concept:name" value="__INVALID__"/>'
    yield "  </global>"
    yield '  <global scope="event">'
    yield '    <string key="concept:name" value="__INVALID__"/>'
    yield '    <string key="lifecycle:transition" value="complete"/>'
    yield '    <date key="time:timestamp" value="1970-01-01T00:00:00.000+00:00"/>'
    yield "  </global>"
    yield '  <classifier name="Activity" keys="concept:name"/>'
    yield '  <classifier name="Activity and lifecycle" keys="concept:name lifecycle:transition"/>'
    head = {"concept:name": log.playbook.metadata.name, "petra:profile": profile}
    yield from _attributes(head, "  ")
    yield "  <trace>"
    case = {
        "concept:name": log.execution,
        "petra:playbook": log.playbook.metadata.name,
        "petra:status": log.status,
    }
    yield from _attributes(case, "    ")
    for event, at in _in_order(events):
        yield "    <event>"
        named = {"concept:name": event.name, "lifecycle:transition": event.lifecycle}
        yield from _attributes(named, "      ")
        yield f'      <date key="time:timestamp" value="{moment(at)}"/>'
        yield from _attributes({**event.more, "petra:seq": event.seq}, "      ")
        yield "    </event>"
    yield "  </trace>"
    yield "</log>"


def _in_order(events: Iterable[XesEvent]) -> Iterator[tuple[XesEvent, int]]:
    """Give each event a time of its own, in microseconds."""
    last = 0
    for event in events:
        last = max(round(event.at * 1e6), last + 1)
        yield event, last


def _attributes(given: dict[str, Attribute | None] | dict[str, str], indent: str) -> Iterator[str]:
    for key, value in given.items():
        if value is None or value == "":
            continue
        kind, text = _typed(value)
        yield f"{indent}<{kind} key={_quoted(key)} value={_quoted(text)}/>"


def _typed(value: Attribute) -> tuple[str, str]:
    match value:
        case bool():
            return "boolean", str(value).lower()
        case int():
            return "int", str(value)
        case float():
            return "float", repr(value)
        case str():
            return "string", value


def _quoted(text: str) -> str:
    """Quote a text for XML; characters that XML cannot hold are left out."""
    return quoteattr(_NOT_XML.sub("", text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
