"""From PNML to a net.

Rule 1: what a place/transition net cannot say is refused with the line, never passed over in silence;
graphics and the remarks of other tools are passed over.
Rule 2: an element's ``id`` becomes the name, its ``<name>`` the label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from petra.errors import NetError
from petra.net.net import Net, Place, Transition
from petra.net.pnml.xml import Element, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: A count; PIPE writes the name of the token colour before it.
_COUNT = re.compile(r"(?:Default,)?([0-9]{1,9})")
_HIGH_LEVEL = re.compile("symmetric|highlevel|hlpn|coloured|colored", re.IGNORECASE)


def read_pnml(text: str | bytes) -> Net:
    """Read the one net of a PNML document.

    Raises:
        NetError: the document is not PNML, or says something a place/transition net cannot; with
            the line.
    """
    root = parse(text)
    nets = [root] if root.name == "net" else list(root.walk("net"))
    if len(nets) != 1:
        found = f"{len(nets)} nets" if nets else f"no <net> in <{root.name}>"
        raise NetError(f"line {root.line}: found {found}; a document with one net is read")
    if _HIGH_LEVEL.search(nets[0].attributes.get("type", "")):
        nets[0].refuse("a high-level net; only place/transition nets are read")
    return _Reader(nets[0]).net()


@dataclass(slots=True)
class _Arcs:
    """What one transition's arcs have said so far."""

    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    resets: list[str] = field(default_factory=list)


class _Reader:
    """Collects places and transitions first, since an arc may come before its ends."""

    def __init__(self, element: Element) -> None:
        self.element = element
        self.places: dict[str, Place] = {}
        self.transitions: dict[str, Element] = {}
        self.arcs: dict[str, _Arcs] = {}
        self.initial: dict[str, int] = {}
        self.references: dict[str, Element] = {}
        self.names: dict[str, str] = {}
        self.kinds: dict[str, str] = {}

    def net(self) -> Net:
        inside = list(_inside(self.element))
        for element in inside:
            if element.name in {"place", "transition"}:
                self.read_node(element)
            elif element.name in {"referencePlace", "referenceTransition"}:
                self.references[element.require("id")] = element
        for element in inside:
            if element.name == "arc":
                self.read_arc(element)
        name = _exact(self.element).get("name") or _text(self.element, "name")
        return Net(
            name=self.element.attributes.get("id", "net") if name is None else name,
            places=MappingProxyType(self.places),
            transitions=MappingProxyType(
                {
                    name: self.transition(name, transition)
                    for name, transition in self.transitions.items()
                }
            ),
            initial=MappingProxyType(self.initial),
            final=tuple(MappingProxyType(marking) for marking in self.final_markings()),
        )

    def read_node(self, element: Element) -> None:
        identity = element.require("id")
        exact = _exact(element)
        name = exact.get("name", identity)
        if identity in self.names:
            element.refuse(f"the id {identity!r} is used twice; rename one")
        if name in (self.places if element.name == "place" else self.transitions):
            element.refuse(f"there are two {element.name}s named {name!r}; rename one")
        self.names[identity] = name
        self.kinds[identity] = element.name
        if element.name == "place":
            self.places[name] = Place(name=name, label=_label(element, name))
            count = _count(element, "initialMarking")
            if count is not None:
                self.initial[name] = count
        else:
            self.transitions[name] = element
            self.arcs[name] = _Arcs()

    def resolve(self, identity: str, element: Element) -> str:
        """Return the id that a reference, or a chain of them, stands for."""
        seen: set[str] = set()
        while identity in self.references and identity not in seen:
            seen.add(identity)
            identity = self.references[identity].require("ref")
        if identity not in self.names:
            element.refuse(f"no place or transition has the id {identity!r}")
        return identity

    def read_arc(self, element: Element) -> None:
        source = self.resolve(element.require("source"), element)
        target = self.resolve(element.require("target"), element)
        if self.kinds[source] == self.kinds[target]:
            element.refuse(f"an arc from {self.kinds[source]} to {self.kinds[target]}")
        weight = _count(element, "inscription")
        if weight == 0:
            element.refuse("an arc of weight 0; a weight is at least 1, or leave the arc out")
        weight = 1 if weight is None else weight
        kind = _arc_kind(element)
        if self.kinds[source] == "place":
            arcs, place = self.arcs[self.names[target]], self.names[source]
        else:
            arcs, place = self.arcs[self.names[source]], self.names[target]
        match kind:
            case "reset":
                arcs.resets.append(place)
            case "read":
                arcs.reads.append(place)
            case _:
                side = arcs.inputs if self.kinds[source] == "place" else arcs.outputs
                side[place] = side.get(place, 0) + weight

    def transition(self, name: str, element: Element) -> Transition:
        arcs = self.arcs[name]
        priority = _exact(element).get("priority", "0")
        if not re.fullmatch("-?[0-9]{1,18}", priority):
            element.refuse(f"the priority {priority!r} is no whole number")
        return Transition(
            name=name,
            inputs=MappingProxyType(arcs.inputs),
            outputs=MappingProxyType(arcs.outputs),
            reads=tuple(arcs.reads),
            resets=tuple(arcs.resets),
            priority=int(priority),
            label=_label(element, name),
        )

    def final_markings(self) -> Iterator[dict[str, int]]:
        for group in self.element.walk("finalmarkings"):
            for marking in group.all("marking"):
                counts: dict[str, int] = {}
                for entry in marking.all("place"):
                    identity = self.resolve(entry.require("idref"), entry)
                    if self.kinds[identity] != "place":
                        entry.refuse(f"{identity!r} is no place, so it holds no tokens")
                    counts[self.names[identity]] = _number(entry, default=1)
                yield counts


def _inside(element: Element) -> Iterator[Element]:
    """Yield what lies on the net and its pages; final markings have places of their own."""
    for child in element.children:
        if child.name == "page":
            yield from _inside(child)
        else:
            yield child


def _arc_kind(element: Element) -> str:
    kind = _text(element, "arctype")
    if kind is None:
        typed = element.child("type")
        kind = "normal" if typed is None else typed.attributes.get("value", "normal")
    kind = {"test": "read"}.get(kind.lower(), kind.lower())
    if kind not in {"normal", "read", "reset"}:
        element.refuse(f"an arc of type {kind!r}; normal, read and reset arcs are known")
    return kind


def _exact(element: Element) -> Mapping[str, str]:
    """Return what only Petra writes about an element."""
    for tool in element.all("toolspecific"):
        exact = tool.child("exact")
        if tool.attributes.get("tool") == "petra" and exact is not None:
            return exact.attributes
    return {}


def _label(element: Element, name: str) -> str | None:
    exact = _exact(element)
    if "label" in exact:
        return exact["label"]
    label = _text(element, "name") or None
    return None if label == name.strip() else label


def _text(element: Element, name: str) -> str | None:
    """Return what a label such as ``<name><text>…</text></name>`` says."""
    child = element.child(name)
    if child is None:
        return None
    holder = child.child("text") or child.child("value")
    return child.text.strip() if holder is None else holder.text.strip()


def _count(element: Element, name: str) -> int | None:
    child = element.child(name)
    return None if child is None else _number(child, default=None)


def _number(element: Element, *, default: int | None) -> int:
    holder = element.child("text") or element.child("value") or element
    text = holder.text.strip()
    if not text and default is not None:
        return default
    match = _COUNT.fullmatch(text)
    if match is None:
        element.refuse(f"<{element.name}> says {text!r}, which is no count of tokens")
    return int(match[1])
