"""What people see of an execution: rows that add up, lines that do not repeat themselves, a tree that fits."""

from __future__ import annotations

import pytest
from export.logs import example_logs

from petra.cli.board import Board, duration
from petra.cli.live import LiveTree
from petra.cli.show import EACH, Teller
from petra.kernel import Record
from petra.kernel import events as e
from petra.kernel.permit_events import NewPermit, PermitGiven, PermitRefused, PermitsAsked
from petra.kernel.replay import EventReceipt
from petra.wire import Attempt, Error
from petra.wire.frames import Retrying


def records(*events: e.AnyEvent, at: float = 0.0, step_s: float = 0.0) -> list[Record]:
    return [
        Record(
            seq=number,
            at=at + step_s * number,
            event=event,
            receipt=EventReceipt(),
            previous="",
            hash="",
        )
        for number, event in enumerate(events, start=1)
    ]


STEERS = "\x1b[2J\x1b]0;title\x07\x9b8m\u202e\u2066"
"""What clears a screen, names its window, and turns the direction of a line."""


def started(run: str, step: str = "s", items: int | None = None) -> e.StepStarted:
    return e.StepStarted(
        run=run, step=step, consumed=[], items=None if items is None else list(range(items))
    )


def tree(*events: e.AnyEvent, now: float = 10.0, width: int = 80) -> list[str]:
    made = LiveTree(Board("0190aa00bb11-aabbccddeeff"), lambda: now)
    made.take(records(*events, step_s=1.0))
    return [line.plain for line in made.lines(width, 24)]


@pytest.mark.slow
def test_a_board_is_the_same_whoever_began_to_look_when() -> None:
    for name, log in example_logs():
        whole = Board("x")
        for record in log.records:
            whole.take(record)
        assert all(not row.active for row in whole.rows.values()) or log.status == "waiting", name
        ended = sum(isinstance(r.event, e.StepEnded) for r in log.records)
        assert sum(row.done + row.failed for row in whole.rows.values()) == ended, name


@pytest.mark.slow
def test_a_tree_fits_the_terminal_and_shows_every_step() -> None:
    for name, log in example_logs():
        made = LiveTree(Board(log.execution), lambda: 2e9)
        made.take(list(log.records))
        for width, height in ((80, 24), (40, 10), (200, 60)):
            lines = made.lines(width, height)
            assert max(line.cell_len for line in lines) <= width, name
            assert len(lines) <= height, name
        assert len(made.lines(200, 200)) >= len(made.board.rows) + 1


def test_a_thousand_lines_of_one_kind_are_a_few() -> None:
    teller = Teller(Board("x"))
    begun = [started(str(n)) for n in range(1000)]
    ended = [e.StepDone(run=str(n), step="s") for n in range(1000)]
    lines = teller.lines(records(*begun, *ended))
    assert EACH < len(lines) < 20
    assert lines[-1].split()[-1] == "×1000"
    assert teller.rest() == []


def test_what_was_only_counted_is_told_at_the_end() -> None:
    teller = Teller(Board("x"))
    teller.lines(
        records(
            *[started(str(n)) for n in range(7)],
            *[e.StepDone(run=str(n), step="s") for n in range(7)],
        )
    )
    assert ["×7 in all" in line for line in teller.rest()] == [True]


def test_what_is_handed_out_again_is_told_once_per_batch() -> None:
    teller = Teller(Board("x"))
    again = [e.RunRedelivered(run="r", chunk=str(n), delivery=2) for n in range(40)]
    lines = teller.lines(records(started("r", items=40), *again))
    assert next(line for line in lines if "handed out again" in line).endswith("×40")
    assert len(lines) == 2


def test_what_led_to_an_incident_is_told_before_it() -> None:
    again = [e.RunRedelivered(run="r", delivery=n) for n in (2, 3)]
    incident = e.IncidentRaised(run="r", step="s", message="5 deliveries were lost")
    lines = Teller(Board("x")).lines(records(started("r"), *again, incident, again[0]))
    assert [line.split(maxsplit=2)[-1] for line in lines] == [
        "handed out again ×2",
        "5 deliveries were lost",
        "handed out again",
    ]


def test_each_branch_that_asks_somebody_is_told_with_its_own_question() -> None:
    asking = [
        e.StepStarted(
            run=str(n), step="s", consumed=[], armed=e.Armed(items=[e.NewItem(id=f"i{n}", spec={"title": f"n {n}"})])
        )
        for n in range(3)
    ]  # fmt: skip
    lines = Teller(Board("x")).lines(records(*asking))
    assert [line.rpartition(": ")[2] for line in lines] == ["n 0", "n 1", "n 2"]


def test_durations_count_from_the_start_also_after_a_resume() -> None:
    log = records(
        started("r"),
        e.RunRedelivered(run="r", delivery=2),
        e.StepDone(run="r", step="s"),
        step_s=30.0,
    )
    teller = Teller(Board("x"))
    teller.board.take(log[0])  # before anybody looked
    assert "1m00s" in teller.lines(log[1:])[0]


def test_what_has_ended_takes_no_longer_the_later_one_looks() -> None:
    ended = e.ExecutionEnded(status="completed", output=None)
    entry = e.Produced(id="t", step="s")
    begun = e.ExecutionStarted(playbook="p", digest="", workload={}, entry=entry)
    assert tree(begun, ended, now=86_400.0)[0].endswith("completed 1.0s")


def test_a_loop_has_a_bar_with_what_is_in_flight_and_what_failed() -> None:
    lines = tree(
        started("r", "enrich", items=100),
        e.IterationsStarted(run="r", chunk="a", paths=[(n,) for n in range(8)]),
        e.IterationsStarted(run="r", chunk="b", paths=[(n,) for n in range(8, 16)]),
        e.IterationsEnded(
            run="r", chunk="a", ended=[e.Iterated(path=(n,), ok=n != 3) for n in range(8)]
        ),
    )
    assert lines[1].startswith("└─ ∥ enrich    8/100  █")
    assert lines[1].endswith("1 failed  [8 in flight]")


def test_a_retry_is_counted_down_and_then_under_way() -> None:
    board = Board("x")
    now = [1.0]
    made = LiveTree(board, lambda: now[0])
    made.take(records(started("r", "score")))
    error = Error(kind="server_error", code=503)
    attempt = Attempt(task="t", number=1, status="error", action="retry", error=error, delay_s=1.6)
    made.retrying(Retrying(execution="x", run="r", attempt=attempt, of=5))
    assert "↻ score" in made.lines(80, 24)[1].plain
    assert "retry 2/5 in 1.6s (503)" in made.lines(80, 24)[1].plain
    now[0] = 3.0
    assert "try 2/5" in made.lines(80, 24)[1].plain


def test_a_person_is_told_what_to_type() -> None:
    spec = {"title": "Pay?", "assignees": {"users": ["ada"], "roles": ["finance"]}}
    item = e.NewItem(id="i", spec=spec)
    waits = e.StepStarted(run="r", step="approve", consumed=[], armed=e.Armed(items=[item]))
    lines = tree(waits)
    assert "☺ approve  waiting for ada, role:finance: Pay?" in lines[1]
    assert "petra task complete 0190aa00bb11-aabbccddeeff/approve approve --as ada" in lines[2]
    assert len(tree(waits, e.ItemChanged(item="i", act="complete", state="done"))) == 2


def test_nothing_that_others_say_steers_the_terminal() -> None:
    error = Error(kind="unknown", message=f"no{STEERS}")
    item = e.NewItem(
        id="i", spec={"title": f"Pay{STEERS}?", "assignees": {"users": [f"ada{STEERS}"]}}
    )
    drawn = "\n".join(
        tree(
            started("1", f"a{STEERS}"),
            e.StepFailed(run="1", step=f"a{STEERS}", error=error),
            started("2", "b"),
            e.IncidentRaised(run="2", step="b", message=f"dead{STEERS}"),
            e.StepStarted(run="3", step="c", consumed=[], armed=e.Armed(items=[item])),
            width=400,
        )
    )
    assert all(word in drawn for word in ("no", "Pay", "ada", "dead"))
    assert drawn.replace("\n", "").isprintable(), drawn


def test_a_long_name_does_not_cut_the_command() -> None:
    item = e.NewItem(id="i", spec={"assignees": {"users": ["ada"]}})
    step = "a_step_with_a_rather_long_name_of_its_own"
    waits = e.StepStarted(run="r", step=step, consumed=[], armed=e.Armed(items=[item]))
    typed = " ".join(line.strip().removesuffix("\\").strip() for line in tree(waits)[2:])
    assert typed == f"petra task complete 0190aa00bb11-aabb/{step} approve --as ada"
    assert max(map(len, tree(waits))) <= 80


def test_durations_are_short() -> None:
    assert [duration(s) for s in (0.004, 1.25, 75, 3700)] == ["4ms", "1.2s", "1m15s", "1h01m"]


def asked(*names: str, step: str = "", anew: bool = False) -> PermitsAsked:
    permits = [
        NewPermit(
            id=name, limit="playbook etl/load", key="k" * 200, rank=1.0, step=step, token=name
        )
        for name in names
    ]
    return PermitsAsked(permits=permits, blocks=not step, anew=anew)


@pytest.mark.spec("S15")
def test_a_tree_says_who_waits_in_line_until_it_is_let_in() -> None:
    head, line = tree(asked("p", "q"))
    assert "waiting" in head
    assert line.startswith("   ◷ waits for its turn at the limit of 'etl/load' with key 'kkk")
    assert len(line) <= 80
    assert len(tree(asked("p", "q"), PermitGiven(id="p"))) == 2, "it waits for the second now"
    (head,) = tree(asked("p"), PermitGiven(id="p"))
    assert "running" in head
    assert len(tree(asked("p"), PermitRefused(id="p", reason="full"))) == 1
    assert len(tree(asked("p"), asked("r", anew=True), PermitGiven(id="r"))) == 1


@pytest.mark.spec("S15")
def test_a_tree_counts_the_steps_that_wait_in_line() -> None:
    line = tree(asked("p", step="load"), asked("q", step="load"), asked("r", step="save"))[1]
    assert line.startswith("   ◷ load ×2, save wait for their turn")
    line = tree(asked("p", step="load"), asked("q", step="load"), e.Withdrawn(tokens=["p"]))[1]
    assert line.startswith("   ◷ load waits for its turn at the limit of")
    assert len(tree(asked("p", step="load"), e.ExecutionEnded(status="aborted"))) == 1


@pytest.mark.spec("S15")
def test_a_line_about_a_turn_fits_the_terminal() -> None:
    (line,) = Teller(Board("x")).lines(records(asked("p")))
    assert "waits for its turn; see 'petra explain'" in line
    assert len(line) <= 80
