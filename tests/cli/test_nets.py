"""``petra check`` and ``petra graph`` about nets: those of playbooks, and bare ones."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from texts import workflow

from petra.cli import petra
from petra.net import Net, Transition, read_pnml, write_pnml

STUCK = workflow(
    """
    - {step: s, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
    - {step: a, tool: {kind: noop}, next: {arcs: [{step: j}]}}
    - {step: b, tool: {kind: noop}}
    - {step: j, spec: {join: {}}, tool: {kind: noop}}
    """
)
GOOD = STUCK.replace("{step: b, tool: {kind: noop}}", "{step: b, tool: {kind: noop}, next: {arcs: [{step: j}]}}")  # fmt: skip


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(petra, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def net(*transitions: str, places: str = "i p q o") -> str:
    listed = [Transition.of(f"t{n}", arcs) for n, arcs in enumerate(transitions)]
    return write_pnml(Net.of("net", places=places, transitions=listed, initial={"i": 1}))


SOUND = net("i -> p", "p -> q", "q -> o")
UNSOUND = net("i -> p", "i -> q", "p + q -> o")


@pytest.mark.spec("S19")
def test_a_playbook_that_gets_stuck_is_an_error(tmp_path: Path) -> None:
    result = run("check", written(tmp_path, "x.yaml", STUCK))
    assert result.exit_code == 1
    assert "a branch can end at 'b' (line 7) without reaching it" in result.output
    assert "[P301]" in result.output


@pytest.mark.spec("S19")
def test_a_playbook_that_cannot_get_stuck_is_proved_sound(tmp_path: Path) -> None:
    result = run("check", written(tmp_path, "x.yaml", GOOD))
    assert result.exit_code == 0
    assert result.output.endswith("no problems, proved sound\n")


@pytest.mark.spec("S19")
def test_json_says_how_the_verdict_came_about(tmp_path: Path) -> None:
    result = run("check", written(tmp_path, "x.yaml", STUCK), "-o", "json")
    (found,) = json.loads(result.stdout)["files"]
    assert found["soundness"]["verdict"] == "unsound"
    assert found["soundness"]["counterexample"][:2] == ["s.start", "s.done:a+b"]
    assert found["soundness"]["states"] > 0


def test_a_bare_net_gets_the_same_verdicts(tmp_path: Path) -> None:
    good, bad = written(tmp_path, "g.pnml", SOUND), written(tmp_path, "b.pnml", UNSOUND)
    assert run("check", good).output == f"✓ {good}: sound\n"
    result = run("check", bad)
    assert result.exit_code == 1
    assert "unsound: after t0 nothing can fire" in result.output
    (found,) = json.loads(run("check", bad, "-o", "json").stdout)["files"]
    assert found["soundness"]["counterexample"] == ["t0"]


def test_final_markings_are_given_or_lie_beside_the_net(tmp_path: Path) -> None:
    path = written(tmp_path, "x.pnml", net("i -> p", "i -> q", places="i p q"))
    assert "not-a-workflow-net" in run("check", path).output
    final = written(tmp_path, "elsewhere.json", '{"final": [{"p": 1}, {"q": 1}]}')
    assert run("check", path, "--final", final).exit_code == 0
    written(tmp_path, "x.final.json", '{"final": [{"p": 1}, {"q": 1}]}')
    assert run("check", path).exit_code == 0


def test_a_folder_of_nets_is_summed_up(tmp_path: Path) -> None:
    written(tmp_path, "a.pnml", SOUND)
    written(tmp_path, "b.pnml", UNSOUND)
    written(tmp_path, "c.pnml", "<pnml>")
    result = run("check", tmp_path)
    assert result.exit_code == 1
    assert "3 nets: 1 sound, 1 unreadable, 1 unsound; " in result.output


def test_a_net_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    assert run("check", tmp_path / "nowhere.pnml").exit_code == 1
    result = run("check", tmp_path / "nowhere.pnml", "-o", "json")
    (found,) = json.loads(result.stdout)["files"]
    assert "No such file" in found["problems"][0]["message"]


@pytest.mark.parametrize("view", [[], ["--net"]], ids=["steps", "net"])
@pytest.mark.parametrize("form", ["svg", "pnml", "mermaid", "dot"])
def test_every_view_is_drawn_in_every_format(tmp_path: Path, form: str, view: list[str]) -> None:
    drawn = run("graph", written(tmp_path, "x.yaml", GOOD), "-f", form, *view).stdout
    assert all(name in drawn for name in "sabj")
    match form:
        case "svg":
            shapes = {element.tag.rpartition("}")[2] for element in ET.fromstring(drawn).iter()}
            assert {"svg", "path", "rect", "text"} <= shapes
        case "pnml":
            assert read_pnml(drawn).places
        case "mermaid":
            assert drawn.startswith("flowchart TD\n")
        case _:
            assert drawn.startswith("digraph ")
            assert drawn.endswith("}\n")


def test_a_net_is_drawn_as_it_is(tmp_path: Path) -> None:
    drawn = run("graph", written(tmp_path, "x.pnml", SOUND), "-f", "mermaid").stdout
    assert 'p0(("i · ●"))' in drawn


def test_a_circle_and_a_loop_can_be_drawn(tmp_path: Path) -> None:
    text = workflow(
        """
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ ctx.x < 1 }}"}, {step: b}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ ctx.y }}"}, {step: c}]}}
        - {step: c, tool: {kind: noop}}
        """
    )
    path = written(tmp_path, "x.yaml", text)
    assert ET.fromstring(run("graph", path, "-f", "svg").stdout) is not None
    assert run("graph", path, "-f", "svg").stdout == run("graph", path, "-f", "svg").stdout
