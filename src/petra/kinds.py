"""What each tool kind takes: one frozen struct per kind, its fields and their meaning (S14, S15, S16, S22).

The struct is the documentation, the JSON Schema and the check of a task's own keys; a plug-in brings a
struct of its own. ``KNOBS`` are settings that may also stand in a ``spec`` further out (S5).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from petra.expr.scopes import Use

# What a worker renders.
Text = Annotated[str, Meta(extra={"use": Use.TASK})]
"""Text that may be a template; the worker renders it."""
Data = Annotated[Any, Meta(extra={"use": Use.TASK})]
"""Any value, with templates anywhere in it."""
Map = Annotated[dict[str, Any], Meta(extra={"use": Use.TASK})]
"""A mapping, with templates in its values."""
Texts = Annotated[list[str], Meta(extra={"use": Use.TASK})]
"""A list of texts that may be templates."""
Number = Annotated[int | float | str, Meta(extra={"use": Use.TASK, "number": True})]
"""A number, or a template that gives one."""
Flag = Annotated[bool | str, Meta(extra={"use": Use.TASK})]
"""True or false, or a template that gives one of them."""
# What the server renders.
ServerText = Annotated[str, Meta(extra={"use": Use.SERVER_TASK})]
ServerTexts = Annotated[list[str] | str, Meta(extra={"use": Use.SERVER_TASK})]
ServerData = Annotated[Any, Meta(extra={"use": Use.SERVER_TASK})]
ServerNumber = Annotated[int | float | str, Meta(extra={"use": Use.SERVER_TASK, "number": True})]
# What nobody renders.
Constant = Annotated[str, Meta(extra={"use": Use.CONSTANT})]
"""Text that nobody renders: code, names."""
Constants = Annotated[dict[str, str], Meta(extra={"use": Use.CONSTANT})]
Schema = Annotated[dict[str, Any], Meta(extra={"schema": True})]


def says(description: str) -> Meta:
    """Describe a field."""
    return Meta(description=description)


class Fields(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Keys that belong together."""


class Noop(Fields, frozen=True):
    """Does nothing: a place for a policy that decides or patches."""


class Timeouts(Fields, frozen=True):
    """Time limits of one request, in seconds."""

    connect: Annotated[Number, says("Seconds to connect.")] = 10
    read: Annotated[Number, says("Seconds between two parts of the answer.")] = 30


class Http(Fields, frozen=True):
    """One HTTP request; 4xx and 5xx answers are error outcomes."""

    url: Annotated[Text, says("Where the request goes.")]
    method: Annotated[Text, says("GET, POST, …")] = "GET"
    params: Annotated[Map | None, says("The query string.")] = None
    headers: Annotated[Map | None, says("Headers of the request.")] = None
    json: Annotated[Data, says("A body sent as JSON.")] = None
    data: Annotated[Data, says("A body: an object is sent as JSON, text as it is.")] = None
    form: Annotated[Map | None, says("A body sent as a form.")] = None
    body: Annotated[Data, says("A body: text is sent as it is, an object as JSON.")] = None
    multipart: Annotated[
        Map | None,
        says(
            "A body of several parts, by name: text, or `{data|ref, encoding, filename, content_type}`."
        ),
    ] = None
    download: Annotated[
        Flag, says("Store the answer, of any size; `data` is the reference to its bytes.")
    ] = False
    auth: Annotated[Text | None, says("A name of the keychain.")] = None
    timeout: Annotated[Timeouts | Number | None, says("Time limits of the request.")] = None
    idempotent: Annotated[
        Flag,
        says("Send `_task.key` as `Idempotency-Key`: the same for every try and every delivery."),
    ] = False
    follow_redirects: Annotated[Flag, says("Follow redirects.")] = True
    verify: Annotated[Flag, says("Verify the server's certificate.")] = True
    max_bytes: Annotated[Number | None, says("Largest answer that is read.")] = None


class Sql(Fields, frozen=True):
    """One SQL command with bound parameters."""

    command: Annotated[
        Constant | None, says("The SQL, constant text; values are bound by `params`.")
    ] = None
    file: Annotated[Constant | None, says("A file beside the playbook that holds the SQL.")] = None
    params: Annotated[Data, says("Values for the placeholders: a list, or an object by name.")] = (
        None
    )
    many: Annotated[
        Data, says("A list of what `params` takes: the command is run for each, all or nothing.")
    ] = None
    auth: Annotated[Text | None, says("A name of the keychain.")] = None
    max_rows: Annotated[Number | None, says("More rows than this are an error.")] = None


class Copy(Fields, frozen=True):
    """Where COPY puts the rows of `many`."""

    table: Annotated[Text, says("The table; a dot divides schema and table.")]
    columns: Annotated[
        Texts | None,
        says("Its columns, in the order of the rows; those of the first row if it is an object."),
    ] = None


class Postgres(Sql, frozen=True):
    """One SQL command on PostgreSQL; placeholders are `$1`, `$2` and so on."""

    copy: Annotated[
        Copy | None, says("Write the rows of `many` with COPY instead of a command.")
    ] = None
    url: Annotated[Text | None, says("A connection URL, when no `auth` names one.")] = None


class Sqlite(Sql, frozen=True):
    """One SQL command on an SQLite file."""

    database: Annotated[Text | None, says("The file.")] = None


class Duckdb(Sql, frozen=True):
    """One SQL command on DuckDB."""

    database: Annotated[Text | None, says("The file; in memory when absent.")] = None


class Python(Fields, frozen=True):
    """Python code, run on the worker."""

    code: Annotated[Constant | None, says("Code that defines `main(…)` or sets `result`.")] = None
    file: Annotated[Constant | None, says("A file beside the playbook that holds the code.")] = None
    function: Annotated[Constant | None, says("`module:function` to call instead of `code`.")] = (
        None
    )
    modules: Annotated[
        Constants | None,
        says("Sources of modules, by name; those beside the playbook are found by themselves."),
    ] = None


class Shell(Fields, frozen=True):
    """A command of the operating system."""

    argv: Annotated[Texts | None, says("The program and its arguments, without a shell.")] = None
    script: Annotated[
        Constant | None, says("Text for `sh`, constant; values come in through `env`.")
    ] = None
    file: Annotated[Constant | None, says("A file beside the playbook that holds the script.")] = (
        None
    )
    env: Annotated[Map | None, says("Environment variables.")] = None
    cwd: Annotated[Text | None, says("The folder to run in.")] = None


class Artifact(Fields, frozen=True):
    """Reads or writes a large result by reference."""

    action: Annotated[Literal["get", "put"], says("What to do.")]
    ref: Annotated[Data, says("The reference to read.")] = None
    value: Annotated[Data, says("What to store.")] = None
    schema_hint: Annotated[Text | None, says("What the stored value is.")] = None


class Endpoint(Fields, frozen=True):
    """One end of a transfer."""

    kind: Annotated[
        Literal["postgres", "sqlite", "duckdb", "http", "rows"],
        says("What it is; `rows` are rows of the playbook itself."),
    ]
    auth: Annotated[Text | None, says("A name of the keychain.")] = None
    url: Annotated[Text | None, says("postgres, http: address or connection URL.")] = None
    database: Annotated[Text | None, says("sqlite, duckdb: the file.")] = None
    params: Annotated[
        Data, says("Values for the placeholders of `query`; of http, its query string.")
    ] = None


class Source(Endpoint, frozen=True):
    """Where the rows of a transfer come from."""

    query: Annotated[
        Constant | None, says("What to read: SQL, or of http the dotted path to the list.")
    ] = None
    rows: Annotated[Data, says("rows: a list of objects, or one object.")] = None


class Target(Endpoint, frozen=True):
    """Where the rows of a transfer go."""

    kind: Annotated[Literal["postgres", "sqlite", "duckdb", "http"], says("What it is.")]
    table: Annotated[Text | None, says("The table of a database.")] = None
    mode: Annotated[Literal["append", "replace", "upsert"], says("How to write.")] = "append"
    key: Annotated[Texts | None, says("Columns that identify a row, for upsert.")] = None


class Transfer(Fields, frozen=True):
    """Moves rows from one store to another in chunks."""

    source: Annotated[Source, says("Where rows come from.")]
    target: Annotated[Target, says("Where rows go.")]
    chunk_size: Annotated[Number, says("Rows per chunk.")] = 1000
    mapping: Annotated[Map | None, says("Target column to source column.")] = None


class Price(Fields, frozen=True):
    """What a model costs, for a million tokens each."""

    input: Annotated[Number, says("A million tokens that are sent.")] = 0
    output: Annotated[Number, says("A million tokens of answers.")] = 0


class TokenBudget(Fields, frozen=True):
    """What an execution may spend; the call is not made once that much is spent."""

    spent: Annotated[Number, says("What is spent so far, as in `{{ ctx.spent }}`.")]
    tokens: Annotated[Number | None, says("So many tokens, sent and answered.")] = None
    cost: Annotated[Number | None, says("So much money, in the unit of `price`.")] = None


class Llm(Fields, frozen=True):
    """One answer of a language model, from an endpoint that speaks as OpenAI's chat completions do."""

    endpoint: Annotated[Text, says("Where the API is, up to `/v1`.")]
    model: Annotated[Text, says("The name of the model.")]
    messages: Annotated[
        Data, says("What is said: a text of the user, or a list of `{role, content}`.")
    ]
    system: Annotated[Text | None, says("What the model is told before all messages.")] = None
    tools: Annotated[
        Data, says("Tools that it may ask for: a list of `{name, description, parameters}`.")
    ] = None
    schema: Annotated[
        Schema | None, says("JSON Schema of the answer, which is data then, and is checked.")
    ] = None
    options: Annotated[
        Map | None, says("Further keys of the request: `temperature`, `max_tokens`, …")
    ] = None
    price: Annotated[Price | None, says("What tokens cost, to know what the call did.")] = None
    budget: Annotated[TokenBudget | None, says("What the execution may spend.")] = None
    auth: Annotated[Text | None, says("A name of the keychain.")] = None
    headers: Annotated[Map | None, says("Headers of the request.")] = None
    timeout: Annotated[Timeouts | Number | None, says("Time limits of the request.")] = None
    verify: Annotated[Flag, says("Verify the server's certificate.")] = True
    max_bytes: Annotated[Number | None, says("Largest answer that is read.")] = None


class Mcp(Fields, frozen=True):
    """Calls a tool of an MCP server: one at an address, or a command that is started for the call."""

    tool: Annotated[Text, says("The name of the tool.")]
    url: Annotated[Text | None, says("Where the server is (streamable HTTP).")] = None
    command: Annotated[Text | None, says("The program that is the server (stdio).")] = None
    argv: Annotated[Texts | None, says("Arguments of the program.")] = None
    env: Annotated[Map | None, says("Environment variables of the program.")] = None
    cwd: Annotated[Text | None, says("The folder it runs in.")] = None
    arguments: Annotated[Map | None, says("What the tool is given.")] = None
    auth: Annotated[Text | None, says("A name of the keychain, for `url`.")] = None
    headers: Annotated[Map | None, says("Headers of the requests, for `url`.")] = None
    timeout: Annotated[Timeouts | Number | None, says("Time limits of the call.")] = None
    verify: Annotated[Flag, says("Verify the server's certificate.")] = True
    max_bytes: Annotated[Number | None, says("Largest answer that is read.")] = None


class SubPlaybook(Fields, frozen=True):
    """Runs another playbook as an execution of its own (S16)."""

    path: Annotated[
        ServerText,
        says("Its file, seen from this one; or its `metadata.path`, or its `metadata.name`."),
    ]
    version: Annotated[ServerText | int | None, says("A version; the latest when absent.")] = None
    wait: Annotated[bool, says("Wait for the child; else its id is the result at once.")] = True
    on_failure: Annotated[
        Literal["propagate", "catch"], says("A failed child is an error, or an ok with its status.")
    ] = "propagate"
    inherit_artifacts: Annotated[bool, says("The child may read the parent's references.")] = False


class Assignees(Fields, frozen=True):
    """Who may act on a work item."""

    users: Annotated[ServerTexts, says("Names of users.")] = []
    roles: Annotated[ServerTexts, says("Names of roles.")] = []


class Exclude(Fields, frozen=True):
    """Who may not act on a work item (four eyes)."""

    users: Annotated[ServerTexts, says("Names of users.")] = []
    completed_by: Annotated[
        list[str] | str | None,
        Meta(description="Whoever completed this step's work item.", extra={"step": True}),
    ] = None


class Escalation(Fields, frozen=True):
    """What happens when a work item stays open."""

    after_s: Annotated[ServerNumber, says("Seconds after the offer.")]
    to: Annotated[
        Assignees | ServerText | None, says("Who gets it then: assignees, or one name.")
    ] = None
    do: Annotated[
        ServerText | None, says("`notify`, `reassign`, `expire`, or one of the actions.")
    ] = None


class Human(Fields, frozen=True):
    """A work item for a person (S14)."""

    title: Annotated[ServerText | None, says("One line in the inbox.")] = None
    description: Annotated[ServerText | None, says("What to decide, and on what grounds.")] = None
    form: Annotated[Schema | None, says("JSON Schema of the data a completion carries.")] = None
    assignees: Annotated[Assignees | None, says("Who may act; anyone when absent.")] = None
    exclude: Annotated[Exclude | None, says("Who may not act (four eyes).")] = None
    actions: Annotated[list[str], Meta(min_length=1, description="What a person may choose.")] = (
        field(default_factory=lambda: ["approve", "reject"])
    )
    due_s: Annotated[ServerNumber | None, says("Seconds until it expires.")] = None
    remind_s: Annotated[ServerNumber | None, says("Seconds until a reminder goes out.")] = None
    escalate: Annotated[list[Escalation], says("What happens while it stays open.")] = []
    priority: Annotated[ServerNumber, says("Lower comes first in the inbox.")] = 0
    proposal: Annotated[ServerData, says("Data the person may edit.")] = None


class Signal(Fields, frozen=True):
    """A signal to wait for."""

    name: Annotated[ServerText, says("The name it is sent under.")]
    key: Annotated[ServerData, says("Only a signal with this key serves.")] = None
    delivery: Annotated[
        Literal["persistent", "transient"], says("Kept until used, or lost when nobody waits.")
    ] = "persistent"


class Alternative(Fields, frozen=True):
    """One of several things to wait for; the first wins."""

    for_s: Annotated[ServerNumber | None, says("Seconds from now.")] = None
    until: Annotated[ServerText | None, says("A point in time, ISO 8601.")] = None
    signal: Annotated[Signal | ServerText | None, says("A signal.")] = None
    human: Annotated[Human | None, says("A work item.")] = None
    name: Annotated[str | None, says("What `which` says when this one wins.")] = field(
        name="as", default=None
    )


class Wait(Fields, frozen=True):
    """Waits for time or a signal (S15)."""

    for_s: Annotated[ServerNumber | None, says("Seconds from now.")] = None
    until: Annotated[ServerText | None, says("A point in time, ISO 8601.")] = None
    signal: Annotated[Signal | ServerText | None, says("A signal.")] = None
    any_of: Annotated[
        Annotated[list[Alternative], Meta(min_length=1)] | None, says("The first of these wins.")
    ] = None


_KNOWN: dict[str, type[Fields]] = {
    "noop": Noop,
    "http": Http,
    "postgres": Postgres,
    "sqlite": Sqlite,
    "duckdb": Duckdb,
    "python": Python,
    "shell": Shell,
    "artifact": Artifact,
    "transfer": Transfer,
    "llm": Llm,
    "mcp": Mcp,
    "playbook": SubPlaybook,
    "human": Human,
    "wait": Wait,
}
BUILT_IN = frozenset(_KNOWN)
KINDS: Mapping[str, type[Fields]] = MappingProxyType(_KNOWN)
"""The kinds that are known: the built-in ones, and those of plug-ins once a shell has found them."""


def add_kind(kind: str, fields: type[Fields]) -> None:
    """Let a plug-in's kind be known, so that playbooks may use it.

    Raises:
        ValueError: the kind is taken by another struct.
    """
    if _KNOWN.setdefault(kind, fields) is not fields:
        raise ValueError(f"the kind '{kind}' is taken")


EXTRAS = frozenset({"postgres", "duckdb", "mcp"})
"""Kinds that need packages which do not come with Petra by themselves: the extra of the same name brings them."""

SERVER_KINDS = frozenset({"playbook", "human", "wait"})
"""Kinds that the server runs itself: the only task of their step (S5)."""


class PythonEnvironment(Fields, frozen=True):
    """The packages that code runs with, in an environment of their own."""

    requirements: Annotated[
        list[Constant],
        Meta(min_length=1, max_length=200, description="What to install, as `name==version`."),
    ]
    timeout_s: Annotated[
        Annotated[float, Meta(gt=0)], says("Seconds that building the environment may take.")
    ] = 600


class Knobs(Fields, frozen=True):
    """Settings of tasks that may stand in any `spec` and are overlaid from outside in (S5)."""

    timeout: Annotated[
        Timeouts | Number | None, says("http, llm, mcp: time limits of the request.")
    ] = None
    follow_redirects: Annotated[Flag | None, says("http: follow redirects.")] = None
    verify: Annotated[Flag | None, says("http, llm, mcp: verify the server's certificate.")] = None
    max_bytes: Annotated[
        Number | None, says("http, llm, mcp, shell: largest answer that is read.")
    ] = None
    max_rows: Annotated[Number | None, says("SQL: more rows than this are an error.")] = None
    isolation: Annotated[
        Literal["thread", "process"] | None, says("python: where the code runs.")
    ] = None
    memory_mb: Annotated[Number | None, says("python, shell in a process: memory limit.")] = None
    python: Annotated[
        PythonEnvironment | None, says("python: packages that the code runs with, in a process.")
    ] = None


KNOBS = frozenset(info.encode_name for info in msgspec.structs.fields(Knobs))
