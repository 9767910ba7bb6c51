"""A playbook as a drawing of its steps: Mermaid and Graphviz text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from petra.playbook.model import Arc, Playbook, Step

_LABEL_MAX = 32


class Edge(NamedTuple):
    """An arc on its way to a drawing."""

    source: str
    target: str
    label: str
    arc: int
    """Its position as written."""


def mermaid(playbook: Playbook) -> str:
    """Draw the steps as a Mermaid flowchart."""
    ids = {step.step: f"s{index}" for index, step in enumerate(playbook.workflow)}
    lines = ["flowchart TD", f"  start(( )) --> {ids[playbook.entry]}"]
    for step in playbook.workflow:
        left, right = _MERMAID[form_of(step)]
        lines.append(f'  {ids[step.step]}{left}"{_mermaid_text(caption(step))}"{right}')
    for edge in edges_of(playbook):
        label = f'|"{_mermaid_text(edge.label)}"|' if edge.label else ""
        lines.append(f"  {ids[edge.source]} -->{label} {ids[edge.target]}")
    final = playbook.executor.spec.final_step
    if final is not None:
        lines.append(f"  finally((finally)) -.-> {ids[final]}")
    return "\n".join(lines) + "\n"


def dot(playbook: Playbook) -> str:
    """Draw the steps as a Graphviz digraph."""
    lines = [
        f"digraph {_quoted(playbook.metadata.name)} {{",
        '  rankdir=TB; node [fontname="sans-serif" style=rounded]; edge [fontname="sans-serif"];',
        '  start [shape=circle label="" width=0.2 style=filled fillcolor=black];',
        f"  start -> {_quoted(playbook.entry)};",
    ]
    lines.extend(
        f"  {_quoted(step.step)} [shape={_DOT[form_of(step)]} label={_quoted(caption(step))}];"
        for step in playbook.workflow
    )
    lines.extend(
        f"  {_quoted(edge.source)} -> {_quoted(edge.target)}"
        + (f" [label={_quoted(edge.label)}]" if edge.label else "")
        + ";"
        for edge in edges_of(playbook)
    )
    final = playbook.executor.spec.final_step
    if final is not None:
        lines.append('  finally [shape=circle label="finally"];')
        lines.append(f"  finally -> {_quoted(final)} [style=dashed];")
    return "\n".join([*lines, "}"]) + "\n"


_MERMAID = {
    "router": ("{", "}"),
    "join": ("[[", "]]"),
    "human": ("([", "])"),
    "wait": (">", "]"),
    "task": ("[", "]"),
}
_DOT = {"router": "diamond", "join": "box3d", "human": "ellipse", "wait": "octagon", "task": "box"}


def form_of(step: Step) -> str:
    """Say what kind of node a step is drawn as."""
    if step.spec.join is not None:
        return "join"
    if step.is_router:
        return "router"
    kind = step.tool[0].kind
    return kind if kind in ("human", "wait") else "task"


def caption(step: Step) -> str:
    """Return the words in the node of a step."""
    more = details(step)
    return f"{step.step} · {more}" if more else step.step


def details(step: Step) -> str:
    """Return what is said of a step beside its name: kinds of tasks, loop, join."""
    kinds = ", ".join(dict.fromkeys(task.kind for task in step.tool if task.kind != "noop"))
    marks = [kinds] if kinds else []
    if step.loop is not None:
        marks.append(f"for each {step.loop.iterator}")
    if step.spec.join is not None:
        mode = step.spec.join.mode
        marks.append(f"join {mode}" if isinstance(mode, str) else "join")
    return " · ".join(marks)


def edges_of(playbook: Playbook) -> Iterator[Edge]:
    """Yield the arcs between known steps."""
    known = {step.step for step in playbook.workflow}
    for step in playbook.workflow:
        for number, arc in enumerate(step.arcs):
            if arc.step in known:
                yield Edge(step.step, arc.step, _edge_label(arc), number)


def _edge_label(arc: Arc) -> str:
    parts = []
    if isinstance(arc.when, str):
        text = " ".join(arc.when.split()).removeprefix("{{").removesuffix("}}").strip()
        parts.append(text if len(text) <= _LABEL_MAX else text[: _LABEL_MAX - 1] + "…")
    if arc.foreach is not None:
        parts.append(f"each {arc.item}")
    if arc.copies is not None:
        parts.append(f"× {arc.copies}")
    return " · ".join(parts)


def _mermaid_text(text: str) -> str:
    text = _one_line(text)
    return (
        text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    )


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _quoted(text: str) -> str:
    escaped = _one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
