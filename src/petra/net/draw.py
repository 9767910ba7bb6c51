"""Drawings: a net as Mermaid, Graphviz or SVG, and the steps of a playbook or of an execution as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from petra.net.net import Net, Transition
from petra.net.svg import Edge, Node, Picture, write_svg
from petra.playbook.draw import details, edges_of, form_of
from petra.playbook.model import Playbook


@dataclass(frozen=True, slots=True)
class Trace:
    """What an execution has done, to be drawn over its playbook: steps with state and number, arcs with number."""

    steps: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    arcs: Mapping[tuple[str, int], int] = field(default_factory=dict)


# SVG


def steps_svg(playbook: Playbook, trace: Trace | None = None) -> str:
    """Draw the steps of a playbook and the arcs between them; with a trace, what an execution made of it."""
    picture = Picture(playbook.metadata.name)
    picture.nodes["▸"] = Node("dot")
    picture.edges.append(Edge("▸", f"s:{playbook.entry}", taken=None if trace is None else 1))
    for step in playbook.workflow:
        name = f"s:{step.step}"
        state, number = trace.steps.get(step.step, ("unseen", 0)) if trace is not None else ("", 0)
        count = f" ×{number}" if number > 1 else ""
        picture.nodes[name] = Node(form_of(step), f"{step.step}{count}", details(step), state)
        if step.spec.compensate is not None:
            undo = f"u:{step.step}"
            kinds = ", ".join(dict.fromkeys(task.kind for task in step.spec.compensate.tool))
            picture.nodes[undo] = Node("undo", f"undo {step.step}", kinds)
            picture.edges.append(Edge(name, undo, dashed=True))
    for edge in edges_of(playbook):
        taken = trace.arcs.get((edge.source, edge.arc), 0) if trace is not None else None
        label = edge.label + (f" ×{taken}" if taken and taken > 1 else "")
        picture.edges.append(Edge(f"s:{edge.source}", f"s:{edge.target}", label, taken=taken))
    final = playbook.executor.spec.final_step
    if final is not None:
        picture.nodes["◂"] = Node("dot")
        picture.edges.append(Edge("◂", f"s:{final}", "finally", dashed=True))
    return write_svg(picture)


def net_svg(net: Net) -> str:
    """Draw a net: places as circles, transitions as bars; dashed lines empty a place."""
    picture = Picture(net.name)
    ordered = [*net.initial, *(place for place in net.places if place not in net.initial)]
    for name in ordered:
        label = net.places[name].label or name
        picture.nodes[f"p:{name}"] = Node("place", label, tokens=net.initial.get(name, 0))
    for name, transition in net.transitions.items():
        picture.nodes[f"t:{name}"] = Node("bar", transition.label or name)
        for source, target, label, dashed in net_edges(transition, net):
            picture.edges.append(Edge(source, target, label, dashed=dashed))
    return write_svg(picture)


def net_edges(transition: Transition, net: Net) -> Iterator[tuple[str, str, str, bool]]:
    """Yield the lines of a transition: from, to, what is written on it, whether it is dashed."""
    name = f"t:{transition.name}"
    for place, weight in transition.inputs.items():
        yield f"p:{place}", name, str(weight) if weight > 1 else "", False
    for place in transition.reads:
        yield f"p:{place}", name, "read", False
    for place, weight in transition.outputs.items():
        yield name, f"p:{place}", str(weight) if weight > 1 else "", False
    # one that empties everything would be all lines
    if len(transition.resets) < len(net.places) // 2:
        for place in transition.resets:
            yield f"p:{place}", name, "reset", True


# Text


def net_mermaid(net: Net) -> str:
    """Draw a net as a Mermaid flowchart."""
    ids = _ids(net)
    lines = ["flowchart TD"]
    for name, place in net.places.items():
        tokens = net.initial.get(name, 0)
        text = (place.label or name) + (
            f" · {'●' * tokens if tokens < 4 else tokens}" if tokens else ""
        )
        lines.append(f'  {ids["p:" + name]}(("{_mermaid(text)}"))')
    lines.extend(
        f'  {ids["t:" + name]}["{_mermaid(transition.label or name)}"]'
        for name, transition in net.transitions.items()
    )
    for transition in net.transitions.values():
        for source, target, label, dashed in net_edges(transition, net):
            arrow = "-.->" if dashed else "-->"
            said = f'|"{_mermaid(label)}"|' if label else ""
            lines.append(f"  {ids[source]} {arrow}{said} {ids[target]}")
    return "\n".join(lines) + "\n"


def net_dot(net: Net) -> str:
    """Draw a net as a Graphviz digraph."""
    lines = [f"digraph {_quoted(net.name)} {{", '  rankdir=TB; node [fontname="sans-serif"];']
    for name, place in net.places.items():
        tokens = net.initial.get(name, 0)
        inside = "●" if tokens == 1 else str(tokens or "")
        lines.append(
            f"  {_quoted('p:' + name)} [shape=circle width=0.4 fixedsize=true label={_quoted(inside)} "
            f"xlabel={_quoted(place.label or name)}];"
        )
    lines.extend(
        f"  {_quoted('t:' + name)} [shape=box height=0.2 label={_quoted(one.label or name)}];"
        for name, one in net.transitions.items()
    )
    for transition in net.transitions.values():
        for source, target, label, dashed in net_edges(transition, net):
            marks = [f"label={_quoted(label)}"] if label else []
            marks += ["style=dashed"] if dashed else []
            said = f" [{' '.join(marks)}]" if marks else ""
            lines.append(f"  {_quoted(source)} -> {_quoted(target)}{said};")
    return "\n".join([*lines, "}"]) + "\n"


def _ids(net: Net) -> dict[str, str]:
    places = {f"p:{name}": f"p{number}" for number, name in enumerate(net.places)}
    return places | {f"t:{name}": f"t{number}" for number, name in enumerate(net.transitions)}


def _mermaid(text: str) -> str:
    return escape(text, {'"': "&quot;"})


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
