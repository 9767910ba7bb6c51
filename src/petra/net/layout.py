"""A small layered layout: nodes in rows by their distance, few crossings, edges as smooth curves.

Sugiyama's method in short: break cycles by a depth-first walk, put each node below all that lead to it,
let long edges go straight down through every row they pass, order the rows by the median of their neighbours, then
move nodes towards their neighbours. Deterministic: the same graph always looks the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

ROW_GAP = 30.0
NODE_GAP = 28.0
SWEEPS = 8


@dataclass(slots=True)
class Box:
    """A node with its size, and after the layout its centre."""

    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    row: int = 0


@dataclass(slots=True)
class Drawing:
    """Where everything goes: boxes by node, for each edge its points, and the size of the whole."""

    boxes: dict[str, Box]
    ways: list[list[tuple[float, float]]]
    width: float = 0.0
    height: float = 0.0
    backward: set[int] = field(default_factory=set)

    def trimmed(self, number: int, source: str, target: str) -> list[tuple[float, float]]:
        """Return the way of an edge from border to border; one that goes back leaves at the side."""
        first, last = self.boxes[source], self.boxes[target]
        if source == target:
            right, y = first.x + first.width / 2, first.y
            return [(right, y - 7), (right + 22, y), (right, y + 7)]
        down = first.y <= last.y
        leave = first.height / 2 if down else -first.height / 2
        enter = -last.height / 2 - 1 if down else last.height / 2 + 1
        aside = 0.0 if down else min(first.width, last.width) / 2 - 10
        start, end = (first.x + aside, first.y + leave), (last.x + aside, last.y + enter)
        return [start, *self.ways[number][1:-1], end]


_Node = Hashable


def arrange(sizes: Mapping[str, tuple[float, float]], edges: Sequence[tuple[str, str]]) -> Drawing:
    """Lay out a graph from top to bottom."""
    boxes = {name: Box(width, height) for name, (width, height) in sizes.items()}
    backward = _backward(list(sizes), edges)
    forward = [(b, a) if number in backward else (a, b) for number, (a, b) in enumerate(edges)]
    _rank(boxes, forward)
    rows, chains = _rows(boxes, forward)
    _order(rows, chains)
    places = _place(rows, chains, boxes)
    drawing = Drawing(boxes, [], backward=backward)
    bands = _bands(boxes, len(rows))
    for node, x in places.items():
        if isinstance(node, str):
            boxes[node].x = x
            boxes[node].y = sum(bands[boxes[node].row]) / 2
    for number, chain in enumerate(chains):
        way = [point for node in chain for point in _points(node, places, boxes, bands)]
        drawing.ways.append(way[::-1] if number in backward else way)
    _fit(drawing)
    return drawing


def _backward(nodes: list[str], edges: Sequence[tuple[str, str]]) -> set[int]:
    """Return the edges that close a cycle on a walk from the first node."""
    leaving: dict[str, list[tuple[int, str]]] = {node: [] for node in nodes}
    for number, (a, b) in enumerate(edges):
        leaving[a].append((number, b))
    backward: set[int] = set()
    state: dict[str, int] = {}
    for start in nodes:
        if start in state:
            continue
        state[start] = 1
        stack = [(start, iter(leaving[start]))]
        while stack:
            node, rest = stack[-1]
            step = next(rest, None)
            if step is None:
                state[node] = 2
                stack.pop()
            elif state.get(step[1]) == 1:
                backward.add(step[0])
            elif step[1] not in state:
                state[step[1]] = 1
                stack.append((step[1], iter(leaving[step[1]])))
    return backward


def _rank(boxes: dict[str, Box], edges: list[tuple[str, str]]) -> None:
    """Put each node one row below the lowest that leads to it."""
    entering = dict.fromkeys(boxes, 0)
    leaving: dict[str, list[str]] = {node: [] for node in boxes}
    for a, b in edges:
        if a != b:
            entering[b] += 1
            leaving[a].append(b)
    work = [node for node, count in entering.items() if not count]
    for node in work:
        for other in leaving[node]:
            boxes[other].row = max(boxes[other].row, boxes[node].row + 1)
            entering[other] -= 1
            if not entering[other]:
                work.append(other)


def _rows(
    boxes: dict[str, Box], edges: list[tuple[str, str]]
) -> tuple[list[list[_Node]], list[list[_Node]]]:
    """Return the rows, with a bend in every row that an edge passes, and the nodes along each edge."""
    rows: list[list[_Node]] = [
        [] for _ in range(max((box.row for box in boxes.values()), default=0) + 1)
    ]
    for name, box in boxes.items():
        rows[box.row].append(name)
    chains: list[list[_Node]] = []
    for number, (a, b) in enumerate(edges):
        chain: list[_Node] = [a]
        for row in range(boxes[a].row + 1, boxes[b].row):
            bend = (number, row)
            rows[row].append(bend)
            chain.append(bend)
        chains.append([*chain, b])
    return rows, chains


def _neighbours(
    chains: list[list[_Node]],
) -> tuple[dict[_Node, list[_Node]], dict[_Node, list[_Node]]]:
    above: dict[_Node, list[_Node]] = {}
    below: dict[_Node, list[_Node]] = {}
    for chain in chains:
        for a, b in itertools.pairwise(chain):
            if a != b:
                above.setdefault(b, []).append(a)
                below.setdefault(a, []).append(b)
    return above, below


def _order(rows: list[list[_Node]], chains: list[list[_Node]]) -> None:
    """Order each row by the median position of the neighbours, down and up in turn."""
    above, below = _neighbours(chains)
    for sweep in range(SWEEPS):
        near, order = (above, rows[1:]) if sweep % 2 == 0 else (below, rows[-2::-1])
        position = {node: index for row in rows for index, node in enumerate(row)}
        for row in order:
            keys = {
                node: _median([position[other] for other in near.get(node, ())], position[node])
                for node in row
            }
            row.sort(key=keys.__getitem__)
            position.update({node: index for index, node in enumerate(row)})


def _median(positions: list[int], fallback: float) -> float:
    if not positions:
        return fallback
    ordered = sorted(positions)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _place(
    rows: list[list[_Node]], chains: list[list[_Node]], boxes: dict[str, Box]
) -> dict[_Node, float]:
    """Give each node a place in its row, near its neighbours and apart from the next."""
    above, below = _neighbours(chains)
    width = {
        node: boxes[node].width if isinstance(node, str) else 6.0 for row in rows for node in row
    }
    places: dict[_Node, float] = {}
    for row in rows:
        x = 0.0
        for node in row:
            places[node] = x + width[node] / 2
            x += width[node] + NODE_GAP
    for sweep in range(SWEEPS):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = [
                _mean([places[other] for other in near.get(node, ())], places[node]) for node in row
            ]
            _spread(row, wanted, width, places)
    return places


def _spread(
    row: list[_Node], wanted: list[float], width: dict[_Node, float], places: dict[_Node, float]
) -> None:
    """Put a row where it wants to be, keeping order and gaps: blocks that meet move as one."""
    blocks: list[
        tuple[float, float, list[tuple[_Node, float]]]
    ] = []  # sum of wishes, offset, members
    for node, wish in zip(row, wanted, strict=True):
        half = width[node] / 2
        members, total, length = [(node, half)], wish - half, width[node]
        while blocks and _left(blocks[-1]) + blocks[-1][1] + NODE_GAP > total / len(members):
            before_total, before_length, before = blocks.pop()
            shift = before_length + NODE_GAP
            total = before_total + total - shift * len(members)
            members = [*before, *((member, offset + shift) for member, offset in members)]
            length += shift
        blocks.append((total, length, members))
    for block in blocks:
        left = _left(block)
        for node, offset in block[2]:
            places[node] = left + offset


def _left(block: tuple[float, float, list[tuple[_Node, float]]]) -> float:
    return block[0] / len(block[2])


def _mean(values: list[float], fallback: float) -> float:
    return sum(values) / len(values) if values else fallback


def _bands(boxes: dict[str, Box], count: int) -> list[tuple[float, float]]:
    """Return from where to where each row reaches."""
    tallest = [0.0] * count
    for box in boxes.values():
        tallest[box.row] = max(tallest[box.row], box.height)
    bands, y = [], 0.0
    for height in tallest:
        bands.append((y, y + height))
        y += height + ROW_GAP
    return bands


def _points(
    node: _Node,
    places: dict[_Node, float],
    boxes: dict[str, Box],
    bands: list[tuple[float, float]],
) -> list[tuple[float, float]]:
    """Return where an edge goes at a node: through a row that it passes straight down, past those that stand in it."""
    x = places[node]
    if isinstance(node, str):
        return [(x, boxes[node].y)]
    assert isinstance(node, tuple)
    top, bottom = bands[node[1]]
    return [(x, top), (x, bottom)]


def _fit(drawing: Drawing, margin: float = 24.0) -> None:
    """Move everything to the upper left and measure the whole."""
    boxes = drawing.boxes.values()
    lefts = [box.x - box.width / 2 for box in boxes] + [x for way in drawing.ways for x, _ in way]
    shift = margin - min(lefts, default=0.0)
    for box in boxes:
        box.x += shift
        box.y += margin
    drawing.ways = [[(x + shift, y + margin) for x, y in way] for way in drawing.ways]
    rights = [box.x + box.width / 2 for box in boxes] + [x for way in drawing.ways for x, _ in way]
    drawing.width = max(rights, default=0.0) + margin
    drawing.height = max((box.y + box.height / 2 for box in boxes), default=0.0) + margin
