"""What stands at a place of the text, in the words of the reference."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from petra.editor.entry import Entry
from petra.editor.names import Name, Text
from petra.editor.words import NAMES, STATES, filters, tests
from petra.kinds import KINDS
from petra.playbook.codes import CODES
from petra.playbook.grammar import Field, Shape, about
from petra.playbook.model import Task
from petra.playbook.problems import line_starts

_WORD = re.compile(r"\w+")
_CODE = re.compile(r"\bP[0-9]{3}\b")
_KINDS = {"any": "anything", "text": "text", "int": "whole number", "number": "number", "bool": "true or false"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hover:
    """What is said about the text from ``start`` to ``end``, in Markdown."""

    words: str
    start: int
    end: int


def hover(text: Text, offset: int) -> Hover | None:
    """Say what stands at a place; nothing where there is nothing to say."""
    if (code := _at(_CODE, text.text, offset)) is not None and code[0] in CODES:
        words = f"**{code[0]}** {CODES[code[0]]}.\n\n`petra explain {code[0]}` says how to mend it."
        return Hover(words, code.start(), code.end())
    name = text.name_at(offset)
    if name is not None and (said := _of_name(text, name)):
        return Hover(said, name.start, name.end)
    entry, is_key = text.at(offset)
    if entry is None:
        return None
    place = text.place(entry)
    if is_key:
        said = _of_key(entry, place.field)
        return Hover(said, entry.start, entry.end) if said else None
    word = _at(_WORD, text.text, offset)
    if word is None:
        return None
    said = _of_value(text, entry, word)
    return Hover(said, word.start(), word.end()) if said else None


def _at(pattern: re.Pattern[str], text: str, offset: int) -> re.Match[str] | None:
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    matches = pattern.finditer(text, start, end if end >= 0 else len(text))
    return next((match for match in matches if match.start() <= offset <= match.end()), None)


# Keys


def _of_key(entry: Entry, field: Field | None) -> str:
    if field is None:
        return ""
    lines = [f"**{entry.key}**: {_value(field.shape)}"]
    shapes = [field.shape, *field.shape.options]
    said = next((shape.note.description for shape in shapes if shape.note.description), "")
    for shape in shapes:
        struct = shape.struct or (shape.item.struct if shape.item is not None else None)
        if struct is not None and not said:
            said = about(struct)
    lines += ["", said] if said else []
    default = field.default() if not field.required else None
    if field.required:
        lines += ["", "Required."]
    elif isinstance(default, str | int | float) and default != "":
        shown = str(default).lower() if isinstance(default, bool) else default
        lines += ["", f"Default: `{shown}`"]
    return "\n".join(lines)


def _value(shape: Shape) -> str:
    match shape.kind:
        case "choice":
            return ", ".join(f"`{choice}`" for choice in shape.choices)
        case "list":
            return "list"
        case "map" | "struct":
            return "mapping"
        case "union":
            values = [_value(option) for option in shape.options if option.kind != "null"]
            return " or ".join(dict.fromkeys(values))
        case _:
            return _KINDS.get(shape.kind, shape.kind)


# Names


def _of_name(text: Text, name: Name) -> str:
    entry = text.definition(name)
    if entry is None:
        return ""
    line = bisect_right(line_starts(text.text), entry.start)
    if name.kind != "step":
        kind = entry.text("kind")
        return f"**{name.name}** is a {name.kind} of kind `{kind}`, written on line {line}."
    lines = [f"**{name.name}** is a step, written on line {line}."]
    if desc := entry.text("desc"):
        lines += ["", desc]
    kinds = [part.value for part in entry.walk() if part.key == "kind" and _is_kind(text, part)]
    lines += ["", "runs " + ", ".join(f"`{kind}`" for kind in kinds) if kinds else "only leads on"]
    targets = _targets(entry)
    lines += ["", "leads to " + ", ".join(targets) if targets else "ends its branch"]
    sources = [other for other, step in text.steps.items() if name.name in _targets(step)]
    lines += ["", "reached from " + ", ".join(sources)] if sources else []
    return "\n".join(lines)


def _is_kind(text: Text, entry: Entry) -> bool:
    return entry.parent is not None and Task in text.place(entry.parent).structs


def _targets(step: Entry) -> list[str]:
    routing = step.find("next")
    arcs = routing.find("arcs") if routing is not None else None
    targets = [arc.text("step") for arc in arcs.entries] if arcs is not None else []
    return [target for target in dict.fromkeys(targets) if target]


# Values


def _of_value(text: Text, entry: Entry, word: re.Match[str]) -> str:
    before = text.text[entry.value_start : word.start()]
    if "{{" in before or "{%" in before:
        return _in_template(before, word[0])
    if entry.key == "kind" and word[0] in KINDS:
        return f"**kind: {word[0]}**\n\n{about(KINDS[word[0]])}"
    place = text.place(entry)
    if word[0] in place.choices and place.field is not None:
        return _of_key(Entry(place.field.key, 0, 0, 0), place.field)
    return ""


def _in_template(before: str, word: str) -> str:
    bare = before.rstrip()
    if bare.endswith("|") and word in (known := filters()):
        return f"**{word}** (filter)\n\n{known[word]}"
    if re.search(r"\bis(\s+not)?$", bare) and word in (asked := tests()):
        return f"**{word}** (test)\n\n{asked[word]}"
    if re.search(r"\bstep\.[\w-]+\.status\.$", bare) and word in STATES:
        return f"**{word}** (state of a step)\n\n{STATES[word]}"
    if not bare.endswith(".") and word in NAMES:
        return f"**{word}**\n\n{NAMES[word]}"
    return ""
