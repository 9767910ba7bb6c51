"""Pictures: plain SVG that any renderer shows, in which nothing overlaps and nothing is clipped."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from texts import corpus, model, workflow

from petra.cli.graph import traced
from petra.export import ExportedLog
from petra.folder_files import read_file
from petra.net.compile import compile as compiled
from petra.net.draw import Trace, net_svg, steps_svg
from petra.net.graph import net_graph, steps_graph
from petra.net.layout import arrange
from petra.net.svg import LABEL_MAX, STATES, short
from petra.testing import Simulation

SVG = "{http://www.w3.org/2000/svg}"
PAINTED = {"rect", "circle", "path", "polygon", "text"}
PLAYBOOKS = [path for path in corpus() if "examples" in path.parts]


def shapes(text: str) -> list[ET.Element]:
    return [one for one in ET.fromstring(text).iter() if one.tag.removeprefix(SVG) in PAINTED]


@pytest.mark.parametrize("path", PLAYBOOKS[::4], ids=lambda path: path.stem)
def test_every_shape_says_its_colours_and_stays_inside(path: Path) -> None:
    playbook = read_file(path).checked()
    for text in (steps_svg(playbook), net_svg(compiled(playbook).net)):
        root = ET.fromstring(text)
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        for one in shapes(text):
            assert {"fill", "stroke"} <= one.attrib.keys(), ET.tostring(one)
            if one.tag == f"{SVG}text":
                half = len(one.text or "") * float(one.attrib["font-size"]) * 0.3
                assert half <= float(one.attrib["x"]) <= width - half, one.text
                assert 0 <= float(one.attrib["y"]) <= height
        assert "light-dark" not in text
        assert "paint-order" not in text
        assert "dominant-baseline" not in text


def test_labels_of_arcs_overlap_neither_each_other_nor_a_step() -> None:
    arcs = ", ".join(
        f'{{step: s{n}, when: "{{{{ ctx.condition_number_{n} }}}}"}}' for n in range(8)
    )
    steps = "\n".join(f"- {{step: s{n}, tool: {{kind: noop}}}}" for n in range(8))
    text = steps_svg(model(workflow(f"- {{step: a, next: {{arcs: [{arcs}]}}}}\n{steps}")))
    written = [
        one for one in shapes(text) if one.tag == f"{SVG}text" and one.get("class") != "halo"
    ]
    spans = [
        (float(one.attrib["y"]), float(one.attrib["x"]), len(one.text or "") * 5.0)
        for one in written
    ]
    for (y, x, wide), (other_y, other_x, other_wide) in itertools.combinations(spans, 2):
        if abs(y - other_y) < 10:
            assert abs(x - other_x) >= (wide + other_wide) / 2


def test_compensations_are_drawn() -> None:
    text = steps_svg(
        model(
            workflow(
                "- {step: pay, tool: {kind: noop}, spec: {compensate: {tool: {kind: http, url: x}}}}"
            )
        )
    )
    assert "undo pay" in text


def test_an_execution_is_drawn_over_its_playbook() -> None:
    playbook = model(
        workflow(
            """
            - step: a
              next: {arcs: [{step: b, copies: 3}, {step: never}]}
            - step: b
              tool: {kind: wait, signal: {name: go}}
            - step: never
              tool: {kind: noop}
            """
        )
    )
    world = Simulation(playbook)
    world.start({})
    world.run()
    trace = traced(ExportedLog(world.root.id, playbook, world.root.log))
    assert trace.steps == {"a": ("done", 1), "b": ("waiting", 3)}
    assert trace.arcs == {("a", 0): 3}
    text = steps_svg(playbook, trace)
    assert "◷ b ×3" in text
    assert 'class="unseen"' in text
    assert set(STATES) >= {state for state, _ in trace.steps.values()}


def test_what_is_drawn_is_the_same_each_time_and_odd_names_do_no_harm() -> None:
    odd = model(workflow("- {step: 'a<b>&\"c', tool: {kind: noop}}"))
    assert steps_svg(odd, Trace()) == steps_svg(odd, Trace())
    assert ET.fromstring(steps_svg(odd)) is not None
    assert short("x" * 100) == "x" * (LABEL_MAX - 1) + "…"
    assert short("a\x00b") == "a b"


def test_boxes_of_a_layout_keep_apart() -> None:
    sizes = {str(n): (30.0 + 7 * n, 20.0) for n in range(12)}
    edges = [(str(a), str(b)) for a, b in itertools.combinations(range(12), 2) if (a * b) % 5 == 1]
    boxes = list(arrange(sizes, edges).boxes.values())
    for one, other in itertools.combinations(boxes, 2):
        if one.row == other.row:
            assert abs(one.x - other.x) >= (one.width + other.width) / 2 - 0.01


def crosses(start: list[float], end: list[float], node: dict[str, Any]) -> bool:
    """Say whether a straight line goes through the box of a node (Liang and Barsky)."""
    (x, y), (dx, dy) = start, (end[0] - start[0], end[1] - start[1])
    first, last = 0.0, 1.0
    for towards, room in (
        (-dx, x - node["x"]), (dx, node["x"] + node["w"] - x), (-dy, y - node["y"]), (dy, node["y"] + node["h"] - y)
    ):  # fmt: skip
        if towards == 0 and room <= 0:
            return False
        if towards < 0:
            first = max(first, room / towards)
        elif towards > 0:
            last = min(last, room / towards)
    return last - first > 1e-6


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_no_arc_goes_through_a_node_that_it_passes(path: Path) -> None:
    reading = read_file(path)
    for graph in (steps_graph(reading), net_graph(compiled(reading.checked()))):
        for arc in graph["arcs"]:
            for node in graph["nodes"]:
                if node["id"] in (arc["from"], arc["to"]):
                    continue
                for start, end in itertools.pairwise(arc["points"]):
                    told = f"{arc['from']} to {arc['to']} goes through {node['id']}"
                    assert not crosses(start, end, node), told
