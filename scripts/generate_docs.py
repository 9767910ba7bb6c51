"""Writes the pages under docs that are made from the code; ``--check`` only tells which are stale.

A further page is a further row of ``PAGES``: its path, and a function that returns its whole text.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

import msgspec
from access_page import access_page
from api_page import api_description, api_page, problems_page
from cli_page import cli_page
from public_face import MODULES
from python_pages import python_index, python_page
from tool_pages import tool_index, tool_page

from petra.engine.limits import LIMITS
from petra.expr import limits as expression
from petra.expr.scopes import Use
from petra.kernel.gathering import GATHER_BYTES
from petra.kernel.growing import PIECES_MAX
from petra.kernel.prepare import DEPTH_MAX
from petra.kernel.program import CHUNK_MAX, EVENTS_LEAST, EVENTS_MAX, EVENTS_PER_TOKEN
from petra.kernel.state import DELIVERIES_MAX
from petra.kernel.tasks import KEPT_MAX
from petra.kinds import KINDS, SERVER_KINDS, Knobs, PythonEnvironment, Timeouts
from petra.playbook import model, yaml12
from petra.playbook.codes import CODES
from petra.playbook.credentials import CREDENTIAL_KINDS
from petra.playbook.grammar import Field, Shape, about, extra_of, fields_of
from petra.references import SERVER_ROOM, WORKER_ROOM
from petra.store.judge import MAX_SEQ
from petra.wire import frames
from petra.worker.loaded import BUDGET_BYTES
from petra.worker.playbooks import INLINE_MOST
from petra.worker.results import LOOP_ROOM

ROOT = Path(__file__).parents[1]

_GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "P0": "The text: errors before anything has been understood",
        "P1": "The document: errors that keep a playbook from running",
        "P2": "Warnings: the playbook runs, though perhaps not as meant",
        "P3": "The net: what the analysis of the flow finds",
        "P4": "Around the file: what it needs and is not there",
        "P5": "Schedules and triggers: documents that start playbooks",
    }
)


def error_index() -> str:
    """List every code with its sentence and its page."""
    lines = [
        "# Codes of problems",
        "",
        "Every problem that Petra reports ends with a code in brackets, such as `[P104]`. A code keeps its",
        "meaning for good; its page says how the problem comes about and how to mend it. `petra explain P104` prints the page.",
    ]
    for prefix, title in _GROUPS.items():
        codes = [code for code in CODES if code.startswith(prefix)]
        if codes:
            lines += ["", f"## {title}", "", "| code | meaning |", "|---|---|"]
            lines += [f"| [{code}]({code}.md) | {CODES[code]} |" for code in codes]
    return "\n".join(lines) + "\n"


# The language

Structs = tuple[type[msgspec.Struct], ...]

_INTRODUCTION = """\
# The language

A playbook is one YAML file. Its steps form a Petri net: tokens move along arcs from step to step, and a step
that gets a token runs its tasks. This page lists every key, made from the grammar that `petra check` uses and
that `petra schema` prints for editors. A key that is not listed is an error.

```yaml
apiVersion: petra/v1
kind: Playbook
metadata: {name: orders}
workload: {order: 7}
workflow:
  - step: fetch
    tool: {kind: http, url: "https://shop.example/orders/{{ workload.order }}"}
    next:
      arcs:
        - {step: review, when: "{{ event.result.data.total > 1000 }}"}
        - {step: ship}
  - step: review
    tool: {kind: human, title: "Ship order {{ workload.order }}?"}
    next: {arcs: [{step: ship, when: "{{ event.result.action == 'approve' }}"}, {step: end}]}
  - step: ship
    tool: {kind: shell, argv: [./ship, "{{ workload.order }}"]}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop}
```

In the tables, *template* marks a value that may hold `{{ … }}`; [expressions](expressions.md) says what
templates can do. Files with a `noetl.io` header and older words are read too: `petra migrate` rewrites them
into the words of this page.
"""

_SECTIONS: Sequence[tuple[str, str, Structs]] = (
    (
        "The document",
        ("`apiVersion`, `kind`, `metadata` and `workflow` are always there. `workload` is data: the request is"
        " merged over it, and nothing changes it afterwards. Secrets are declared in `keychain` and read by"
        " workers only."),
        (model.Playbook, model.Metadata, model.Credential),
    ),
    (
        "Steps",
        ("A step has tasks (`tool`), or only leads on (`next`), or both. A token that arrives waits until it is"
        " admitted; then the tasks run one after the other, and the end of the run decides where tokens go. `set_ctx`"
        " and `set_iter` may stand on a step: they are short for those of its [last task](task-policy.md#setting-one-value)."),
        (
            model.Step, model.StepSpec, model.StepPolicy, model.Admit, model.AdmitRule, model.AdmitElse, model.Allow,
            model.Lifecycle, model.Failure, model.Resource, model.Emit, model.Cancels, model.Compensate,
        ),
    ),
    (
        "Tasks",
        ("`tool` is one task or a list of them. After each attempt the task's policy looks at the `outcome` and"
        " decides: see [task policy](task-policy.md). A list may also hold `choose: [{when, do: […]}, {else:"
        " […]}]`, `while: {when, do: […], max}` and `until: {when, do: […], max}`, which become jumps. A task of"
        " the workbook is called by `{kind: workbook, name: …}`; keys given at the call win."),
        (
            model.Task, model.TaskSpec, model.TaskPolicy, model.PolicyRule, model.PolicyElse, model.Action, Knobs, Timeouts, PythonEnvironment,
        ),
    ),
    (
        "Loops",
        ("A loop runs the tasks of its step once per item. The item is `iter.<iterator>`, its number `iter.index`,"
        " and the iteration around it `iter.parent`."),
        (model.Loop, model.LoopSpec, model.LoopPolicy),
    ),
    (
        "Routing",
        ("At the end of a step its arcs are tried in order. An exclusive router takes the first whose guard holds,"
        " an inclusive one all of them. After a failure only arcs that read `event`, `ok()` or `fail()` are tried."),
        (model.Router, model.RouterSpec, model.Arc),
    ),
    (
        "Joins",
        ("Tokens that one firing made through inclusive arcs, `foreach` or `copies` are siblings. A join holds them"
        " back until enough have arrived, and goes on with one token."),
        (model.Join, model.MOfN, model.JoinWhen, model.Merge),
    ),
    (
        "The executor",
        ("What holds for the whole execution: where it begins and ends, what it returns, how writes to one `ctx`"
        " key combine, and its limits."),
        (
            model.Executor, model.ExecutorSpec, model.CtxKey, model.ExecutorPolicy, model.Defaults,
            model.DefaultTimeouts, model.Results, model.Limits, model.NotifyRule, model.Concurrency,
        ),
    ),
)  # fmt: skip
# Where more may be written than the grammar sees: a text is brought into one shape first.
_SHORT_FORMS: Mapping[tuple[type[msgspec.Struct], str], Mapping[str, str]] = MappingProxyType(
    {
        (model.Step, "tool"): {"value": "[Task](#task) or list of [Task](#task)"},
        (model.Compensate, "tool"): {"value": "[Task](#task) or list of [Task](#task)"},
        (model.Task, "name"): {"default": "`STEP_task`; in a list `task_0`, `task_1` …"},
    }
)
_KINDS = (
    "The keys of a task depend on its kind. Workers run all kinds but "
    + ", ".join(f"`{kind}`" for kind in sorted(SERVER_KINDS))
    + ": those belong to the server, and each is the only task of its step."
)
_WORDS: Mapping[str, str] = MappingProxyType(
    {"any": "anything", "text": "text", "int": "whole number", "number": "number", "bool": "true or false"}
)  # fmt: skip


def language() -> str:
    """Describe every key of the language, section by section."""
    inner = _inner_structs()
    contents = [f"- [{title}](#{_slug(title)}): {_links(parts)}" for title, _, parts in _SECTIONS]
    kinds = ", ".join(f"[{kind}](#kind-{kind})" for kind in KINDS)
    lines = [_INTRODUCTION, *contents, f"- [Kinds of tasks](#kinds-of-tasks): {kinds}"]
    for title, words, parts in _SECTIONS:
        lines += ["", f"## {title}", "", words]
        for struct in parts:
            lines += _chapter(struct.__name__, struct)
    lines += ["", "## Kinds of tasks", "", _KINDS]
    for kind, struct in KINDS.items():
        lines += _chapter(f"kind: {kind}", struct)
        for part in inner[struct]:
            lines += _chapter(part.__name__, part)
    return "\n".join(lines) + "\n"


def _inner_structs() -> dict[type[msgspec.Struct], list[type[msgspec.Struct]]]:
    """Find the structs that only kinds use, and give each to the first kind that does."""
    told = {*KINDS.values(), *(struct for _, _, parts in _SECTIONS for struct in parts)}
    inner: dict[type[msgspec.Struct], list[type[msgspec.Struct]]] = {}
    for kind in KINDS.values():
        inner[kind] = []
        waiting: list[type[msgspec.Struct]] = [kind]
        while waiting:
            for found in fields_of(waiting.pop(0)).values():
                new = [part for part in _structs(found.shape) if part not in told]
                told.update(new)
                waiting += new
                inner[kind] += new
    return inner


def _structs(shape: Shape) -> list[type[msgspec.Struct]]:
    found = [shape.struct] if shape.struct is not None else []
    for part in (*shape.options, *([shape.item] if shape.item is not None else [])):
        found += _structs(part)
    return found


def _links(parts: Structs) -> str:
    return ", ".join(map(_link, parts))


def _link(struct: type[msgspec.Struct]) -> str:
    kind = next((kind for kind, fields in KINDS.items() if fields is struct), None)
    title = struct.__name__ if kind is None else f"kind: {kind}"
    return f"[{title}](#{_slug(title)})"


def _slug(title: str) -> str:
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def _chapter(title: str, struct: type[msgspec.Struct]) -> list[str]:
    """Describe one mapping: what it is, and a table of its keys."""
    lines = ["", f"### {title}", "", about(struct)]
    if rows := [_row(struct, found) for found in fields_of(struct).values()]:
        lines += ["", "| key | value | default | meaning |", "|---|---|---|---|", *rows]
    if extra_of(struct) == "knobs":
        lines += ["", "Further keys: the [settings of tasks](#knobs)."]
    elif struct is model.Task:
        lines += ["", "Further keys: those of its [kind](#kinds-of-tasks)."]
    elif struct is model.Credential:
        lines += ["", "| kind | further keys |", "|---|---|"]
        for kind, keys in CREDENTIAL_KINDS.items():
            lines.append(f"| `{kind}` | {', '.join(f'`{key}`' for key in keys)} |")
    return lines


def _row(struct: type[msgspec.Struct], found: Field) -> str:
    shape, note = found.shape, found.shape.note
    short = _SHORT_FORMS.get((struct, found.key), {})
    value = short.get("value") or _value(shape)
    if note.facts.get("use") not in (None, Use.CONSTANT) or _holds_templates(shape):
        value += ", *template*"
    inner = (option.note.description for option in shape.options)
    meaning = note.description or next(filter(None, inner), "")
    if not meaning and (parts := _structs(shape)):
        meaning = about(parts[0])
    cells = [f"`{found.key}`", value, short.get("default") or _default(found), meaning]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _holds_templates(shape: Shape) -> bool:
    use = shape.note.facts.get("use")
    return use not in (None, Use.CONSTANT) or any(map(_holds_templates, shape.options))


def _value(shape: Shape) -> str:
    bound = "" if shape.note.least is None else f" ≥ {shape.note.least:g}"
    bound += "" if shape.note.most is None else f" ≤ {shape.note.most:g}"
    bound += "" if shape.note.above is None else f" > {shape.note.above:g}"
    match shape.kind:
        case "choice":
            return ", ".join(f"`{choice}`" for choice in shape.choices)
        case "struct":
            assert shape.struct is not None
            return _link(shape.struct)
        case "list":
            assert shape.item is not None
            return "list" if shape.item.kind == "any" else f"list of {_value(shape.item)}"
        case "map":
            assert shape.item is not None
            return "mapping" if shape.item.kind == "any" else f"name to {_value(shape.item)}"
        case "union":
            options = [_value(option) for option in shape.options if option.kind != "null"]
            if "number" in options and "whole number" in options:
                options.remove("whole number")
            return " or ".join(dict.fromkeys(options))
        case _:
            return _WORDS[shape.kind] + bound


def _default(found: Field) -> str:
    if found.required:
        return "**required**"
    value = found.default()
    if value in (None, msgspec.UNSET) or isinstance(value, msgspec.Struct) or value in ([], {}):
        return ""
    return f"`{msgspec.json.encode(value).decode().strip(chr(34))}`"


def limits() -> str:
    """List every limit of the engine, and those of others that its users meet."""
    lines = [
        "# Limits",
        "",
        "Nothing in Petra grows without bound. Each limit has a name in the code, a value, and something that",
        "happens when it is reached; nothing is dropped in silence. This page is made from the code.",
        "",
        "## The engine",
        "",
        "| name | value | unit | when it is reached |",
        "|---|---:|---|---|",
    ]
    lines += [f"| `{x.name}` | {x.value:,} | {x.unit} | {x.at} |" for x in LIMITS]
    lines += [
        "",
        "## Playbooks, runs and frames",
        "",
        "| limit | value | when it is reached |",
        "|---|---:|---|",
    ]
    lines += [f"| {what} | {value:,} {unit} | {at} |" for what, value, unit, at in _OTHERS]
    return "\n".join(lines) + "\n"


_OTHERS = (
    ("text of a playbook", yaml12.TEXT_BYTES_MAX, "bytes", "it is refused (P0…)"),
    ("nesting of a playbook", yaml12.DEPTH_MAX, "levels", "it is refused"),
    ("nodes of a playbook after anchors", yaml12.NODES_MAX, "nodes", "it is refused"),
    (
        "tokens of one firing (`foreach`, `copies`)",
        model.BRANCHES_MAX,
        "tokens",
        "its step fails (kind limit, code branches) before there is one; a number that is written down is refused (P103)",
    ),
    (
        "pieces of a value of ctx that grows",
        PIECES_MAX,
        "pieces",
        "about a gibibyte; the write fails its run (kind limit)",
    ),
    ("text of one template", expression.MAX_SOURCE, "characters", "it is refused (P119)"),
    ("words and signs in one template", expression.MAX_TOKENS, "tokens", "it is refused (P119)"),
    ("nesting of an expression", expression.MAX_DEPTH, "levels", "it is refused (P119)"),
    ("nesting of a value with templates", expression.MAX_LEVELS, "levels", "it is refused (P119)"),
    (
        "result of an expression: characters, and 8 for each number, list and object",
        expression.MAX_RESULT,
        "units",
        "the expression fails (kind limit)",
    ),
    ("`range` in an expression", expression.MAX_RANGE, "numbers", "the expression fails"),
    ("work of one evaluation", expression.FUEL, "units", "the expression fails (kind limit)"),
    ("deliveries of one run", DELIVERIES_MAX, "deliveries", "an incident instead of a further one"),
    ("depth of sub-playbooks", DEPTH_MAX, "levels", "the step fails"),
    (
        "signals of one name that an execution keeps",
        KEPT_MAX,
        "signals",
        "a further one that no step waits for yet is refused",
    ),
    (
        "events of one decision",
        EVENTS_LEAST,
        "events",
        (
            f"and {EVENTS_PER_TOKEN} for each token and run that was there and each branch that it makes, at most {EVENTS_MAX:,} in all; with"
            " more the execution fails: it never comes to rest"
        ),
    ),
    ("iterations handed out together", CHUNK_MAX, "iterations", "the rest is a further chunk"),
    (
        "a value inline, unless `executor.spec.policy.limits.max_payload_bytes` says otherwise",
        model.Limits().max_payload_bytes,
        "bytes",
        "it is stored as an object",
    ),
    (
        "a result inline, whatever `max_payload_bytes` says",
        INLINE_MOST,
        "bytes",
        "it is stored as an object",
    ),
    ("results of one loop inline", LOOP_ROOM, "bytes", "further results are stored as objects"),
    ("objects that one run reads", BUDGET_BYTES, "bytes", "the task fails (kind limit)"),
    (
        "results of a loop that are stored at a time",
        GATHER_BYTES,
        "bytes",
        "the rest is a further piece",
    ),
    (
        "a value built over references, on the server",
        SERVER_ROOM.built,
        "bytes",
        "the expression fails (kind limit)",
    ),
    (
        "a value built over references, on a worker",
        WORKER_ROOM.built,
        "bytes",
        "the expression fails (kind limit)",
    ),
    (
        "a frame between engine and worker",
        frames.MAX_FRAME,
        "bytes",
        "what needs a longer one fails (kind limit)",
    ),
    ("records of one execution", MAX_SEQ, "records", "nothing more is stored for it"),
)


PAGES: Sequence[tuple[str, Callable[[], str]]] = (
    ("docs/reference/cli.md", cli_page),
    ("docs/reference/errors/README.md", error_index),
    ("docs/reference/language.md", language),
    ("docs/reference/limits.md", limits),
    ("docs/reference/api.md", api_page),
    ("docs/reference/problems.md", problems_page),
    ("docs/reference/access.md", access_page),
    ("web/openapi.json", api_description),
    ("docs/reference/tools/README.md", tool_index),
    ("docs/reference/python/README.md", python_index),
    *((f"docs/reference/python/{module}.md", partial(python_page, module)) for module in MODULES),
    *((f"docs/reference/tools/{kind}.md", partial(tool_page, kind)) for kind in KINDS),
)


@cache
def texts() -> dict[str, str]:
    """Return the text of each page; it takes seconds to make them all."""
    return {path: write() for path, write in PAGES}


def stale(root: Path) -> dict[str, str]:
    """Return the pages whose file is missing or says something else, with the text they should have."""
    return {path: text for path, text in texts().items() if _text_of(root / path) != text}


def _text_of(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write the stale pages, or with ``--check`` list them; the exit code."""
    parser = argparse.ArgumentParser(description="Write the generated pages under docs.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if any is stale"
    )
    check = parser.parse_args(arguments).check
    pages = stale(root)
    for path, text in pages.items():
        print(f"stale: {path}" if check else f"wrote {path}")
        if not check:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
    return 1 if check and pages else 0


if __name__ == "__main__":
    sys.exit(main())
