"""The pages of the tools: their fields stand between two marks, the rest of a page is written by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec

from petra.kinds import KINDS, SERVER_KINDS, Knobs
from petra.playbook.grammar import Field, Shape, about, fields_of

ROOT = Path(__file__).parents[1]

_BEGIN = "<!-- made from src/petra/kinds.py by scripts/generate_docs.py -->"
_END = "<!-- end -->"
# Which tasks a knob concerns, by the words its description begins with.
_SQL = ("postgres", "sqlite", "duckdb")


def tool_index() -> str:
    """List the kinds of tasks."""
    lines = [
        "# Kinds of tasks",
        "",
        "What a task does is chosen by its `kind`. Every kind tries once: what follows from the outcome is for the",
        "[policy](../task-policy.md) of the task. [A kind of your own](../../how-to/write-a-tool.md) takes 25 lines.",
        "",
        "| kind | does | runs on |",
        "|---|---|---|",
    ]
    for kind, struct in KINDS.items():
        where = "the server" if kind in SERVER_KINDS else "a worker"
        lines.append(f"| [{kind}]({kind}.md) | {about(struct)} | {where} |")
    return "\n".join(lines) + "\n"


def tool_page(kind: str) -> str:
    """Return the page of a kind with its fields as they are now."""
    page = (ROOT / f"docs/reference/tools/{kind}.md").read_text(encoding="utf-8")
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise SystemExit(f"docs/reference/tools/{kind}.md has no marks for its fields")
    return f"{before}{_BEGIN}\n{_fields(kind)}\n{_END}{after}"


def _fields(kind: str) -> str:
    struct = KINDS[kind]
    parts = [about(struct)]
    if table := _table(struct):
        parts += ["## Fields", *table]
    for inner in _inner(struct):
        parts += [f"### {inner.__name__}", about(inner), *_table(inner)]
    knobs = [field.key for field in fields_of(Knobs).values() if _concerns(field, kind)]
    if fields := [key for key in knobs if key in fields_of(struct)]:
        parts.append("These may stand in any `spec` further out as well:")
        parts.append(", ".join(f"`{key}`" for key in fields) + ".")
    if settings := [key for key in knobs if key not in fields_of(struct)]:
        parts.append("These stand in `spec`, of the task or further out:")
        parts.append(", ".join(f"`{key}`" for key in settings) + ".")
    return "\n\n".join(parts)


def _concerns(field: Field, kind: str) -> bool:
    names = field.shape.note.description.partition(":")[0]
    return kind in names or (names == "SQL" and kind in _SQL)


def _table(struct: type[msgspec.Struct]) -> list[str]:
    rows = [
        f"| `{field.key}` | {_type(field.shape)} | {_default(field)} | {in_cell(field.shape.note.description)} |"
        for field in fields_of(struct).values()
    ]
    return (
        ["\n".join(["| field | takes | default | is |", "|---|---|---|---|", *rows])]
        if rows
        else []
    )


def in_cell(text: str) -> str:
    """Return a text as a cell of a table has it, where a bar would begin the next one."""
    return text.replace("|", "\\|")


def _inner(struct: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """Return the structs inside a struct, each once, outermost first."""
    found: dict[type[msgspec.Struct], None] = {}
    waiting = [field.shape for field in fields_of(struct).values()]
    while waiting:
        shape = waiting.pop(0)
        waiting += [*shape.options, *([shape.item] if shape.item else [])]
        if shape.struct is not None and shape.struct not in found:
            found[shape.struct] = None
            waiting += [field.shape for field in fields_of(shape.struct).values()]
    return list(found)


def _type(shape: Shape) -> str:
    match shape.kind:
        case "choice":
            return ", ".join(f"`{choice}`" for choice in shape.choices)
        case "list":
            return f"list of {_type(shape.item)}" if shape.item else "list"
        case "map":
            return "object"
        case "struct":
            return shape.struct.__name__ if shape.struct else "object"
        case "union":
            # A number or a flag may be a template, which is text.
            options = [o for o in shape.options if o.kind != "null"]
            if any(o.kind in {"int", "number", "bool"} for o in options):
                options = [o for o in options if o.kind != "text"]
            return " or ".join(dict.fromkeys(_type(option) for option in options))
        case "int" | "number":
            return "number"
        case "bool":
            return "true or false"
        case _:
            return {"any": "anything", "text": "text", "null": "null"}[shape.kind]


def _default(field: Field) -> str:
    if field.required:
        return "required"
    value = field.default()
    return "" if value is None or value == [] else f"`{msgspec.json.encode(value).decode()}`"
