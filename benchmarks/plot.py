"""The drawing of a run: for each workload a bar per side, on a log scale, each with its figure."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import matplotlib as mpl
from figures import SIDES, TIMES, figures, number
from matplotlib import pyplot as plt

COLOURS = {
    "petra-sqlite": "#0b6e4f",
    "dbos-sqlite": "#b0b7c3",
    "petra-postgres": "#3aa17e",
    "dbos-postgres": "#7d8797",
}


def draw(results: dict[str, Any], file: Path) -> None:
    """Draw medians with their ranges; sides without a figure have no bar."""
    mpl.use("svg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "petra", "font.size": 8})
    works = results["works"]
    figure, axes = plt.subplots(1, len(works), figsize=(2.1 * len(works), 2.9))
    for axis, work in zip(axes, works, strict=True):
        shown = [side for side in SIDES if figures(results, side, work)]
        for place, side in enumerate(shown):
            values = figures(results, side, work)
            middle = statistics.median(values)
            reach = [[middle - min(values)], [max(values) - middle]]
            axis.bar(place, middle, color=COLOURS[side], yerr=reach, ecolor="#444", capsize=2)
            axis.annotate(
                number(middle),
                (place, max(values)),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
            )
        axis.set_yscale("log")
        axis.margins(y=0.15)
        axis.set_xticks([])
        better = "less is better" if work["unit"] in TIMES else "more is better"
        axis.set_title(f"{work['name']}, {work['unit']}\n{work['title']}\n({better})", fontsize=7)
        axis.spines[["top", "right"]].set_visible(False)
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in COLOURS.values()]
    figure.legend(handles, SIDES.values(), loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(file, metadata={"Date": None}, facecolor="white")
