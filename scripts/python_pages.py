"""The pages of the public modules: each public name with its signature and its docstring, after an example that runs."""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from public_face import (
    MODULES,
    Member,
    doc_of,
    doc_of_name,
    field_docs,
    is_made_by_programs,
    leaks_of,
    literally,
    members_of,
    parameter_leaks,
    public_names,
    public_things,
)

WIDTH = 100

_HELLO = """\
import petra

result = petra.run("examples/hello.yaml", {"name": "Ada"}, home="state")
print(result.status, result.output)
"""
_NET = """\
from petra.net import Net, Transition, drain, start

net = Net.of(
    "coffee",
    places=["coin", "cup", "coffee"],
    transitions=[Transition.of("brew", "2 coin + cup -> coffee")],
    initial={"coin": 2, "cup": 1},
)
print(drain(start(net)).marking)
"""
_TESTING = """\
from pathlib import Path

from petra.testing import load_suite, run_case

for case in load_suite(Path("examples/hello.test.yaml")).cases:
    print(case.name, run_case(case).result)
"""
_TOOLS = """\
import asyncio
from typing import Annotated, ClassVar

from petra.tools import Fields, Outcome, Text, ToolContext, ToolError, attempt, ok, says


class Upper(Fields, frozen=True):
    \"\"\"Writes a text in capitals.\"\"\"

    text: Annotated[Text, says("The text.")]


class UpperTool:
    kind: ClassVar[str] = "upper"
    spec: ClassVar[type[Fields]] = Upper

    async def run(self, fields: Upper, context: ToolContext) -> Outcome:
        if not fields.text:
            raise ToolError("client_error", "there is no text")
        return ok(fields.text.upper())


print(asyncio.run(attempt(UpperTool(), {"text": "ada"}, ToolContext())).result)
"""
_CLIENT = """\
import asyncio

from petra.client import connect


async def main() -> None:
    async with connect("http://127.0.0.1:7777", "TOKEN") as server:
        done = await server.run("examples/hello.yaml", {"name": "Ada"})
        print(done.status, done.output)


asyncio.run(main())
"""

EXAMPLES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "petra": (_HELLO, "completed Hello, Ada!\n"),
        "petra.net": (_NET, "<Marking coffee>\n"),
        "petra.testing": (
            _TESTING,
            "the world is greeted by default passed\nthe request decides whom to greet passed\n",
        ),
        "petra.tools": (_TOOLS, "ADA\n"),
        "petra.client": (_CLIENT, "completed Hello, Ada!\n"),
    }
)
"""For each module a program, and what it prints."""

_ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "petra": "Running playbooks from a program of your own: [how to embed Petra](../../how-to/embed-petra.md).",
        "petra.net": "Petri nets as a library, without playbooks: [in ten lines](../../tutorial/a-petri-net-in-ten-lines.md),"
        " and [the same names by subject](../net.md).",
        "petra.testing": "Playbooks in virtual time: [how to test a playbook](../../how-to/test-a-playbook.md).",
        "petra.tools": "For packages that bring a kind of task: [how to write a tool](../../how-to/write-a-tool.md).",
        "petra.client": "A program that talks to a server: [how to run one](../../how-to/run-a-server.md).",
    }
)


def python_index() -> str:
    """List the public modules."""
    lines = [
        "# What is public in Python",
        "",
        "A program may rely on the names of these pages: what they take and return changes as [upgrade](../../how-to/upgrade.md) says.",
        "Everything else in the package is private, whatever its name, and so are members of these classes that no page shows.",
        "",
        "| module | names |",
        "|---|---|",
    ]
    for module in MODULES:
        names = public_names(module)
        shown = ", ".join(f"`{name}`" for name in names)
        lines.append(f"| [{module}]({module}.md) | {shown} |")
    return "\n".join(lines) + "\n"


def python_page(module: str) -> str:
    """Describe every public name of a module."""
    code, printed = EXAMPLES[module]
    lines = [f"# {module}", "", _ABOUT[module], "", "```python", code.rstrip(), "```", ""]
    lines += ["```text", printed.rstrip(), "```"]
    sections: dict[str, list[str]] = {}
    for name, thing in sorted(public_names(module).items(), key=lambda pair: pair[0].lower()):
        title, entry = _entry(module, name, thing)
        sections.setdefault(title, []).extend(["", f"### {name}", "", *entry])
    for title in ("Functions", "Classes", "Errors", "Types", "Modules"):
        if title in sections:
            lines += ["", f"## {title}", *sections[title]]
    return "\n".join(lines) + "\n"


def _entry(module: str, name: str, thing: Any) -> tuple[str, list[str]]:
    """Return the section of a name, and what is said of it."""
    known = public_things()[id(thing)]
    if known != f"{module}.{name}" and not inspect.ismodule(thing):
        place = known.rpartition(".")[0]
        return _section(thing), [f"The same as [{known}]({place}.md#{name.lower()})."]
    if inspect.ismodule(thing):
        return "Modules", _prose(doc_of(thing))
    if isinstance(thing, types.FunctionType):
        return "Functions", [*_fence(_signature(name, thing)), *_prose(doc_of(thing))]
    if isinstance(thing, type):
        return _section(thing), list(_class(name, thing))
    choices = typing.get_args(thing) if typing.get_origin(thing) is typing.Literal else ()
    among = ["", f"One of {', '.join(f'`{choice}`' for choice in choices)}."] if choices else []
    return "Types", [*_prose(doc_of_name(name, module)), *among]


def _section(thing: Any) -> str:
    if isinstance(thing, type):
        return "Errors" if issubclass(thing, Exception) else "Classes"
    return "Functions" if isinstance(thing, types.FunctionType) else "Types"


def _class(name: str, cls: type) -> Iterator[str]:
    """Describe a class: how it is made, its fields, its properties and methods."""
    if base := next((b for b in cls.__bases__ if id(b) in public_things()), None):
        article = "An" if base.__name__[0] in "AEIOU" else "A"
        place = public_things()[id(base)].rpartition(".")[0]
        yield f"{article} [{base.__name__}]({place}.md#{base.__name__.lower()})."
        yield ""
    members = [member for member in members_of(cls) if not leaks_of(member)]
    fields = [member for member in members if member.kind == "field"]
    if is_made_by_programs(cls):
        yield from _fence(_signature(name, vars(cls)["__init__"]))
    yield from _prose(doc_of(cls))
    if fields:
        yield from _fields(fields)
    if choices := [member.name for member in members if member.kind == "choice"]:
        yield from ("", f"One of {', '.join(f'`{choice}`' for choice in choices)}.")
    for member in members:
        if member.kind in ("property", "method"):
            yield from ("", f"#### {name}.{member.name}", "")
            yield from _member(member)


def _member(member: Member) -> Iterator[str]:
    if member.kind == "method":
        yield from _fence(_signature(member.name, member.value))
    else:
        yield f"`{_shown(member.annotations.get('return'))}`"
        yield ""
    yield from _prose(doc_of(member.value))


def _fields(fields: list[Member]) -> Iterator[str]:
    """Write a table of fields; where none says what it means, there is no column for that."""
    meanings = [field_docs(member.owner).get(member.name, "") for member in fields]
    if any(meanings):
        yield from ("", "| field | type | meaning |", "|---|---|---|")
    else:
        yield from ("", "| field | type |", "|---|---|")
    for member, meaning in zip(fields, meanings, strict=True):
        shown = _shown(literally(member.annotations["return"], member.owner))
        cells = [f"`{member.name}`", f"`{shown}`"]
        yield _row([*cells, _plain(meaning)] if any(meanings) else cells)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


# Signatures


def _signature(name: str, function: Any) -> str:
    """Write a function as its source does; what may be left out and shows what is not public is left out."""
    function = inspect.unwrap(function)
    signature = inspect.signature(function)
    private = parameter_leaks(function)
    shown: list[str] = []
    after_star = False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls") or parameter.name.startswith("_"):
            continue
        if parameter.name in private and parameter.default is not parameter.empty:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not after_star:
            shown.append("*")
            after_star = True
        after_star = after_star or parameter.kind is parameter.VAR_POSITIONAL
        shown.append(_parameter(parameter))
    head = "async " if _is_awaited(function) else ""
    end = "" if name[0].isupper() else f" -> {_shown(signature.return_annotation)}"
    line = f"{head}{name}({', '.join(shown)}){end}"
    if len(line) <= WIDTH:
        return line
    return f"{head}{name}(\n" + "".join(f"    {part},\n" for part in shown) + f"){end}"


def _is_awaited(function: Any) -> bool:
    return inspect.iscoroutinefunction(function)


def _parameter(parameter: inspect.Parameter) -> str:
    text = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        text = ("*" if parameter.kind is parameter.VAR_POSITIONAL else "**") + text
    if parameter.annotation is not parameter.empty:
        text += f": {_shown(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        text += f" = {_default(parameter.default)}"
    return text


def _default(value: Any) -> str:
    if isinstance(value, types.LambdaType) and value.__name__ == "<lambda>":
        return "…"
    if isinstance(value, types.FunctionType | type):
        return str(value.__name__)
    if isinstance(value, enum.Enum):
        return str(value)
    return re.sub(r"\b(?:petra\.[\w.]+\.)(\w+)", r"\1", repr(value))


def _shown(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    if annotation is inspect.Signature.empty or annotation is None:
        return "None"
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


# Docstrings


def _fence(code: str) -> list[str]:
    return ["```python", code, "```", ""]


def _prose(doc: str) -> list[str]:
    """Write a docstring as Markdown: its paragraphs, and the errors as a list."""
    text, _, raises = doc.partition("\nRaises:\n")
    lines = _plain(text).strip().splitlines()
    if raises:
        errors = re.sub(r"\n\s{8,}", " ", raises)
        lines += ["", "Raises:", ""]
        lines += [f"- {_error(line.strip())}" for line in errors.splitlines() if line.strip()]
    return lines


def _error(line: str) -> str:
    name, colon, why = line.partition(": ")
    return f"`{name}`: {_plain(why)}" if colon else _plain(line)


def _plain(text: str) -> str:
    """Take out what concerns the code only, and write code as Markdown does."""
    text = re.sub(r" \(S\d+(?:, S\d+)*\)", "", text)
    return re.sub(r"(?<!`)``(?!`)", "`", text)
