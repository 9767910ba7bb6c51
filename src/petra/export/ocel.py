"""OCEL 2.0 (JSON): every record as an event, related to the objects it is about.

Objects: the execution, its step runs, its work items, its tokens. A token is no case, which is where a fan-out
does not fit into a table of activities, and fits here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from petra.export.life import ExportedLog, Moment, life, offered, produced, step_runs, timestamp
from petra.kernel import events as e

_TYPES = {
    "execution": {"playbook": "string", "status": "string"},
    "step run": {"step": "string", "kind": "string", "status": "string", "attempts": "integer"},
    "work item": {"step": "string", "title": "string", "state": "string", "holder": "string"},
    "token": {"step": "string"},
}
_EVENT = {"step": "string", "seq": "integer", "actor": "string", "reason": "string"}


@dataclass(slots=True)
class _Object:
    id: str
    type: str
    attributes: list[dict[str, Any]] = field(default_factory=list)
    relationships: list[dict[str, str]] = field(default_factory=list)

    def tell(self, at: float, **values: Any) -> None:
        """Note what its attributes are from now on."""
        for name, value in values.items():
            if value is not None:
                self.attributes.append({"name": name, "time": timestamp(at), "value": value})


class _Writer:
    def __init__(self, log: ExportedLog) -> None:
        self.log = log
        self.objects: dict[str, _Object] = {}
        self.events: list[dict[str, Any]] = []
        self.root = f"execution:{log.execution}"
        self.runs = {run.run: run for run in step_runs(log)}

    def write(self) -> dict[str, Any]:
        moments = list(life(self.log.records))
        root = self._object(self.root, "execution")
        if moments:
            root.tell(moments[0].at, playbook=self.log.playbook.metadata.name, status="running")
            root.tell(moments[-1].at, status=self.log.status)
        for moment in moments:
            self._event(moment)
        tags = dict.fromkeys(event["type"] for event in self.events)
        return {
            "objectTypes": [
                {"name": name, "attributes": _declared(attributes)}
                for name, attributes in _TYPES.items()
            ],
            "eventTypes": [{"name": tag, "attributes": _declared(_EVENT)} for tag in tags],
            "objects": [
                {
                    "id": item.id,
                    "type": item.type,
                    "attributes": item.attributes,
                    "relationships": item.relationships,
                }
                for item in self.objects.values()
            ],
            "events": self.events,
        }

    def _object(self, name: str, kind: str) -> _Object:
        if name not in self.objects:
            self.objects[name] = _Object(name, kind)
            if kind != "execution":
                self._relate(self.root, name, "has")
        return self.objects[name]

    def _relate(self, source: str, target: str, qualifier: str) -> None:
        relation = {"objectId": target, "qualifier": qualifier}
        self.objects[source].relationships.append(relation)

    def _event(self, moment: Moment) -> None:
        event = moment.event
        about = [{"objectId": self.root, "qualifier": "of"}]
        about += [{"objectId": name, "qualifier": how} for name, how in self._about(moment)]
        given = {
            "step": getattr(event, "step", None),
            "seq": moment.seq,
            "actor": getattr(event, "actor", None) or None,
            "reason": getattr(event, "reason", None) or None,
        }
        self.events.append(
            {
                "id": f"{self.log.execution}#{moment.seq}",
                "type": str(type(event).__struct_config__.tag),
                "time": timestamp(moment.at),
                "attributes": [
                    {"name": name, "value": value}
                    for name, value in given.items()
                    if value is not None
                ],
                "relationships": about,
            }
        )

    def _about(self, moment: Moment) -> list[tuple[str, str]]:
        """Return the objects of an event, and what it did to them."""
        event = moment.event
        related = [(self._token(token, moment), "produced") for token in produced(event)]
        match event:
            case e.StepStarted():
                related += [(f"token:{token}", "consumed") for token in event.consumed]
                related.append((self._run(event.run, moment), "started"))
                related += self._items(event.run, event, moment)
            case e.StepEnded():
                related += [(f"token:{token}", "consumed") for token in event.consumed]
                related.append((self._run(event.run, moment), "ended"))
            case e.Withdrawn():
                related += [(f"token:{token}", "withdrawn") for token in event.tokens]
                related += [(f"run:{run}", "withdrawn") for run in event.runs]
            case e.TokenDiscarded():
                related.append((f"token:{event.token}", "discarded"))
            case e.ItemChanged() if f"item:{event.item}" in self.objects:
                item = self.objects[f"item:{event.item}"]
                item.tell(moment.at, state=event.state, holder=event.holder)
                related.append((item.id, event.act))
            case e.AttemptStarted() | e.IterationsStarted():
                related.append((f"run:{event.run}", "about"))
                related += self._items(event.run, event, moment)
            case _:
                run = getattr(event, "run", None)
                related += [(f"run:{run}", "about")] if run else []
        return [(name, how) for name, how in related if name in self.objects]

    def _token(self, made: e.Produced, moment: Moment) -> str:
        token = self._object(f"token:{made.id}", "token")
        token.tell(moment.at, step=made.step)
        return token.id

    def _run(self, run: str, moment: Moment) -> str:
        name = f"run:{run}"
        known = self.runs.get(run)
        if name not in self.objects:
            made = self._object(name, "step run")
            if known is not None:
                made.tell(moment.at, step=known.step, kind=known.kind, status="running")
                for token in known.tokens:
                    if f"token:{token}" in self.objects:
                        self._relate(name, f"token:{token}", "consumed")
        elif known is not None:
            self.objects[name].tell(moment.at, status=known.status, attempts=known.tries)
        return name

    def _items(self, run: str, event: e.AnyEvent, moment: Moment) -> list[tuple[str, str]]:
        related = []
        step = self.runs[run].step if run in self.runs else ""
        for item in offered(event):
            made = self._object(f"item:{item.id}", "work item")
            title = str(item.spec.get("title") or step)
            made.tell(moment.at, step=step or None, title=title, state="offered")
            if f"run:{run}" in self.objects:
                self._relate(f"run:{run}", made.id, "asks")
            related.append((made.id, "offered"))
        return related


def ocel(log: ExportedLog) -> str:
    """Return the log as OCEL 2.0."""
    return json.dumps(_Writer(log).write(), indent=1, ensure_ascii=False) + "\n"


def _declared(attributes: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for name, kind in attributes.items()]
