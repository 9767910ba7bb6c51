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

from petra.export.life import ExportedLog, Tries, life, moment, offered
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


_ENDS = {"done": "complete", "failed": "ate_abort", "expired": "ate_abort", "withdrawn": "withdraw"}


@dataclass(slots=True)
class XesEvent:
    """One event of a trace."""

    name: str
    lifecycle: str
    at: float
    seq: int
    more: dict[str, Attribute | None] = field(default_factory=dict)


def activities_xes(log: ExportedLog) -> str:
    """Return the activities of an execution with their lifecycle: start, complete, and what lies between."""
    return write(log, list(_activities(log)), "activities")


def _activities(log: ExportedLog) -> Iterator[XesEvent]:
    activities = _Activities()
    for lived in life(log.records):
        for name, word, more in activities.of(lived.event):
            yield XesEvent(name, word, lived.at, lived.seq, more)


_Told = tuple[str, str, dict[str, Attribute | None]]


@dataclass(slots=True)
class _Activities:
    """What the events of a log say about activities; remembers which step a run or a work item is of."""

    step_of: dict[str, str] = field(default_factory=dict)
    run_of: dict[str, str] = field(default_factory=dict)
    iterated: set[str] = field(default_factory=set)
    """Work items of iterations: their ends are told one by one, since the step's end names nobody."""
    tries: Tries = field(default_factory=Tries)

    def of(self, event: e.AnyEvent) -> Iterator[_Told]:
        """Yield the name of an activity, the word of its lifecycle, and more."""
        self.tries.take(event)
        for item in offered(event):
            self.run_of[item.id] = getattr(event, "run", "")
            if getattr(event, "chunk", ""):
                self.iterated.add(item.id)
        match event:
            case e.StepStarted():
                self.step_of[event.run] = event.step
                word = "schedule" if offered(event) else "start"
                yield event.step, word, {"concept:instance": event.run}
            case e.StepEnded():
                yield _ended(event, self.tries.of(event.run))
            case e.Withdrawn():
                for run in event.runs:
                    if run in self.step_of:
                        yield self.step_of[run], "withdraw", {"concept:instance": run}
            case e.ItemChanged() if event.item in self.run_of:
                yield from self._act(event)
            case _:
                pass

    def _act(self, event: e.ItemChanged) -> Iterator[_Told]:
        run, word = self.run_of[event.item], _ACTS.get(event.act, "")
        more: dict[str, Attribute | None] = {"concept:instance": run}
        more["org:resource"] = event.actor or event.holder
        if event.item in self.iterated and event.state in _ENDS:
            word = _ENDS[event.state]
            more["concept:instance"] = event.item
            more["petra:action"] = event.reason if event.state == "done" else None
        if word:
            yield self.step_of[run], word, more


def _ended(event: e.StepEnded, tries: int) -> _Told:
    word = "ate_abort" if isinstance(event, e.StepFailed) else "complete"
    return (
        event.step,
        word,
        {
            "concept:instance": event.run,
            "org:resource": event.actor,
            "petra:attempts": tries,
            "petra:error": event.error.message if event.error is not None else None,
            "petra:action": _action(event.result) if event.actor else None,
        },
    )


def _action(answer: object) -> str | None:
    """Return what a person decided."""
    action = answer.get("action") if isinstance(answer, dict) else None
    return action if isinstance(action, str) else None


# Writing


def write(log: ExportedLog, events: list[XesEvent], profile: str) -> str:
    """Write a log of one trace."""
    return "\n".join(_lines(log, events, profile)) + "\n"


def _lines(log: ExportedLog, events: list[XesEvent], profile: str) -> Iterator[str]:
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


def _attributes(
    attributes: dict[str, Attribute | None] | dict[str, str], indent: str
) -> Iterator[str]:
    for key, value in attributes.items():
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
