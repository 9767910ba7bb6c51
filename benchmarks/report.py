"""The results of a run as a page, a drawing and the samples themselves. Every figure comes from the samples."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from figures import SIDES, STORES, Results, convert, figures, number, ratio, spread
from plot import draw

DISTURBED = "Others had more than {:.0%} of the machine during these samples: this ratio may be far from that of a quiet one."


def write(results: Results, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    (folder / "peers.md").write_text(page(results), "utf-8")
    draw(results, folder / "peers.svg")


def page(results: Results) -> str:
    parts = [
        "# Petra beside DBOS",
        _heading(results),
        "![Petra and DBOS](peers.svg)" if not results["quick"] else "",
        *(_table(results, store) for store in STORES),
        _first_result(results),
        _alone(results),
        _left_out(results),
        _conditions(results),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(results: Results) -> str:
    size = "A quick run with small sizes: for development only. " if results["quick"] else ""
    return (
        f"{size}Written by `benchmarks/peers.py` in {results['minutes']:.0f} minutes. Median of up to "
        f"{results['rounds']} samples and the range; every sample is a process of its own on an empty store, the sides take "
        "turns, and every commit is synced. CPU is per step or item, in all processes of a side and its database."
    )


def _table(results: Results, store: str) -> str:
    sides = (f"petra-{store}", f"dbos-{store}")
    lines = [
        f"## On {STORES[store]}",
        "",
        "| work | unit | Petra | DBOS | Petra is … times as fast | CPU ms, Petra / DBOS | others had | one synced page, ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for work in results["works"]:
        petra, dbos = (figures(results, side, work) for side in sides)
        times = ratio(petra, dbos, work["unit"])
        cells = [
            _cell(results, side, work, values)
            for side, values in zip(sides, (petra, dbos), strict=True)
        ]
        shares = [_share(results, side, work) for side in sides]
        shown = " / ".join("–" if share is None else f"{share:.0%}" for share in shares)
        disturbed = any(share is not None and share > results["quiet"] for share in shares)
        faster = "–" if times is None else number(times) + (" †" if disturbed else "")
        lines.append(
            f"| {work['name']}: {work['title']} | {work['unit']} | {cells[0]} | {cells[1]} | {faster} | "
            f"{' / '.join(_cpu_ms(results, side, work) for side in sides)} | {shown} | "
            f"{' / '.join(_floor_ms(results, side, work) for side in sides)} |"
        )
    if any(" † |" in line for line in lines):
        lines += ["", f"† {DISTURBED.format(results['quiet'])}"]
    return "\n".join(lines)


def _cell(results: Results, side: str, work: dict[str, str], values: list[float]) -> str:
    failed = results["failures"].get(f"{side} {work['key']}", [])
    said = [spread(values)] if values or not failed else []
    return "; ".join([*said, *([f"{len(failed)} failed"] if failed else [])])


def _cpu_ms(results: Results, side: str, work: dict[str, str]) -> str:
    """Say what one step or item costs in CPU time, with the database's; other work changes that less than it changes the time."""
    samples = results["samples"].get(f"{side} {work['key']}", [])
    costs = [(s["cpu"] + s["server_cpu"]) / s["units"] * 1000 for s in samples if "cpu" in s]
    return number(statistics.median(costs)) if costs else "–"


def _floor_ms(results: Results, side: str, work: dict[str, str]) -> str:
    """Say what a synced page cost just before: where the sides differ, so did their conditions."""
    samples = results["samples"].get(f"{side} {work['key']}", [])
    floors = [sample["floor_ms"] for sample in samples if "floor_ms" in sample]
    return number(statistics.median(floors)) if floors else "–"


def _share(results: Results, side: str, work: dict[str, str]) -> float | None:
    """Return how much of the machine others had, in the middle."""
    samples = results["samples"].get(f"{side} {work['key']}", [])
    shares = [sample["others"] for sample in samples if "others" in sample]
    return statistics.median(shares) if shares else None


def _first_result(results: Results) -> str:
    rows = []
    for side, title in SIDES.items():
        samples = results["samples"].get(f"{side} W4", [])
        if samples:
            rows.append(f"| {title} | {spread([sample['memory'] for sample in samples], 'MB')} |")
    head = "Memory after W4, all processes of a side together (shared pages once, the database server not counted):"
    return "\n".join([head, "", "| side | memory |", "|---|---|", *rows]) if rows else ""


def _alone(results: Results) -> str:
    samples = results["samples"]
    lines = ["## Petra alone, on SQLite", "", "| | |", "|---|---|"]

    def row(title: str, key: str, value: Callable[[dict[str, Any]], float], unit: str) -> None:
        lines.append(f"| {title} | {spread([value(one) for one in samples.get(key, [])], unit)} |")

    loops = samples.get("loop", [])
    if loops:
        row(f"loop of {loops[0]['units']:,} items", "loop", lambda one: convert(one, ""), "items/s")
        for place, process in enumerate(("engine", "worker")):
            row(f"its peak of memory, {process}", "loop", lambda one, p=place: one["peak"][p], "MB")
            for mark in loops[0]["resident"]:
                row(
                    f"memory of the {process} after {int(mark):,} items", "loop",
                    lambda one, p=place, m=mark: one["resident"][m][p], "MB",
                )  # fmt: skip
    row("kernel alone, plain steps", "kernel", lambda one: one["steps"], "steps/s")
    row("replay", "kernel", lambda one: one["records"], "records/s")
    row("`petra --help`", "help", lambda one: one["seconds"] * 1000, "ms")
    row("`petra check` of 50 steps", "check", lambda one: one["seconds"] * 1000, "ms")
    row("a waiting execution in memory", "waiting", lambda one: one["memory_kb"], "KB")
    row("a waiting execution on disk", "waiting", lambda one: one["stored_kb"], "KB")
    return "\n".join(lines)


def _left_out(results: Results) -> str:
    notes = [f"- {key}: left out of this run" for key in results["skipped"]]
    for what, failed in results["failures"].items():
        notes += [f"- {what}, {failed.count(why)} times: {why}" for why in dict.fromkeys(failed)]
    return "\n".join(["## Not measured, or failed", "", *notes]) if notes else ""


def _conditions(results: Results) -> str:
    rows = [f"| {name} | {value} |" for name, value in results["machine"].items()]
    floors = [
        one["floor_ms"] for some in results["samples"].values() for one in some if "floor_ms" in one
    ]
    rows.append(f"| one synced page | {spread(floors, 'ms')} |")
    server = ", ".join(f"{name}={value}" for name, value in results["postgres"].items())
    rows.append(f"| PostgreSQL | {server} |")
    for side, title in SIDES.items():
        found = {
            sample["durability"]
            for key, samples in results["samples"].items()
            if key.startswith(f"{side} ")
            for sample in samples
            if "durability" in sample
        }
        rows += (
            [f"| {title}: as its connections say | {', '.join(sorted(found))} |"] if found else []
        )
    rows.append(f"| others had of the machine | {_others(results)} |")
    return "\n".join(["## Where", "", "| | |", "|---|---|", *rows])


def _others(results: Results) -> str:
    shares = [
        sample["others"]
        for samples in results["samples"].values()
        for sample in samples
        if "others" in sample
    ]
    if not shares:
        return "–"
    quiet = results["quiet"]
    disturbed = sum(share > quiet for share in shares)
    return (
        f"median {statistics.median(shares):.0%}, at most {max(shares):.0%} during a sample; "
        f"{disturbed} of {len(shares)} samples with more than {quiet:.0%}"
    )
