"""Drawings: a net as Mermaid, Graphviz or SVG, and the steps of a playbook as SVG or as a net.

The SVG needs nothing else: the layout is our own, the colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from petra.net.layout import Box, Drawing, arrange
from petra.net.net import Net, Transition
from petra.playbook.draw import caption, edges_of, form_of
from petra.playbook.model import Playbook

_CHARACTER = 7.1
_LABEL_MAX = 26

_STYLE = """
  svg { color-scheme: light dark; font: 12.5px ui-sans-serif, system-ui, sans-serif; }
  .paper { fill: light-dark(#ffffff, #16181d); }
  .node { fill: light-dark(#f4f6fa, #23272f); stroke: light-dark(#5b6b85, #8fa3c4); stroke-width: 1.3; }
  .router { fill: light-dark(#fff7e6, #33291a); stroke: light-dark(#b07d1e, #d9a94d); }
  .join { fill: light-dark(#eaf6ee, #1b2f24); stroke: light-dark(#3f8f5f, #6fc592); }
  .human { fill: light-dark(#f5edfb, #2c2236); stroke: light-dark(#8656b0, #b98fe0); }
  .wait { fill: light-dark(#e9f4fb, #1b2b36); stroke: light-dark(#3a80ad, #74b6e0); }
  .bar { fill: light-dark(#3a4354, #c5cfdf); stroke: none; }
  .dot { fill: light-dark(#3a4354, #c5cfdf); stroke: none; }
  .edge { fill: none; stroke: light-dark(#8793a8, #77839a); stroke-width: 1.3; }
  .reset { stroke-dasharray: 4 3; }
  .tip { fill: light-dark(#8793a8, #77839a); }
  text { fill: light-dark(#1d2433, #e6eaf2); text-anchor: middle; dominant-baseline: central; }
  .small { font-size: 10.5px; fill: light-dark(#5b6577, #a5aebd); }
  .halo { paint-order: stroke; stroke: light-dark(#ffffff, #16181d); stroke-width: 4px; }
"""


@dataclass(slots=True)
class _Graph:
    """What is drawn: nodes with a shape and a text, edges with a label."""

    title: str
    nodes: dict[str, tuple[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, str, bool]] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)


# SVG


def steps_svg(playbook: Playbook) -> str:
    """Draw the steps of a playbook and the arcs between them."""
    graph = _Graph(playbook.metadata.name)
    graph.nodes["▸"] = ("dot", "")
    graph.edges.append(("▸", f"s:{playbook.entry}", "", False))
    for step in playbook.workflow:
        graph.nodes[f"s:{step.step}"] = (form_of(step), caption(step))
    for edge in edges_of(playbook):
        graph.edges.append((f"s:{edge.source}", f"s:{edge.target}", edge.label, False))
    final = playbook.executor.spec.final_step
    if final is not None:
        graph.nodes["◂"] = ("dot", "")
        graph.edges.append(("◂", f"s:{final}", "finally", True))
    return _svg(graph)


def net_svg(net: Net) -> str:
    """Draw a net: places as circles, transitions as bars; dashed lines empty a place."""
    graph = _Graph(net.name, tokens={f"p:{place}": n for place, n in net.initial.items() if n})
    ordered = [*net.initial, *(place for place in net.places if place not in net.initial)]
    for name in ordered:
        place = net.places[name]
        graph.nodes[f"p:{name}"] = ("place", place.label or name)
    for name, one in net.transitions.items():
        graph.nodes[f"t:{name}"] = ("bar", one.label or name)
        for source, target, label, dashed in _net_edges(one, net):
            graph.edges.append((source, target, label, dashed))
    return _svg(graph)


def _net_edges(one: Transition, net: Net) -> Iterator[tuple[str, str, str, bool]]:
    name = f"t:{one.name}"
    for place, weight in one.inputs.items():
        yield f"p:{place}", name, str(weight) if weight > 1 else "", False
    for place in one.reads:
        yield f"p:{place}", name, "read", False
    for place, weight in one.outputs.items():
        yield name, f"p:{place}", str(weight) if weight > 1 else "", False
    if len(one.resets) < len(net.places) // 2:  # one that empties everything would be all lines
        for place in one.resets:
            yield f"p:{place}", name, "reset", True


def _svg(graph: _Graph) -> str:
    sizes = {name: _size(shape, text) for name, (shape, text) in graph.nodes.items()}
    drawing = arrange(sizes, [(a, b) for a, b, _, _ in graph.edges])
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label={quoteattr(graph.title)} '
            f'width="{drawing.width:.0f}" height="{drawing.height:.0f}" '
            f'viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}">'
        ),
        f"<title>{escape(graph.title)}</title>",
        f"<style>{_STYLE}</style>",
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path class="tip" d="M0 0.8 L7.5 4 L0 7.2 Z"/></marker></defs>'
        ),
        '<rect class="paper" width="100%" height="100%"/>',
    ]
    labels: list[str] = []
    for number, (source, target, label, dashed) in enumerate(graph.edges):
        lines.append(_edge(drawing, number, source, target, dashed=dashed))
        if label:
            labels.append(_edge_label(drawing, number, label))
    for name, (shape, text) in graph.nodes.items():
        lines.append(_node(drawing.boxes[name], shape, text, graph.tokens.get(name, 0)))
    return "\n".join([*lines, *labels, "</svg>"]) + "\n"


def _size(shape: str, text: str) -> tuple[float, float]:
    if shape == "dot":
        return 12.0, 12.0
    if shape == "place":
        return max(26.0, len(_short(text)) * 6.0), 44.0
    if shape == "bar":
        return max(34.0, len(_short(text)) * 6.0), 26.0
    width = max(64.0, max(len(line) for line in _lines(text)) * _CHARACTER + 26)
    return width, 34.0 if len(_lines(text)) == 1 else 46.0


def _lines(text: str) -> list[str]:
    name, _, more = text.partition(" · ")
    return [_short(name), _short(more)] if more else [_short(name)]


def _short(text: str) -> str:
    return text if len(text) <= _LABEL_MAX else text[: _LABEL_MAX - 1] + "…"


def _node(box: Box, shape: str, text: str, tokens: int) -> str:
    x, y = box.x, box.y
    tip = f"<title>{escape(text)}</title>" if text else ""
    if shape == "dot":
        return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
    if shape == "place":
        inside = f'<circle class="dot" cx="{x:.1f}" cy="{y - 9:.1f}" r="4"/>' if tokens == 1 else ""
        if tokens > 1:
            inside = f'<text class="small" x="{x:.1f}" y="{y - 9:.1f}">{tokens}</text>'
        return (
            f'<g>{tip}<circle class="node" cx="{x:.1f}" cy="{y - 9:.1f}" r="12"/>{inside}'
            f'<text class="small halo" x="{x:.1f}" y="{y + 12:.1f}">{escape(_short(text))}</text></g>'
        )
    if shape == "bar":
        return (
            f'<g>{tip}<rect class="bar" x="{x - 17:.1f}" y="{y - 11:.1f}" width="34" height="7" rx="1.5"/>'
            f'<text class="small halo" x="{x:.1f}" y="{y + 6:.1f}">{escape(_short(text))}</text></g>'
        )
    left, top = x - box.width / 2, y - box.height / 2
    first, *more = _lines(text)
    up = y - 8 if more else y
    words = f'<text x="{x:.1f}" y="{up:.1f}">{escape(first)}</text>'
    if more:
        words += f'<text class="small" x="{x:.1f}" y="{y + 9:.1f}">{escape(more[0])}</text>'
    return (
        f'<g>{tip}<rect class="node {shape}" x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{17 if shape == "router" else 8}"/>{words}</g>'
    )


def _edge(drawing: Drawing, number: int, source: str, target: str, *, dashed: bool) -> str:
    way = _trimmed(drawing, number, source, target)
    (x, y), *rest = way
    path = f"M{x:.1f} {y:.1f}"
    for next_x, next_y in rest:
        middle = (y + next_y) / 2
        path += f" C{x:.1f} {middle:.1f} {next_x:.1f} {middle:.1f} {next_x:.1f} {next_y:.1f}"
        x, y = next_x, next_y
    shape = "edge reset" if dashed else "edge"
    return f'<path class="{shape}" d="{path}" marker-end="url(#tip)"/>'


def _trimmed(drawing: Drawing, number: int, source: str, target: str) -> list[tuple[float, float]]:
    """Return the way of an edge from border to border; one that goes back leaves at the side."""
    way = list(drawing.ways[number])
    first, last = drawing.boxes[source], drawing.boxes[target]
    if source == target:
        x, y, right = first.x, first.y, first.x + first.width / 2
        return [(right, y - 7), (right + 22, y), (x + first.width / 2, y + 7)]
    down = first.y <= last.y
    leave = first.height / 2 if down else -first.height / 2
    enter = -last.height / 2 - 1 if down else last.height / 2 + 1
    aside = 0.0 if down else min(first.width, last.width) / 2 - 10
    way[0] = (first.x + aside, first.y + leave)
    way[-1] = (last.x + aside, last.y + enter)
    return way


def _edge_label(drawing: Drawing, number: int, label: str) -> str:
    way = drawing.ways[number]
    middle = len(way) // 2
    (x1, y1), (x2, y2) = way[middle - 1], way[middle]
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    return (
        f'<text class="small halo" x="{x:.1f}" y="{y:.1f}">'
        f"<title>{escape(label)}</title>{escape(_short(label))}</text>"
    )


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
        f'  {ids["t:" + name]}["{_mermaid(one.label or name)}"]'
        for name, one in net.transitions.items()
    )
    for one in net.transitions.values():
        for source, target, label, dashed in _net_edges(one, net):
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
    for one in net.transitions.values():
        for source, target, label, dashed in _net_edges(one, net):
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
