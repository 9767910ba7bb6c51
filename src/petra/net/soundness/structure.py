"""The shape of a workflow net: one source, one sink, and every node on the way from the source.

The textbook also asks that every node lie on a way to the sink. A node that does not is a defect in
any case: either a token gets there and never leaves, or the transitions there never fire. A run can
show that better than a remark about shape, so it is left to the search, which calls it unsound.

A read arc counts as a way from its place to its transition. A reset arc is no way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from petra.net.net import Net


def source_places(net: Net) -> list[str]:
    """Return the places that no transition produces into."""
    fed = {place for transition in net.transitions.values() for place in transition.outputs}
    return [place for place in net.places if place not in fed]


def sink_places(net: Net) -> list[str]:
    """Return the places that no transition takes from or reads."""
    used = {
        place
        for transition in net.transitions.values()
        for place in (*transition.inputs, *transition.reads)
    }
    return [place for place in net.places if place not in used]


def defects(net: Net) -> list[str]:
    """Say what keeps the net from being a workflow net; empty when it is one."""
    sources, sinks = source_places(net), sink_places(net)
    faults = []
    if len(sources) != 1:
        faults.append(f"a workflow net has one source place, this net has {_listed(sources)}")
    if len(sinks) != 1:
        faults.append(f"a workflow net has one sink place, this net has {_listed(sinks)}")
    for name, transition in net.transitions.items():
        if not transition.inputs and not transition.reads:
            faults.append(f"transition {name!r} has no input, so it could fire without end")
        if not transition.outputs:
            faults.append(f"transition {name!r} has no output, so tokens vanish in it")
    if faults:
        return faults
    (source,) = sources
    marked = {place: count for place, count in net.initial.items() if count}
    if marked and marked != {source: 1}:
        faults.append(f"a workflow net starts with one token, in its source {source!r}")
    return faults + _unreachable(net, source)


def _unreachable(net: Net, source: str) -> list[str]:
    """Name the nodes to which no way leads from the source."""
    users: dict[str, list[str]] = {}
    for name, transition in net.transitions.items():
        for place in (*transition.inputs, *transition.reads):
            users.setdefault(place, []).append(name)
    places, transitions, work = {source}, set[str](), [source]
    while work:
        for name in users.get(work.pop(), ()):
            transitions.add(name)
            new = net.transitions[name].outputs.keys() - places
            places |= new
            work += new
    return [
        *(
            f"no way leads from {source!r} to place {one!r}"
            for one in net.places
            if one not in places
        ),
        *(
            f"no way leads from {source!r} to transition {one!r}"
            for one in net.transitions
            if one not in transitions
        ),
    ]


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{len(names)}: {shown}{more}" if names else "none"
