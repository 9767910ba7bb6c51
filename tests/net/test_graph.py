"""The graph that a page draws: arcs go from border to border, so that their tips can be seen."""

from pathlib import Path
from typing import Any

import pytest
from support.examples import EXAMPLES, example_playbooks

from petra.net.compile import compile as compiled_net
from petra.net.graph import net_graph, steps_graph
from petra.playbook import read

PLAYBOOKS = [path for path in example_playbooks() if path.parent == EXAMPLES]


def _outside(node: dict[str, Any], point: list[float]) -> bool:
    """Whether a point is not inside a box; its border is outside."""
    x, y = point
    across = node["x"] < x < node["x"] + node["w"]
    return not (across and node["y"] < y < node["y"] + node["h"])


def _ends(graph: dict[str, Any]) -> None:
    nodes = {node["id"]: node for node in graph["nodes"]}
    for arc in graph["arcs"]:
        source, target = nodes[arc["from"]], nodes[arc["to"]]
        assert _outside(source, arc["points"][0]), arc
        assert _outside(target, arc["points"][-1]), arc


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_arcs_end_at_the_border_of_their_nodes(path: Path) -> None:
    reading = read(path.read_text())
    if reading.playbook is None:
        pytest.skip("it is no playbook")
    _ends(steps_graph(reading))
    _ends(net_graph(compiled_net(reading.checked())))
