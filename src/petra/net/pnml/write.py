"""From a net to PNML.

Rule 1: a name serves as its own id, unless the id is taken: then the name is kept beside it.
Rule 2: guards and fire functions are Python and stay behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.net.net import Net, Place, Transition
from petra.net.pnml.xml import escaped, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"
PTNET = "http://www.pnml.org/version-2009/grammar/ptnet"


def write_pnml(net: Net) -> str:
    """Write a net as PNML.

    ``read_pnml`` gives the same net back, except for guards and fire functions.

    Raises:
        NetError: a name holds a character that XML cannot.
    """
    return "\n".join(_Writer(net).lines()) + "\n"


class _Writer:
    """Gives every element an id; a name serves as its own id when it can."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.used: dict[str, int] = {}
        self.place_ids = {name: self.identity(name) for name in net.places}
        self.transition_ids = {name: self.identity(name) for name in net.transitions}

    def identity(self, wanted: str) -> str:
        base = identity = wanted or "node"
        while identity in self.used:
            self.used[base] += 1
            identity = f"{base}.{self.used[base]}"
        self.used[identity] = 0
        return identity

    def lines(self) -> Iterator[str]:
        net = self.net
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        yield f'<pnml xmlns="{NAMESPACE}">'
        yield f'  <net id={quoted(self.identity(net.name))} type="{PTNET}">'
        yield f"    <name><text>{escaped(net.name)}</text></name>"
        if net.name != net.name.strip() or not net.name:
            yield f"    {_petra({'name': net.name})}"
        yield f"    <page id={quoted(self.identity('page'))}>"
        for name, place in net.places.items():
            marking = net.initial.get(name)
            count = "" if marking is None else _labelled("initialMarking", marking)
            yield from self.node("place", self.place_ids[name], place, count)
        for name, transition in net.transitions.items():
            yield from self.node("transition", self.transition_ids[name], transition, "")
        for name, transition in net.transitions.items():
            yield from self.arcs(self.transition_ids[name], transition)
        yield "    </page>"
        yield from self.final_markings()
        yield "  </net>"
        yield "</pnml>"

    def node(
        self, kind: str, identity: str, node: Place | Transition, content: str
    ) -> Iterator[str]:
        shown = node.name if node.label is None else node.label
        exact: dict[str, str] = {}
        if identity != node.name:
            exact["name"] = node.name
        label = node.label
        if label is not None and (label != label.strip() or label in {"", node.name.strip()}):
            exact["label"] = label
        if isinstance(node, Transition) and node.priority:
            exact["priority"] = str(node.priority)
        tool = _petra(exact) if exact else ""
        yield (
            f"      <{kind} id={quoted(identity)}><name><text>{escaped(shown)}</text></name>"
            f"{content}{tool}</{kind}>"
        )

    def arcs(self, identity: str, transition: Transition) -> Iterator[str]:
        for place, weight in transition.inputs.items():
            yield self.arc(self.place_ids[place], identity, _weight(weight))
        for place in transition.reads:
            yield self.arc(self.place_ids[place], identity, _labelled("arctype", "read"))
        for place in transition.resets:
            yield self.arc(self.place_ids[place], identity, _labelled("arctype", "reset"))
        for place, weight in transition.outputs.items():
            yield self.arc(identity, self.place_ids[place], _weight(weight))

    def arc(self, source: str, target: str, content: str) -> str:
        identity = self.identity("arc")
        return (
            f"      <arc id={quoted(identity)} source={quoted(source)} target={quoted(target)}>"
            f"{content}</arc>"
        )

    def final_markings(self) -> Iterator[str]:
        if self.net.final:
            yield "    <finalmarkings>"
            for marking in self.net.final:
                entries = "".join(
                    f"<place idref={quoted(self.place_ids[place])}><text>{count}</text></place>"
                    for place, count in marking.items()
                )
                yield f"      <marking>{entries}</marking>"
            yield "    </finalmarkings>"


def _labelled(name: str, value: object) -> str:
    return f"<{name}><text>{value}</text></{name}>"


def _weight(weight: int) -> str:
    return "" if weight == 1 else _labelled("inscription", weight)


def _petra(exact: Mapping[str, str]) -> str:
    attributes = "".join(f" {key}={quoted(value)}" for key, value in exact.items())
    return f'<toolspecific tool="petra" version="1"><exact{attributes}/></toolspecific>'
