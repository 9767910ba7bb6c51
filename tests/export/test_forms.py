"""The forms, without other programs: what is in them, and that nothing is lost."""

from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree as ET

import msgspec
import pytest
from export.logs import example_logs
from texts import model, workflow

from petra.export import FORMS, PROFILES, ExportedLog
from petra.export.align import align
from petra.export.firings import firings
from petra.export.life import life, offered, step_runs
from petra.export.table import COLUMNS, table
from petra.export.xes import XesEvent, activities_xes, write
from petra.kernel import Record, State, verify
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.decide import decide
from petra.kernel.fork import fork
from petra.kernel.program import Program
from petra.kernel.replay import Ledger
from petra.net.compile import compile as compiled
from petra.playbook import read
from petra.testing import Simulation

NAMESPACE = "{http://www.xes-standard.org/}"


def one(pattern: str) -> ExportedLog:
    return example_logs(pattern)[0][1]


def test_a_json_export_still_proves_the_log() -> None:
    for name, log in example_logs("approval"):
        data = json.loads(FORMS["json"](log))
        records = msgspec.convert(data["records"], list[Record])
        assert len(records) == len(log.records)
        assert verify(log.execution, records) is None, name


def test_csv_has_a_row_per_step_run_with_its_three_moments() -> None:
    for name, log in example_logs():
        rows = list(csv.DictReader(io.StringIO(FORMS["csv"](log))))
        starts = [x for x in life(log.records) if isinstance(x.event, e.StepStarted)]
        assert len(rows) >= len(starts), name
        for row in rows:
            assert tuple(row) == COLUMNS
            if row["completed_utc"] and row["enabled_utc"]:
                assert row["enabled_utc"] <= row["started_utc"] <= row["completed_utc"], name


def test_a_cell_is_never_a_formula() -> None:
    log = one("hello")
    made = [
        msgspec.structs.replace(r, event=msgspec.structs.replace(r.event, step="=1+1"))
        if isinstance(r.event, e.StepStarted | e.StepEnded)
        else r
        for r in log.records
    ]
    rows = list(csv.DictReader(io.StringIO(FORMS["csv"](ExportedLog("x", log.playbook, made)))))
    assert {row["activity"] for row in rows} == {"'=1+1"}


def events_of(text: str) -> list[dict[str, str]]:
    trace = ET.fromstring(text).find(f"{NAMESPACE}trace")
    assert trace is not None
    return [
        {item.attrib["key"]: item.attrib["value"] for item in event}
        for event in trace.findall(f"{NAMESPACE}event")
    ]


@pytest.mark.parametrize("profile", list(PROFILES))
def test_times_of_a_trace_strictly_increase(profile: str) -> None:
    for name, log in example_logs("fan_out") + example_logs("approval"):
        times = [event["time:timestamp"] for event in events_of(PROFILES[profile](log))]
        assert times == sorted(set(times)), name


def test_every_activity_that_ended_began() -> None:
    for name, log in example_logs():
        began: set[str] = set()
        for event in events_of(FORMS["xes"](log)):
            if event["lifecycle:transition"] in ("start", "schedule"):
                began.add(event["concept:instance"])
            elif event["lifecycle:transition"] in ("complete", "withdraw"):
                assert event["concept:instance"] in began, name


def test_what_people_do_to_a_work_item_is_part_of_the_activity() -> None:
    found = {
        (event["lifecycle:transition"], event.get("org:resource"))
        for _, log in example_logs("approval")
        for event in events_of(FORMS["xes"](log))
    }
    assert "schedule" in {word for word, _ in found}
    assert any(word == "complete" and who for word, who in found)


def test_every_work_item_that_was_offered_is_an_object() -> None:
    asked = 0
    for name, log in example_logs():
        items = {item.id for moment in life(log.records) for item in offered(moment.event)}
        objects = json.loads(FORMS["ocel"](log))["objects"]
        found = {one["id"].removeprefix("item:") for one in objects if one["type"] == "work item"}
        assert found == items, name
        asked += len(items)
    assert asked > 20


def test_text_that_xml_cannot_hold_is_left_out() -> None:
    log = one("hello")
    event = XesEvent('a<b>&"c\x00\x1b\n', "complete", 1.0, 1, {"petra:x": "é\ud800"})
    (found,) = events_of(write(log, [event], "activities"))
    assert found["concept:name"] == 'a<b>&"c\n'
    assert found["petra:x"] == "é"


def test_every_event_of_an_ocel_log_has_an_object_and_every_object_a_type() -> None:
    for name, log in example_logs():
        data = json.loads(FORMS["ocel"](log))
        types = {one["name"] for one in data["objectTypes"]}
        objects = {one["id"]: one["type"] for one in data["objects"]}
        assert set(objects.values()) <= types, name
        assert len(data["events"]) == len(list(life(log.records))), name
        for event in data["events"]:
            related = [one["objectId"] for one in event["relationships"]]
            assert related, name
            assert set(related) <= objects.keys(), name


@pytest.mark.spec("S2")
def test_every_firing_of_the_examples_is_a_transition_of_the_exported_net() -> None:
    ended = 0
    for name, log in example_logs():
        net = compiled(log.playbook)
        wanted = list(firings(log, net))
        names = align(net, wanted, ended=log.status == "completed")
        assert names is not None, name
        ended += log.status == "completed"
    assert ended > 90


def test_one_branch_of_a_list_stands_for_all_of_them() -> None:
    log = next(log for name, log in example_logs("fan_out") if "every merge" in name)
    found = [
        event
        for event in events_of(PROFILES["firings"](log))
        if event["concept:name"] == "read_sales.start"
    ]
    assert [event["petra:stands_for"] for event in found] == ["3"]
    assert sum(run.step == "read_sales" for run in step_runs(log)) == 3


def test_the_branch_that_stands_for_all_is_one_that_the_join_took() -> None:
    book = read(
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: x}\nworkload: {items: [0, 1, 2]}\nworkflow:\n"
        "  - {step: fan, next: {arcs: [{step: work, foreach: '{{ workload.items }}', as: n}]}}\n"
        "  - step: work\n"
        "    next: {arcs: [{step: join, when: '{{ args.n > 0 }}', args: {n: '{{ args.n }}'}}, {step: lost}]}\n"
        "  - {step: lost, tool: {kind: noop}}\n"
        "  - {step: join, spec: {join: {of: fan, mode: any}}, tool: {kind: noop}}\n"
    ).checked()
    simulation = Simulation(book)
    simulation.start({})
    simulation.run()
    root = simulation.root
    assert root.state.terminal == "completed"
    net = compiled(book)
    wanted = list(firings(ExportedLog(root.id, book, root.log, "completed"), net))
    names = align(net, wanted, ended=False)
    assert names is not None
    assert ["join.start"] in [[name.partition(" #")[0] for name in found] for found in names]


def test_what_is_no_firing_of_the_net_is_said_to_be_none() -> None:
    book = model(
        workflow(
            """
            - {step: fan, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
            - {step: a, tool: {kind: wait, signal: {name: go}}, next: {arcs: [{step: join}]}}
            - {step: b, next: {arcs: [{step: join}]}}
            - {step: join, spec: {join: {on_unreachable: wait}}, tool: {kind: noop}}
            """
        )
    )
    world = Simulation(book)
    world.start({})
    world.run()
    world.send(world.root, c.Override(now=world.now, step="join", actor="ada"))
    log = ExportedLog(world.root.id, book, world.root.log, "completed")
    assert all(event["petra:off_net"] == "true" for event in events_of(PROFILES["firings"](log)))


def test_a_fork_is_exported_with_the_past_it_has() -> None:
    text = (
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: x}\nworkflow:\n"
        "  - {step: a, next: {arcs: [{step: b}]}}\n"
        "  - {step: b, tool: {kind: wait, signal: {name: go}}}\n"
    )
    program = Program(read(text).checked())
    origin = _begun(program, "one", [])
    made = fork("one", origin, len(origin), now=5.0)
    state, ledger = State(id="two"), Ledger("two")
    decision = decide(program, state, made)
    records = [
        ledger.record(event, 5.0, *marks)
        for event, marks in zip(decision.events, decision.markings, strict=True)
    ]
    again = fork("two", records, 1, now=6.0)
    nested = [
        Ledger("three").record(e.ExecutionForked(origin="two", at=1, past=again.past), 6.0, 0, 0)
    ]
    for log in (records, nested):
        found = [run.step for run in step_runs(ExportedLog("x", program.playbook, log))]
        assert found[:2] == ["a", "b"]
        assert (
            events_of(FORMS["xes"](ExportedLog("x", program.playbook, log)))[0]["concept:name"]
            == "a"
        )


def _begun(program: Program, execution: str, records: list[Record]) -> list[Record]:
    from petra.kernel import commands as c  # noqa: PLC0415

    state, ledger = State(id=execution), Ledger(execution)
    decision = decide(program, state, c.Start(now=1.0))
    return records + [
        ledger.record(event, 1.0, *marks)
        for event, marks in zip(decision.events, decision.markings, strict=True)
    ]


LOOP_OF_PEOPLE = """
- step: split
  next: {arcs: [{step: each, foreach: "{{ ['x', 'y'] }}", as: n}]}
- step: each
  loop: {in: "{{ [1, 2] }}", iterator: i}
  tool: {kind: human, title: Sure?}
"""


def _answered_by_people() -> ExportedLog:
    world = Simulation(model(workflow(LOOP_OF_PEOPLE)))
    world.start({})
    world.run()
    for number in range(4):
        item = next(one for one in world.root.state.items.values() if one.is_open)
        who = f"person-{number}"
        world.send(
            world.root,
            c.Act(
                now=world.now,
                item=item.id,
                act="complete",
                actor=who,
                roles=["*"],
                action="approve",
            ),
        )
        world.run()
    return ExportedLog(world.root.id, world.root.program.playbook, world.root.log, "completed")


def test_a_run_inside_a_fan_out_has_its_branch_in_the_table() -> None:
    rows = list(csv.DictReader(io.StringIO(table(_answered_by_people()))))
    assert sorted(row["branch"] for row in rows if row["activity"] == "each") == ["0", "1"]
    assert [row["branch"] for row in rows if row["activity"] == "split"] == [""]


def test_who_decided_what_in_a_loop_over_people_is_in_the_trace() -> None:
    text = activities_xes(_answered_by_people())
    assert text.count('key="petra:action" value="approve"') == 4
    assert {f'value="person-{n}"' in text for n in range(4)} == {True}


def test_the_tries_and_the_people_of_a_loop_are_in_the_table_and_the_trace() -> None:
    log = _answered_by_people()
    rows = [row for row in csv.DictReader(io.StringIO(table(log))) if row["activity"] == "each"]
    assert [row["attempts"] for row in rows] == ["2", "2"]
    people = {name for row in rows for name in row["resource"].split(", ")}
    assert people == {f"person-{number}" for number in range(4)}
    assert activities_xes(log).count('key="petra:attempts" value="2"') == 2


RETRIED = """
- step: many
  loop: {in: "{{ [1, 2] }}", iterator: i}
  tool: {kind: python, code: x, spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, delay: 0}}]}}}
  next: {arcs: [{step: asked}]}
- step: asked
  tool: {kind: human, title: x, due_s: 5, spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}}]}}}
  next: {arcs: [{step: end, when: "{{ event.status == 'error' }}"}]}
- step: end
  tool: {kind: noop}
"""


def test_every_try_counts_wherever_it_was_made() -> None:
    script = {"many": [{"error": "no"}, {"ok": 1}]}
    world = Simulation(model(workflow(RETRIED)), tools=script)
    world.start({})
    world.run()
    log = ExportedLog(world.root.id, world.root.program.playbook, world.root.log, "completed")
    found = {row["activity"]: row["attempts"] for row in csv.DictReader(io.StringIO(table(log)))}
    assert found == {"many": "3", "asked": "2", "end": "0"}
