"""Answers about texts: problems, proofs, graphs, tests, walks, completions."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from petra.server.answers.documents import DocumentApplied
from petra.server.shapes import PlaybookItem, Shape
from petra.story.frames import Frames


class TextEdit(Shape, frozen=True):
    """A change of a text that would mend something."""

    title: str
    text: str
    line: int
    column: int
    end_line: int
    end_column: int


class TextFinding(Shape, frozen=True):
    """A problem of a text, where it begins."""

    severity: str
    code: str
    line: int
    column: int
    message: str
    hint: str


class PlacedProblem(TextFinding, frozen=True):
    """A problem of a text, where it begins and ends, and what would mend it."""

    end_line: int
    end_column: int
    fixes: list[TextEdit]


class GraphNode(Shape, frozen=True):
    """A step, a place or a transition, with its upper left corner and its size."""

    id: str
    kind: str
    x: float
    y: float
    w: float
    h: float
    label: str = ""
    step: str = ""
    details: str = ""
    desc: str = ""
    tools: list[str] = msgspec.field(default_factory=list)
    loop: bool = False
    join: str | None = None
    compensates: bool = False
    line: int = 0
    tokens: int = 0
    arcs: list[int] = msgspec.field(default_factory=list)


class GraphArc(Shape, frozen=True):
    """A line between two nodes, through some points."""

    source: str = msgspec.field(name="from")
    to: str
    points: list[tuple[float, float]]
    backward: bool
    index: int = 0
    label: str = ""
    guard: str | None = None
    foreach: bool = False
    dashed: bool = False
    line: int = 0


class Graph(Shape, frozen=True):
    """A playbook, or its net, with places on a page."""

    lens: str
    width: float
    height: float
    nodes: list[GraphNode]
    arcs: list[GraphArc]


class Soundness(Shape, frozen=True):
    """What the proof says; a counter-example comes as frames."""

    verdict: str
    states: int
    gated: bool
    counterexample: list[str]
    findings: list[TextFinding]
    frames: Frames | None
    notes: list[str]


class OutlineItem(Shape, frozen=True):
    """A step, and the line it stands in."""

    step: str
    line: int


class CheckedText(Shape, frozen=True):
    """What is to be said of a text."""

    ok: bool
    soundness: Soundness | None
    graph: Graph | None
    outline: list[OutlineItem]
    workload: dict[str, Any]
    input_schema: dict[str, Any] | None
    problems: list[PlacedProblem]


class MigratedText(Shape, frozen=True):
    """A text in canonical words."""

    text: str
    problems: list[TextFinding]


class OfferedWord(Shape, frozen=True):
    """What may stand at a place of a text."""

    label: str
    kind: str
    about: str
    insert: str
    line: int
    column: int
    end_line: int
    end_column: int


class Hovered(Shape, frozen=True):
    """What stands at a place of a text."""

    words: str | None
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0


class ArcName(Shape, frozen=True):
    """An arc: of which step, and its position there."""

    source: str = msgspec.field(name="from")
    index: int


class CaseDone(Shape, frozen=True):
    """What came of a case of a test file."""

    name: str
    line: int
    result: str
    message: str
    arcs: list[ArcName] = msgspec.field(default_factory=list)
    frames: Frames | None = None
    elapsed_s: float | None = None
    status: str | None = None


class CoveredArc(Shape, frozen=True):
    """By how many cases an arc was taken."""

    source: str = msgspec.field(name="from")
    index: int
    to: str
    count: int
    line: int


class ArcCoverage(Shape, frozen=True):
    """Which arcs cases took."""

    arcs: list[CoveredArc]
    total: int
    taken: int


class Tested(Shape, frozen=True, kw_only=True):
    """What came of a test file."""

    ok: bool
    message: str
    problems: list[PlacedProblem]
    cases: list[CaseDone]
    passed: int = 0
    failed: int = 0
    errors: int = 0
    coverage: ArcCoverage | None


class NextChoice(Shape, frozen=True):
    """What is to be chosen next in a walk."""

    kind: str
    step: str
    what: str
    options: list[str]
    task: str | None = None
    form: Any = None
    proposal: Any = None


class WalkThrough(Shape, frozen=True):
    """A walk through a playbook."""

    ok: bool
    problems: list[PlacedProblem]
    seed: int = 0
    records: list[dict[str, Any]] = msgspec.field(default_factory=list)
    firings: int = 0
    status: str = ""
    waiting_on: str | None = None
    stopped: str | None = None
    refused: str | None = None
    elapsed_s: float = 0.0
    output: Any = None
    ctx: dict[str, Any] = msgspec.field(default_factory=dict)
    frames: Frames | None = None
    next: NextChoice | None = None


class PlaybookWithText(PlaybookItem, frozen=True):
    """A playbook with its text."""

    text: str
    workload: dict[str, Any]
    input_schema: dict[str, Any] | None


class AppliedPlaybook(DocumentApplied, frozen=True):
    """What became of a playbook that was applied."""


class StepHeat(Shape, frozen=True):
    """How a step did lately."""

    runs: int
    failed: int
    failure_rate: float
    median_ms: float | None
    retries: int


class ArcHeat(Shape, frozen=True):
    """How often an arc was taken lately."""

    source: str = msgspec.field(name="from")
    index: int
    count: int


class LastOutcome(Shape, frozen=True):
    """An execution, and what it came to."""

    id: str
    status: str


class ProofTold(Shape, frozen=True):
    """Whether a net is sound, and what was found of it first; ``gated``: if guards allow."""

    verdict: Literal["sound", "unsound", "undecided"]
    gated: bool
    words: str


class PlaybookStanding(Shape, frozen=True):
    """How a playbook stands: its proof, how many executions are open, what came of the last ones, the newest first."""

    path: str
    digest: str
    proof: ProofTold
    open: int
    last: list[LastOutcome]


class Heat(Shape, frozen=True):
    """The last executions of a playbook, summed up."""

    path: str
    playbook: str
    executions: int
    statuses: dict[str, int]
    last: list[LastOutcome]
    steps: dict[str, StepHeat]
    arcs: list[ArcHeat]
