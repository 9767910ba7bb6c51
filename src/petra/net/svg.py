"""Pictures as SVG 1.1 that looks right in any renderer: a browser, an editor, a converter to PNG.

Rule 1: every colour and size is an attribute. The style sheet holds nothing but the colours of a dark page, which
renderers that know no media queries pass over.
Rule 2: no text runs into another: a label of an edge has a place of its own in the layout, and nothing is clipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from petra.net.layout import Box, Drawing, arrange

FONT = "Helvetica, Arial, sans-serif"
SIZE, SMALL = 12.5, 10.5
_WIDE, _NARROW = 7.2, 6.0
"""How wide a character is at most, on the average, in either size."""
LABEL_MAX = 30
_BASE = 0.36
"""From the middle of a line of text to its base, in sizes of the font."""


class Colours(NamedTuple):
    """The fill and the line of one kind of shape, on paper and on a dark page."""

    fill: str
    line: str
    dark_fill: str
    dark_line: str


PAPER = Colours("#ffffff", "none", "#16181d", "none")
INK = Colours("#1d2433", "none", "#e6eaf2", "none")
FAINT = Colours("#5b6577", "none", "#a5aebd", "none")
EDGE = Colours("none", "#8793a8", "none", "#77839a")
TIP = Colours("#8793a8", "none", "#77839a", "none")
TAKEN = Colours("none", "#2f6fde", "none", "#7fb0ff")
TAKEN_TIP = Colours("#2f6fde", "none", "#7fb0ff", "none")
SOLID = Colours("#3a4354", "none", "#c5cfdf", "none")

SHAPES: Mapping[str, Colours] = MappingProxyType(
    {
        "task": Colours("#f4f6fa", "#5b6b85", "#23272f", "#8fa3c4"),
        "router": Colours("#fff7e6", "#b07d1e", "#33291a", "#d9a94d"),
        "join": Colours("#eaf6ee", "#3f8f5f", "#1b2f24", "#6fc592"),
        "human": Colours("#f5edfb", "#8656b0", "#2c2236", "#b98fe0"),
        "wait": Colours("#e9f4fb", "#3a80ad", "#1b2b36", "#74b6e0"),
        "undo": Colours("#ffffff", "#8793a8", "#16181d", "#77839a"),
        "place": Colours("#f4f6fa", "#5b6b85", "#23272f", "#8fa3c4"),
    }
)
STATES: Mapping[str, Colours] = MappingProxyType(
    {
        "done": Colours("#e2f4e7", "#2c7a48", "#173222", "#63c487"),
        "failed": Colours("#fde7e6", "#b3261e", "#3a1b1a", "#ff8a80"),
        "running": Colours("#e2edfd", "#2f6fde", "#16263f", "#7fb0ff"),
        "waiting": Colours("#fff4d6", "#9a6b00", "#372b10", "#e6b84a"),
        "withdrawn": Colours("#eceef2", "#6b7587", "#262a31", "#97a1b3"),
        "unseen": Colours("#ffffff", "#c3cad6", "#16181d", "#444c59"),
    }
)
_MARKS = {"done": "✓", "failed": "✗", "running": "▶", "waiting": "◷", "withdrawn": "⊘"}


@dataclass(frozen=True, slots=True)
class Node:
    """Something with a shape, a name and a line below it; ``state`` is what an execution made of it."""

    shape: str
    name: str = ""
    more: str = ""
    state: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from node to node; ``taken`` says how often, where an execution is drawn."""

    source: str
    target: str
    label: str = ""
    dashed: bool = False
    taken: int | None = None


@dataclass(slots=True)
class Picture:
    """What is drawn."""

    title: str
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)


def write_svg(picture: Picture) -> str:
    """Lay a picture out and write it."""
    sizes = {name: _size(node) for name, node in picture.nodes.items()}
    lines: list[tuple[str, str]] = []
    for number, edge in enumerate(picture.edges):
        if edge.label:
            sizes[f"l:{number}"] = len(short(edge.label)) * _NARROW + 8, 15.0
            lines += [(edge.source, f"l:{number}"), (f"l:{number}", edge.target)]
        else:
            lines.append((edge.source, edge.target))
    drawing = arrange(sizes, lines)
    return "\n".join([*_head(picture, drawing), *_edges(picture, drawing), *_nodes(picture, drawing), "</svg>"]) + "\n"  # fmt: skip


def _head(picture: Picture, drawing: Drawing) -> list[str]:
    width, height = drawing.width, drawing.height
    return [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" role="img" aria-label={quoteattr(picture.title)} '
            f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'font-family="{FONT}" font-size="{SIZE}" text-anchor="middle">'
        ),
        f"<title>{escape(picture.title)}</title>",
        f"<style>@media (prefers-color-scheme: dark) {{ {_dark()} }}</style>",
        f'<rect {_painted("paper", PAPER)} x="0" y="0" width="{width:.0f}" height="{height:.0f}"/>',
    ]


def _dark() -> str:
    """Return the colours of a dark page, class by class."""
    every = {
        "paper": PAPER, "ink": INK, "faint": FAINT, "edge": EDGE, "tip": TIP, "taken": TAKEN,
        "taken-tip": TAKEN_TIP, "solid": SOLID, **SHAPES, **STATES,
    }  # fmt: skip
    rules = [
        f".{name} {{ fill: {c.dark_fill}; stroke: {c.dark_line}; }}" for name, c in every.items()
    ]
    return " ".join([*rules, f".halo {{ stroke: {PAPER.dark_fill}; fill: {PAPER.dark_fill}; }}"])


def _painted(name: str, colours: Colours) -> str:
    return f'class="{name}" fill="{colours.fill}" stroke="{colours.line}"'


# Nodes


def _size(node: Node) -> tuple[float, float]:
    match node.shape:
        case "dot":
            return 12.0, 12.0
        case "place":
            return max(26.0, len(short(node.name)) * _NARROW), 44.0
        case "bar":
            return max(34.0, len(short(node.name)) * _NARROW), 26.0
        case _:
            name, more = len(_name(node)) * _WIDE, len(short(node.more)) * _NARROW
            return max(64.0, max(name, more) + 26), 46.0 if node.more else 34.0


def _name(node: Node) -> str:
    mark = _MARKS.get(node.state, "")
    return f"{mark} {short(node.name)}" if mark else short(node.name)


def short(text: str) -> str:
    """Cut a text where it is long; the whole is in the title of its shape."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= LABEL_MAX else line[: LABEL_MAX - 1] + "…"


def _nodes(picture: Picture, drawing: Drawing) -> list[str]:
    return [_node(drawing.boxes[name], node) for name, node in picture.nodes.items()]


def _node(box: Box, node: Node) -> str:
    x, y = box.x, box.y
    tip = f"<title>{escape(' · '.join(filter(None, (node.name, node.more, node.state))))}</title>"
    match node.shape:
        case "dot":
            return f'<circle {_painted("solid", SOLID)} cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
        case "place":
            return f"<g>{tip}{_place(x, y - 9, node.tokens)}{_label(x, y + 12, node.name)}</g>"
        case "bar":
            bar = f'<rect {_painted("solid", SOLID)} x="{x - 17:.1f}" y="{y - 11:.1f}" width="34" height="7" rx="1.5"/>'
            return f"<g>{tip}{bar}{_label(x, y + 6, node.name)}</g>"
        case _:
            return f"<g>{tip}{_box(box, node)}</g>"


def _place(x: float, y: float, tokens: int) -> str:
    circle = f'<circle {_painted("place", SHAPES["place"])} stroke-width="1.3" cx="{x:.1f}" cy="{y:.1f}" r="12"/>'
    if tokens == 1:
        return circle + f'<circle {_painted("solid", SOLID)} cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
    return circle + (_text(x, y, str(tokens), SMALL, "ink", INK) if tokens else "")


def _box(box: Box, node: Node) -> str:
    name, colours = (
        (node.state, STATES[node.state])
        if node.state in STATES
        else (node.shape, SHAPES[node.shape])
    )
    dashed = ' stroke-dasharray="4 3"' if node.shape == "undo" else ""
    words = _text(box.x, box.y - 8 if node.more else box.y, _name(node), SIZE, "ink", INK)
    if node.more:
        words += _text(box.x, box.y + 9, short(node.more), SMALL, "faint", FAINT)
    return (
        f'<rect {_painted(name, colours)} stroke-width="1.3"{dashed} x="{box.x - box.width / 2:.1f}" '
        f'y="{box.y - box.height / 2:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{17 if node.shape == "router" else 8}"/>{words}'
    )


def _text(  # noqa: PLR0913, PLR0917 - where, what and how
    x: float, y: float, words: str, size: float, name: str, colours: Colours
) -> str:
    return (
        f'<text {_painted(name, colours)} font-size="{size}" x="{x:.1f}" y="{y + size * _BASE:.1f}">'
        f"{escape(words)}</text>"
    )


def _label(x: float, y: float, words: str) -> str:
    """Write over whatever is there: the same text in the colour of the paper lies below it, wider."""
    shown = escape(short(words))
    at = f'font-size="{SMALL}" x="{x:.1f}" y="{y + SMALL * _BASE:.1f}"'
    below = f'<text class="halo" fill="{PAPER.fill}" stroke="{PAPER.fill}" stroke-width="4" {at}>{shown}</text>'
    return f"{below}<text {_painted('faint', FAINT)} {at}>{shown}</text>"


# Edges


def _edges(picture: Picture, drawing: Drawing) -> list[str]:
    """Draw the lines, then the labels over them."""
    lines, labels, number = [], [], 0
    for index, edge in enumerate(picture.edges):
        parts = [(edge.source, edge.target)]
        if edge.label:
            middle = f"l:{index}"
            parts = [(edge.source, middle), (middle, edge.target)]
            box = drawing.boxes[middle]
            labels.append(
                f"<g><title>{escape(edge.label)}</title>{_label(box.x, box.y, edge.label)}</g>"
            )
        for source, target in parts:
            way = drawing.trimmed(number, source, target)
            lines.append(_curve(way, edge, tipped=not target.startswith("l:")))
            number += 1
    return [*lines, *labels]


def _curve(way: list[tuple[float, float]], edge: Edge, *, tipped: bool) -> str:
    (x, y), *rest = way
    path = f"M{x:.1f} {y:.1f}"
    for next_x, next_y in rest:
        middle = (y + next_y) / 2
        path += f" C{x:.1f} {middle:.1f} {next_x:.1f} {middle:.1f} {next_x:.1f} {next_y:.1f}"
        x, y = next_x, next_y
    taken = bool(edge.taken)
    name, colours = ("taken", TAKEN) if taken else ("edge", EDGE)
    dashed = ' stroke-dasharray="4 3"' if edge.dashed else ""
    line = f'<path {_painted(name, colours)} stroke-width="{2.2 if taken else 1.3}"{dashed} d="{path}"/>'
    return line + (_tip(way, taken=taken) if tipped else "")


def _tip(way: list[tuple[float, float]], *, taken: bool) -> str:
    """Draw the tip of an arrow; curves come in from straight above or below, or from the side."""
    (x0, y0), (x, y) = way[-2], way[-1]
    name, colours = ("taken-tip", TAKEN_TIP) if taken else ("tip", TIP)
    if abs(y - y0) < 12 < abs(x - x0):
        back = 7 if x > x0 else -7
        points = f"{x:.1f},{y:.1f} {x - back:.1f},{y - 3.4:.1f} {x - back:.1f},{y + 3.4:.1f}"
    else:
        back = 7 if y > y0 else -7
        points = f"{x:.1f},{y:.1f} {x - 3.4:.1f},{y - back:.1f} {x + 3.4:.1f},{y - back:.1f}"
    return f'<polygon {_painted(name, colours)} points="{points}"/>'
