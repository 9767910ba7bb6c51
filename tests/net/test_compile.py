"""A playbook becomes a net, and the net tells its author what cannot work."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.examples import example_playbooks
from texts import workflow
from thoroughness import some

from petra.folder_files import read_file
from petra.net import Compiled, Proof, compile, prove, write_pnml  # noqa: A004
from petra.net.guards import Boundary, decided, is_handler
from petra.net.pnml import read_pnml
from petra.net.prove import search
from petra.playbook import Reading, read
from petra.playbook.problems import headline

ROOT = Path(__file__).parents[2]
PLAYBOOKS = example_playbooks() + sorted((ROOT / "tests/playbook/corpus").rglob("*.yaml"))


def reading(steps: str) -> Reading:
    found = read(workflow(steps), "x.yaml")
    assert found.ok, [headline(problem, "x.yaml") for problem in found.problems]
    return found


def compiled(steps: str) -> Compiled:
    return compile(reading(steps).checked())


def proof(steps: str) -> Proof:
    return prove(reading(steps))


def found(steps: str) -> list[tuple[str, str]]:
    return [(problem.code, problem.severity) for problem in proof(steps).problems]


def task(name: str, *targets: str, more: str = "", arcs: str = "") -> str:
    listed = arcs or ", ".join(f"{{step: {target}}}" for target in targets)
    leads = f", next: {{arcs: [{listed}]}}" if listed else ""
    return f"- {{step: {name}, tool: {{kind: noop}}{more}{leads}}}\n"


def split(name: str, *targets: str, arcs: str = "") -> str:
    listed = arcs or ", ".join(f"{{step: {target}}}" for target in targets)
    return f"- {{step: {name}, next: {{spec: {{mode: inclusive}}, arcs: [{listed}]}}}}\n"


def join(name: str, spec: str = "", *targets: str) -> str:
    return task(name, *targets, more=f", spec: {{join: {{{spec}}}}}")


TWO = split("s", "a", "b") + task("a", "j") + task("b", "j")
GUARD = 'when: "{{ ctx.x }}"'


@pytest.mark.spec("S2")
def test_a_step_has_two_places_and_its_transitions() -> None:
    net = compiled(task("a", "b") + task("b")).net
    assert set(net.places) == {"a.ready", "a.running", "b.ready", "b.running", "end"}
    assert {one for one in net.transitions if one.startswith("a.")} == {
        "a.start",
        "a.done",
        "a.failed:fails the execution",
    }
    assert dict(net.transitions["a.done"].inputs) == {"a.running": 1}
    assert dict(net.transitions["a.done"].outputs) == {"b.ready": 1}


@pytest.mark.spec("S2", "S7")
def test_an_unhandled_failure_empties_every_place() -> None:
    net = compiled(TWO + join("j")).net
    fails = net.transitions["a.failed:fails the execution"]
    assert set(fails.resets) == set(net.places)
    assert dict(fails.outputs) == {"end": 1}


@pytest.mark.spec("S19")
def test_every_place_and_transition_leads_back_to_a_step_and_its_arcs() -> None:
    net = compiled(task("a", arcs=f"{{step: b, {GUARD}}}, {{step: c}}") + task("b") + task("c"))
    assert set(net.origin) == {*net.net.places, *net.net.transitions}
    assert net.origin["a.done:c"].arcs == (1,)
    assert not net.origin["a.done:c"].certain
    assert net.origin["b.done"].certain


@pytest.mark.spec("S7")
@pytest.mark.parametrize(
    ("guard", "after_success", "after_failure", "handles"),
    [
        ("{{ event.status == 'error' }}", False, True, True),
        ("{{ event.name == 'step.done' }}", True, False, True),
        ("{{ event.status == 'error' and event.error.kind == 'x' }}", False, None, True),
        ("{{ not (event.status == 'ok') or ctx.x }}", None, True, True),
        ("{{ ctx._last_error.code }}", None, None, True),
        ("{{ ctx.x }}", None, None, False),
        ("{{ true }}", True, True, False),
        (False, False, False, False),
    ],
)
def test_the_event_decides_some_guards(
    guard: str | bool,  # noqa: FBT001
    after_success: bool | None,  # noqa: FBT001
    after_failure: bool | None,  # noqa: FBT001
    handles: bool,  # noqa: FBT001
) -> None:
    assert decided(guard, Boundary(ok=True, name="step.done")) is after_success
    assert decided(guard, Boundary(ok=False, name="step.failed")) is after_failure
    assert is_handler(guard) is handles


@pytest.mark.spec("S7", "S8", "S13", "S19")
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(TWO + join("j"), id="all branches arrive"),
        pytest.param(
            task("a", arcs=f"{{step: b, {GUARD}}}, {{step: c}}") + task("b", "j") + task("c", "j") + join("j"),
            id="a token in no group passes a join alone",
        ),
        pytest.param(
            split("s", arcs=f"{{step: a, {GUARD}}}, {{step: b}}") + task("a", "j") + task("b", "j") + join("j"),
            id="a branch that was not made is not waited for",
        ),
        pytest.param(
            task("s", arcs='{step: a, foreach: "{{ workload.xs }}"}') + task("a", "j") + join("j"),
            id="a list of any length",
        ),
        pytest.param(
            split("s", "a", "b") + task("a", "j") + task("b") + join("j", "on_unreachable: proceed"),
            id="a join that proceeds",
        ),
        pytest.param(
            split("s", "a", "b")
            + task("a", "j")
            + task("b")
            + task("j", arcs="{step: k, when: \"{{ event.status == 'error' }}\"}, {step: k}", more=", spec: {join: {}}")
            + task("k"),
            id="a join that handles its failure",
        ),
        pytest.param(TWO + join("j", "mode: any"), id="the first branch wins"),
        pytest.param(TWO + join("j", "mode: any, on_early_complete: abandon"), id="the others run on"),
        pytest.param(TWO + join("j", "mode: arcs"), id="one token per arc"),
        pytest.param(
            split("s", arcs=f"{{step: a, {GUARD}}}, {{step: b}}") + task("a", "j") + task("b", "j") + join("j", "mode: or"),
            id="an or-join takes what comes",
        ),
        pytest.param(
            split("s", "a", "b") + task("a", more=", spec: {cancels: [b]}") + task("b", more=", spec: {cancels: [a]}"),
            id="two branches that cancel each other",
        ),
        pytest.param(
            split("s", "a", "b") + task("a", more=", spec: {terminate: true}") + task("b", "b2") + task("b2"),
            id="a branch that ends the execution",
        ),
        pytest.param(
            task("a", "b") + task("b", arcs=f"{{step: a, {GUARD}}}, {{step: c}}") + task("c"),
            id="a circle with a way out",
        ),
        pytest.param(
            task("a", "b") + task("b", more=', spec: {policy: {admit: {rules: [{when: "{{ ctx.x }}", then: {allow: true}}]}}}'),
            id="a gate may stay shut",
        ),
        pytest.param(
            split("s", "a", "b")
            + task("a", "c")
            + task("b", "c")
            + task("c", more=", spec: {policy: {admit: {once: true}}}"),
            id="a step that runs once",
        ),
        pytest.param(
            task("a", arcs='{step: b, foreach: "{{ args.links }}"}') + task("b", arcs=f"{{step: a, {GUARD}}}, {{step: c}}") + task("c"),
            id="recursion over lists",
        ),
        pytest.param(
            "- {step: a, next: {arcs: [{step: b, copies: 3}]}}\n" + task("b", "j") + join("j", "mode: {m_of_n: 2}"),
            id="a quorum of copies",
        ),
    ],
)  # fmt: skip
def test_an_idiom_is_proved_sound(steps: str) -> None:
    result = proof(steps)
    assert [headline(problem, "x.yaml") for problem in result.problems] == []
    assert result.verdict == "sound"


@pytest.mark.spec("S1", "S8", "S19")
@pytest.mark.parametrize(
    ("steps", "problems"),
    [
        pytest.param(
            split("s", "a", "b") + task("a", "j") + task("b") + join("j"),
            [("P301", "error")],
            id="a branch always ends before the join",
        ),
        pytest.param(
            split("s", "a", "b") + task("a", "j") + task("b", arcs=f"{{step: j, {GUARD}}}, {{step: c}}") + task("c") + join("j"),
            [("P301", "warning")],
            id="a branch may end before the join",
        ),
        pytest.param(
            task("a", arcs=f"{{step: b, {GUARD}}}, {{step: c}}") + task("b", "j") + task("c", "j") + join("j", "mode: arcs"),
            [("P301", "error")],
            id="one of two ways into a join of both",
        ),
        pytest.param(
            split("r", "s", "y") + split("s", "a", "b") + task("a", "j") + task("b") + join("j", "", "k") + task("y", "k") + join("k", "mode: any"),
            [("P301", "error")],
            id="a join fails although the race around it may be over first",
        ),
        pytest.param(TWO + join("j", "mode: {m_of_n: 3}"), [("P301", "error")], id="a quorum too large"),
        pytest.param(
            split("s", "a", "b") + task("a", "j", more=", spec: {cancels: [b]}") + task("b", "j") + join("j"),
            [("P301", "error")],
            id="a branch withdraws the other",
        ),
        pytest.param(
            split("s", "a", "b") + task("a", "a2") + task("a2") + task("b", "s"),
            [("P302", "error")],
            id="every round leaves a branch behind",
        ),
        pytest.param(
            split("s", "a", "b") + task("a") + task("b", arcs=f"{{step: s, {GUARD}}}, {{step: a}}"),
            [("P302", "warning")],
            id="a round may leave a branch behind",
        ),
        pytest.param(task("a", "b") + task("b", "a"), [("P303", "error")], id="a circle"),
        pytest.param(
            task("z", arcs=f"{{step: a, {GUARD}}}, {{step: c}}") + task("a", "b") + task("b", "a") + task("c"),
            [("P303", "warning")],
            id="a circle behind a guard",
        ),
        pytest.param(task("a", "b", "c") + task("b") + task("c"), [("P304", "warning")], id="an arc never taken"),
        pytest.param(
            task("a", arcs="{step: b, when: \"{{ event.status == 'error' }}\"}, {step: c}") + task("b", "d") + task("d", "b") + task("c"),
            [("P303", "error")],
            id="a failure leads into a circle, and no guard is needed",
        ),
    ],
)  # fmt: skip
def test_a_defect_is_found(steps: str, problems: list[tuple[str, str]]) -> None:
    assert found(steps) == problems


@pytest.mark.spec("S19")
def test_the_counterexample_is_told_in_steps_and_lines() -> None:
    (problem,) = proof(split("s", "a", "b") + task("a", "j") + task("b") + join("j")).problems
    assert headline(problem, "x.yaml").startswith("x.yaml:8:")
    assert problem.message == (
        "after s → a → b the join 'j' cannot complete, and fails: "
        "a branch can end at 'b' (line 7) without reaching it"
    )


@pytest.mark.spec("S19")
def test_the_counterexample_is_a_run_of_the_net_that_comes_to_rest() -> None:
    source = split("s", "a", "b") + task("a", "j") + task("b") + join("j")
    net = compiled(source).net
    marking = dict(net.initial)
    for name in proof(source).counterexample:
        one = net.transitions[name]
        for place, count in one.inputs.items():
            assert marking.get(place, 0) >= count
            marking[place] -= count
        for place, count in one.outputs.items():
            marking[place] = marking.get(place, 0) + count
    assert marking["j.ready"] == 1


@pytest.mark.spec("S19")
def test_what_was_not_decided_is_a_note() -> None:
    result = prove(reading(TWO + join("j")), limit=4)
    assert (result.verdict, result.problems) == ("undecided", ())
    assert result.note == "no violation up to 4 markings; the rest is open"


@pytest.mark.spec("S8")
def test_many_guarded_branches_are_decided_one_by_one() -> None:
    names = [f"b{i}" for i in range(12)]
    arcs = ", ".join(f'{{step: {name}, when: "{{{{ ctx.{name} }}}}"}}' for name in names)
    steps = split("s", arcs=arcs) + "".join(task(name, "j") for name in names) + join("j")
    assert len(compiled(steps).net.transitions) < 200
    assert proof(steps).verdict == "sound"


@pytest.mark.spec("S12")
def test_the_final_step_runs_after_the_end() -> None:
    text = workflow(task("a") + task("f")).replace(
        "workflow:", "executor: {spec: {final_step: f}}\nworkflow:", 1
    )
    net = compile(read(text).checked()).net
    assert dict(net.transitions["f.finally"].inputs) == {"end": 1}
    assert dict(net.transitions["f.done"].outputs) == {"closed": 1}
    assert prove(read(text)).verdict == "sound"


@pytest.mark.spec("S19")
@pytest.mark.parametrize("path", some(PLAYBOOKS), ids=lambda path: path.stem)
def test_every_example_is_proved_sound_and_survives_pnml(path: Path) -> None:
    playbook = read_file(path)
    result = prove(playbook)
    assert [headline(problem, path.name) for problem in result.problems] == []
    assert result.verdict == "sound"
    net = compile(playbook.checked()).net
    net.validate()
    assert read_pnml(write_pnml(net)).digest() == net.digest()


@pytest.mark.slow
def test_the_search_of_every_order_agrees() -> None:
    for path in PLAYBOOKS:
        net = compile(read_file(path).checked())
        whole = search(net, 3_000, every_order=True)
        if whole.complete:
            assert not whole.doomed, path
