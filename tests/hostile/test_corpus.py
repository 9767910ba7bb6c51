"""The corpus: how many hostile values, tools, workers and frames there are, by kind; the page on faults shows the same."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sized
from pathlib import Path

from hostile import (
    test_control_lines,
    test_frames,
    test_inputs,
    test_leftovers,
    test_references,
    test_sizes,
    test_tools,
    test_workers,
)

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "faults.md"

CORPUS: dict[str, tuple[Sized, ...]] = {
    "values, names and ids that callers bring": (
        test_inputs.VALUES, test_inputs.NAMES, test_inputs.IDS, test_inputs.REASONS, test_inputs.ODD, test_inputs.PEOPLE,
        test_inputs.NO_TIME, test_inputs.LATE,
    ),
    "what no record has room for": (test_sizes.ASKED, test_sizes.MADE, test_sizes.SAID),
    "lines on the socket of a folder": (test_control_lines.LINES,),
    "references that lead nowhere, and places that meet them": (test_references.BAD, test_references.PLACES),
    "code that raises, prints or returns what it should not": (
        test_tools.RAISED, test_tools.SAID, test_tools.GIVEN,
    ),
    "steps that kill or hang their worker, and workers that cannot start": (
        test_workers.DEATHS, test_workers.HANGS, test_workers.BROKEN,
    ),
    "what code leaves behind in its worker": (test_leftovers.LEFT,),
    "frames, greetings and reports of workers": (
        test_frames.BREACHES, test_frames.RESULTS, test_frames.NUMBERS, test_frames.HELLOS,
    ),
}  # fmt: skip


ON_BOTH_STORES: tuple[tuple[Sized, Callable[..., None]], ...] = (
    (test_inputs.NAMES, test_inputs.test_every_door_refuses_what_is_no_name),
    (test_inputs.IDS, test_inputs.test_what_is_no_id_is_refused_and_nothing_has_it),
    (test_inputs.REASONS, test_inputs.test_what_is_no_reason_is_refused),
    (test_inputs.ODD, test_inputs.test_what_is_let_in_is_read_back_as_it_was),
    (test_inputs.PEOPLE, test_inputs.test_what_is_no_name_of_a_person_fails_the_step_that_asks),
    (
        test_references.PLACES,
        test_references.test_a_reference_that_cannot_be_followed_is_an_error_at_that_place,
    ),
    (test_tools.RAISED, test_tools.test_whatever_code_raises_is_an_error_outcome),
    (test_tools.SAID, test_tools.test_whatever_code_prints_the_step_reports),
    (test_tools.GIVEN, test_tools.test_a_result_that_is_no_data_is_an_error_outcome),
    (
        test_workers.DEATHS,
        test_workers.test_a_step_that_kills_five_workers_is_an_incident_and_stays_one,
    ),
    (
        test_frames.BREACHES,
        test_frames.test_a_worker_that_breaks_the_protocol_is_dropped_and_its_run_is_lost_at_once,
    ),
    (test_frames.RESULTS, test_frames.test_a_report_that_holds_what_is_no_data_stops_nobody),
    (test_sizes.ASKED, test_sizes.test_what_is_asked_and_fits_into_no_event_is_refused),
    (test_sizes.MADE, test_sizes.test_what_a_template_makes_and_fits_into_no_event_is_an_incident),
    (test_sizes.SAID, test_sizes.test_a_report_that_fits_into_no_event_is_an_incident),
    (test_frames.HELLOS, test_frames.test_who_cannot_say_hello_is_not_let_in),
    (
        test_frames.NUMBERS,
        test_frames.test_what_a_report_counts_with_is_numbers_and_the_log_can_be_read,
    ),
    (test_inputs.NO_TIME, test_inputs.test_what_is_no_number_of_seconds_fails_the_step_that_waits),
    (
        test_inputs.LATE,
        test_inputs.test_what_is_due_later_than_calendars_go_waits_and_is_explained,
    ),
)
"""Tables, and who plays them on a file and on PostgreSQL; what code leaves behind is played there by a test of its own."""


def test_most_of_the_corpus_is_played_on_both_stores() -> None:
    assert all("kind" in inspect.signature(test).parameters for _, test in ON_BOTH_STORES)
    assert sum(len(table) for table, _ in ON_BOTH_STORES) + len(test_leftovers.LEFT) >= 200


def test_the_corpus_has_the_size_that_its_page_shows() -> None:
    counts = {kind: sum(map(len, tables)) for kind, tables in CORPUS.items()}
    assert sum(counts.values()) >= 60
    lines = PAGE.read_text().splitlines()
    for kind, count in counts.items():
        assert f"| {kind} | {count} |" in lines, f"{kind}: {count}"
