"""``petra simulate``: a walk in 80 columns, by dice or by hand, and as data."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli.conftest import Command

PLAYBOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: parcels}
executor: {spec: {output: {kg: "{{ ctx.kg }}"}}}
workload: {limit: 30, depot: {city: Bern}}
workflow:
  - step: weigh
    tool:
      kind: python
      code: "result = {'kg': 3}"
      spec:
        policy:
          rules:
            - when: "{{ outcome.status == 'error' }}"
              then: {do: retry, attempts: 2, delay: 5}
            - else:
                then: {do: continue, set_ctx: {kg: "{{ outcome.result.kg }}"}}
    next:
      arcs:
        - {step: decide, when: "{{ weigh.kg > 30 }}"}
        - {step: collect}
  - step: decide
    tool: {kind: human, title: Too heavy. Send it?, actions: [send, refuse]}
    next:
      arcs:
        - {step: collect, when: "{{ decide.action == 'send' }}"}
  - step: collect
    tool: {kind: wait, signal: {name: van}}
    next:
      arcs:
        - {step: open_gate}
  - step: open_gate
    spec: {policy: {admit: {rules: [{when: "{{ ctx.gate == 'open' }}", then: {allow: true}}]}}}
    tool: {kind: noop}
"""


@pytest.fixture(autouse=True)
def parcels(tmp_path: Path) -> Path:
    (tmp_path / "parcels.yaml").write_text(PLAYBOOK, "utf-8")
    return tmp_path


def golden(name: str) -> str:
    return (Path(__file__).parent / "golden" / name).read_text("utf-8")


def test_a_walk_shows_each_firing_the_marking_and_what_waits(command: Command) -> None:
    result = command("simulate", "parcels.yaml", "--seed", "38")
    assert result.exit_code == 0
    assert result.output == golden("simulate.txt")
    assert max(map(len, result.output.splitlines())) <= 80


def test_a_walk_by_hand_asks_for_every_outcome(command: Command) -> None:
    typed = 'error timeout\nmaybe\nok {"kg":\nok {"kg": 31}\nwait\nsend\nsend [1]'
    result = command("simulate", "parcels.yaml", "-i", typed=typed + "\n")
    assert result.exit_code == 0
    lines = result.stdout.splitlines(keepends=True)
    told = [
        line for line in lines if line.strip() not in typed.splitlines()
    ]  # older runners of click echo it
    assert "".join(told) == golden("simulate_by_hand.txt")
    assert re.findall(r"\? (?:weigh|decide|collect).*?, or quit", result.stderr) == [
        *["? weigh (python): ok [JSON], error [KIND], or quit"] * 4,
        *["? decide, 'Too heavy. Send it?': send, refuse [JSON], wait, or quit"] * 2,
        "? collect, signal 'van': send [JSON], wait, or quit",
    ]
    assert "'maybe' is none of ok, error" in result.stderr


def test_a_walk_by_hand_can_be_left(command: Command) -> None:
    result = command("simulate", "parcels.yaml", "-i", typed="quit\n")
    assert result.exit_code == 0
    assert "stopped by hand" in result.stdout


def test_hanging_up_on_a_question_is_an_interruption(command: Command) -> None:
    assert command("simulate", "parcels.yaml", "-i", typed="").exit_code == 130


def test_a_walk_is_told_as_data(command: Command) -> None:
    found = json.loads(command("simulate", "parcels.yaml", "--seed", "38", "-o", "json").stdout)
    assert list(found) == [
        *("seed", "records", "firings", "status", "waiting_on", "stopped", "elapsed_s", "output"),
        "ctx",
    ]
    assert (found["status"], found["waiting_on"], found["stopped"]) == ("waiting", "gate", None)
    assert found["records"][0] == {
        "firing": 1,
        "at_s": 0.0,
        "event": "execution.started parcels",
        "ready": {"weigh": 1},
        "running": {},
        "ctx": {},
        "waits": [],
    }


def test_a_walk_stops_after_so_many_firings(command: Command) -> None:
    found = json.loads(command("simulate", "parcels.yaml", "--steps", "2", "-o", "json").stdout)
    assert found["firings"] == 2
    assert found["stopped"] == "stopped after 2 firings; '--steps' allows more"


def test_the_workload_is_merged_from_file_and_single_values(
    command: Command, parcels: Path
) -> None:
    text = PLAYBOOK.replace("{{ ctx.kg }}", "{{ workload }}").replace(
        '"{{ weigh.kg > 30 }}"', '"{{ false }}"'
    )
    text = text.replace(
        "  - step: collect\n    tool: {kind: wait, signal: {name: van}}",
        "  - step: collect\n    tool: {kind: noop}",
    )
    text = text.replace(
        "    spec: {policy: {admit: {rules: [{when: \"{{ ctx.gate == 'open' }}\", then: {allow: true}}]}}}\n",
        "",
    )
    (parcels / "parcels.yaml").write_text(text, "utf-8")
    (parcels / "w.json").write_text('{"limit": 5}', "utf-8")
    found = json.loads(
        command(
            *("simulate", "parcels.yaml", "--workload", "@w.json", "--seed", "38", "-o", "json"),
            *("--set", "depot.city=Ulm", "--set", "depot.doors=[1, 2]", "--set", "a=b=c"),
        ).stdout
    )
    assert found["output"] == {
        "kg": {"limit": 5, "depot": {"city": "Ulm", "doors": [1, 2]}, "a": "b=c"}
    }


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "x"), "must be KEY=VALUE"),
        (("--set", "=3"), "must be KEY=VALUE"),
        (("--set", "a=1", "--set", "a.b=2"), "'a' is a value, not an object"),
        (("--workload", "{"), "the workload is not JSON"),
        (("--workload", "[1]"), "must be a JSON object"),
        (("--workload", '{"a": ' + DEEP), "it is nested too deeply"),
        (("--set", f"a={DEEP}"), "it is nested too deeply"),
        (("--workload", "@gone.json"), "cannot read gone.json: No such file"),
        (("-i", "-o", "json"), "leave '-o json' out"),
        (("--steps", "0"), "0 is not in the range"),
    ],
)
def test_wrong_usage_exits_with_2(command: Command, arguments: tuple[str, ...], words: str) -> None:
    result = command("simulate", "parcels.yaml", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_playbook_with_errors_is_not_walked(command: Command, parcels: Path) -> None:
    (parcels / "parcels.yaml").write_text(PLAYBOOK.replace("{step: collect}", "{step: colect}"))
    result = command("simulate", "parcels.yaml")
    assert result.exit_code == 1
    assert "did you mean 'collect'?" in result.output
    assert command("simulate", "gone.yaml").exit_code == 1
    told = json.loads(command("simulate", "parcels.yaml", "-o", "json").stdout)
    assert [one["code"] for one in told["problems"]] == ["P104"]


@pytest.mark.spec("S3")
def test_a_refused_workload_is_told(command: Command, parcels: Path) -> None:
    text = PLAYBOOK.replace("{spec: {", "{spec: {input_schema: {required: [order]}, ")
    (parcels / "parcels.yaml").write_text(text, "utf-8")
    result = command("simulate", "parcels.yaml")
    assert result.exit_code == 1
    assert "refused: " in result.output


PLAIN = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: plain}
workflow:
  - step: ask
    tool: {kind: human, title: "Go on?"}
"""


@pytest.mark.spec("S14")
def test_a_person_who_is_told_no_actions_approves_or_rejects(
    command: Command, parcels: Path
) -> None:
    (parcels / "plain.yaml").write_text(PLAIN, "utf-8")
    said = [command("simulate", "plain.yaml", "--seed", str(seed)).output for seed in range(20)]
    assert not [one for one in said if "act.refused" in one]
    assert {"approve", "reject"} <= set(re.findall(r"work item of ask: (\w+)", "".join(said)))


def test_by_hand_the_actions_of_a_plain_question_are_offered(
    command: Command, parcels: Path
) -> None:
    (parcels / "plain.yaml").write_text(PLAIN, "utf-8")
    done = command("simulate", "-i", "plain.yaml", typed="\n")
    assert "approve, reject [JSON], wait, or quit" in done.stderr
    assert "completed, after 0 s" in done.stdout
