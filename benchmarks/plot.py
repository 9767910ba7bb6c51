"""The drawing of a run: for each workload a bar per side, on a log scale, each with its figure.

All panels span the same number of decades, so that the same ratio has the same height everywhere.
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import matplotlib as mpl
from figures import SIDES, TIMES, Results, figures, number
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

COLOURS = {
    "petra-sqlite": "#0b6e4f",
    "dbos-sqlite": "#b0b7c3",
    "petra-postgres": "#3aa17e",
    "dbos-postgres": "#7d8797",
}
BELOW = 10
"""How far a panel reaches below its smallest bar: a log scale has no zero to start from."""


def draw(results: Results, file: Path) -> None:
    """Draw medians with their ranges; sides without a figure have no bar."""
    mpl.use("svg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "petra", "font.size": 8})
    panels = []
    for work in results["works"]:
        found = {side: figures(results, side, work) for side in SIDES}
        panels.append((work, {side: values for side, values in found.items() if values}))
    panels = [(work, sides) for work, sides in panels if sides]
    ratio = max(_largest(sides) / _smallest(sides) for _, sides in panels) * BELOW * 3
    figure, axes = plt.subplots(1, len(panels), figsize=(2.1 * len(panels), 3), squeeze=False)
    for axis, (work, sides) in zip(axes[0], panels, strict=True):
        low = _smallest(sides) / BELOW
        _panel(axis, sides, low, low * ratio)
        better = "less is better" if work["unit"] in TIMES else "more is better"
        axis.set_title(f"{work['name']}, {work['unit']}\n{work['title']}\n({better})", fontsize=7)
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in COLOURS.values()]
    figure.legend(handles, SIDES.values(), loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(file, metadata={"Date": None}, facecolor="white")


def _panel(axis: Axes, sides: dict[str, list[float]], low: float, high: float) -> None:
    for place, (side, values) in enumerate(sides.items()):
        middle = statistics.median(values)
        reach = [[middle - min(values)], [max(values) - middle]]
        axis.bar(place, middle, color=COLOURS[side], yerr=reach, ecolor="#444", capsize=2)
        over = (place, max(values))
        axis.annotate(number(middle), over, xytext=(0, 3), textcoords="offset points", ha="center")
    axis.set_yscale("log")
    axis.set_ylim(low, high)
    axis.set_xlim(-0.6, len(sides) - 0.4)
    decades = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    axis.set_yticks([10.0**decade for decade in decades])
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_xticks([])
    axis.spines[["top", "right"]].set_visible(False)


def _smallest(sides: dict[str, list[float]]) -> float:
    return min(min(values) for values in sides.values())


def _largest(sides: dict[str, list[float]]) -> float:
    return max(max(values) for values in sides.values())
