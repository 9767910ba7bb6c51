"""A playbook, or its net, as a graph with places on a page: what a page draws without laying anything out itself.

The same definition always has the same graph: positions follow from the text alone.
"""

from __future__ import annotations

from typing import Any, Final

from petra.net.compile import Compiled
from petra.net.draw import net_edges
from petra.net.layout import Drawing, arrange
from petra.playbook.draw import details, edges_of, form_of
from petra.playbook.model import Playbook, Step
from petra.playbook.read import Reading

WIDTH, HEIGHT = 180.0, 56.0
"""The size of a node of a step."""
PLACE, BAR = (28.0, 28.0), (120.0, 22.0)
START, FINALLY = "▸", "◂"
_DOT: Final = (16.0, 16.0)


def steps_graph(reading: Reading) -> dict[str, Any]:
    """Return the steps of a playbook and the arcs between them, with the lines they are written in."""
    playbook = reading.playbook
    assert playbook is not None, "there is something to draw"
    sizes = {START: _DOT, **{step.step: (WIDTH, HEIGHT) for step in playbook.workflow}}
    edges = [(START, playbook.entry), *((edge.source, edge.target) for edge in edges_of(playbook))]
    final = playbook.executor.spec.final_step
    if final is not None:
        sizes[FINALLY] = _DOT
        edges.append((FINALLY, final))
    drawing = arrange(sizes, edges)
    numbers = {step.step: n for n, step in enumerate(playbook.workflow)}
    nodes = [_step_node(drawing, reading, step, numbers[step.step]) for step in playbook.workflow]
    nodes += [_node(drawing, name, kind="dot") for name in (START, FINALLY) if name in sizes]
    arcs = [_entry_arc(drawing, playbook.entry)]
    arcs += _step_arcs(drawing, reading, playbook, numbers)
    if final is not None:
        arcs.append({**_arc(drawing, len(edges) - 1, FINALLY, final), "dashed": True})
    return _graph("step", drawing, nodes, arcs)


def _step_node(drawing: Drawing, reading: Reading, step: Step, number: int) -> dict[str, Any]:
    join = step.spec.join
    return {
        **_node(drawing, step.step, kind=form_of(step)),
        "step": step.step,
        "label": step.step,
        "details": details(step),
        "desc": step.desc or "",
        "tools": list(dict.fromkeys(task.kind for task in step.tool)),
        "loop": step.loop is not None,
        "join": (join.mode if isinstance(join.mode, str) else "expression") if join else None,
        "compensates": step.spec.compensate is not None,
        "line": reading.at("workflow", number).line,
    }


def _step_arcs(
    drawing: Drawing, reading: Reading, playbook: Playbook, numbers: dict[str, int]
) -> list[dict[str, Any]]:
    arcs = []
    for place, edge in enumerate(edges_of(playbook), start=1):
        n = numbers[edge.source]
        arc = playbook.workflow[n].arcs[edge.arc]
        arcs.append(
            {
                **_arc(drawing, place, edge.source, edge.target),
                "index": edge.arc,
                "label": edge.label,
                "guard": arc.when if isinstance(arc.when, str) else None,
                "foreach": arc.foreach is not None,
                "line": reading.at("workflow", n, "next", "arcs", edge.arc).line,
            }
        )
    return arcs


def _entry_arc(drawing: Drawing, entry: str) -> dict[str, Any]:
    return _arc(drawing, 0, START, entry)


def net_graph(compiled: Compiled) -> dict[str, Any]:
    """Return the places and transitions of a net."""
    net = compiled.net
    ordered = [*net.initial, *(place for place in net.places if place not in net.initial)]
    sizes = {f"p:{name}": PLACE for name in ordered} | {
        f"t:{name}": BAR for name in net.transitions
    }
    lines = [edge for transition in net.transitions.values() for edge in net_edges(transition, net)]
    drawing = arrange(sizes, [(source, target) for source, target, _, _ in lines])
    nodes = [
        {
            **_node(drawing, f"p:{name}", kind="place"),
            "label": net.places[name].label or name,
            "tokens": net.initial.get(name, 0),
            "step": name.partition(".")[0],
        }
        for name in ordered
    ]
    for name, transition in net.transitions.items():
        origin = compiled.origin[name]
        nodes.append(
            {
                **_node(drawing, f"t:{name}", kind="transition"),
                "label": transition.label or name,
                "step": origin.step,
                "arcs": list(origin.arcs),
            }
        )
    arcs = [
        {**_arc(drawing, n, source, target), "label": label, "dashed": dashed}
        for n, (source, target, label, dashed) in enumerate(lines)
    ]
    return _graph("net", drawing, nodes, arcs)


def _node(drawing: Drawing, name: str, *, kind: str) -> dict[str, Any]:
    """Return a node with its upper left corner and its size."""
    box = drawing.boxes[name]
    x, y = box.x - box.width / 2, box.y - box.height / 2
    return {
        "id": name, "kind": kind, "x": _px(x), "y": _px(y), "w": _px(box.width), "h": _px(box.height)
    }  # fmt: skip


def _arc(drawing: Drawing, number: int, source: str, target: str) -> dict[str, Any]:
    points = [[_px(x), _px(y)] for x, y in drawing.trimmed(number, source, target)]
    return {
        "from": source,
        "to": target,
        "points": points,
        "backward": number in drawing.backward,
    }


def _px(value: float) -> float:
    return round(value, 1)


def _graph(
    lens: str, drawing: Drawing, nodes: list[dict[str, Any]], arcs: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "lens": lens,
        "width": _px(drawing.width),
        "height": _px(drawing.height),
        "nodes": nodes,
        "arcs": arcs,
    }
