"""Tools that read: nothing changes by them."""

from __future__ import annotations

from typing import Any, Final

from petra.agents.calling import WAIT_S, Caller, place
from petra.agents.cutting import part
from petra.agents.toolbox import (
    EXECUTION,
    ITEMS,
    WAIT,
    AgentTool,
    Given,
    count,
    name_of,
    takes,
    text,
)
from petra.client.problems import ServerError

TEXT_MAX: Final = 1_000_000
PAGE: Final = 20
_STATUSES: Final = (
    "running", "waiting", "stuck", "paused", "compensating", "completed", "partial", "failed", "aborted",
)  # fmt: skip
_CURSOR: Final = text("'next' of the page before; also of one that is empty.", 500)


async def _list(api: Caller, arguments: Given) -> Any:
    params = {"limit": PAGE, **arguments}
    return await api.get("/executions", params, spaced=True)


async def _get(api: Caller, arguments: Given) -> Any:
    return await api.get(place("executions", arguments["execution"]))


async def _wait(api: Caller, arguments: Given) -> Any:
    return await api.rested(
        arguments["execution"], arguments.get("seconds", WAIT_S), arguments.get("after_version")
    )


async def _explain(api: Caller, arguments: Given) -> Any:
    path = place("executions", arguments["execution"], "explain")
    return await api.get(path, {"step": arguments.get("step")})


async def _state(api: Caller, arguments: Given) -> Any:
    return await api.get(place("executions", arguments["execution"], "at", arguments["record"]))


async def _records(api: Caller, arguments: Given) -> Any:
    params = {"after": arguments.get("after", 0), "limit": arguments.get("limit", PAGE)}
    params["type"] = arguments.get("type")
    return await api.get(place("executions", arguments["execution"], "records"), params)


async def _value(api: Caller, arguments: Given) -> Any:
    where = ("executions", arguments["execution"])
    match arguments["of"]:
        case "output":
            whole = await api.get(place(*where, "result"))
        case "record":
            whole = await api.get(place(*where, "events", arguments.get("record", 1)))
        case _:
            whole = (await api.get(place(*where)))["ctx"]
    try:
        return part(
            whole,
            arguments.get("pointer", ""),
            arguments.get("offset", 0),
            arguments.get("limit", 30),
        )
    except LookupError as error:
        raise ServerError(
            "not-found", str(error.args[0]), hint="a pointer is '/rows/0/name'; '' is the whole"
        ) from None


async def _check(api: Caller, arguments: Given) -> Any:
    checked = await api.post("/check", {"text": arguments["text"]})
    proof = checked["soundness"]
    kept = ("verdict", "counterexample", "findings", "notes")
    return {
        "ok": checked["ok"],
        "problems": checked["problems"],
        "soundness": {name: proof[name] for name in kept} if proof else None,
    }


async def _test(api: Caller, arguments: Given) -> Any:
    body = {"text": arguments["text"], "files": arguments.get("files", {}), "frames": False}
    return await api.post("/tests", body)


async def _items(api: Caller, arguments: Given) -> Any:
    return await api.get("/work-items", {"limit": PAGE, **arguments}, spaced=True)


async def _item(api: Caller, arguments: Given) -> Any:
    return await api.get(place("work-items", arguments["execution"], arguments["item"]))


async def _playbooks(api: Caller, arguments: Given) -> Any:
    return await api.get("/playbooks", {"limit": PAGE, **arguments}, spaced=True)


async def _playbook(api: Caller, arguments: Given) -> Any:
    path = "/".join(place(word)[1:] for word in arguments["path"].split("/"))
    return await api.get(f"/playbooks/{path}", {"version": arguments.get("version")}, spaced=True)


PATH: Final = {
    "path": {
        "type": "string", "minLength": 1, "maxLength": 300, "pattern": "^[^?#\\x00-\\x1f\\x7f]+$",
        "not": {"pattern": "(^|/)\\.{0,2}(/|$)"}, "description": "The path of a playbook that was applied.",
    }
}  # fmt: skip

READING: Final = (
    AgentTool(
        "list_executions",
        "List executions, the latest first: id, playbook, status, when. Filter by status, playbook, label or words.",
        takes(
            status={"enum": list(_STATUSES), "description": "Only those."},
            playbook=text("Only executions of this playbook.", 200),
            text=text("Only those whose id or playbook has this in it.", 200),
            label=text("Only those with this label, NAME:VALUE.", 300),
            limit=count("How many.", 1, 100, PAGE),
            cursor=_CURSOR,
        ),
        _list,
    ),
    AgentTool(
        "get_execution",
        "Show an execution: status, output, ctx, what it waits for, its work items, and its 'version'.",
        takes(EXECUTION),
        _get,
    ),
    AgentTool(
        "wait_for_execution",
        "Wait until an execution ends or rests, then show it. One that rests already (it waits for a person, say) is"
        " shown at once; with 'after_version', the version that you saw last, only once it has moved on.",
        takes(EXECUTION, seconds=WAIT, after_version={"type": "integer", "minimum": 0}),
        _wait,
    ),
    AgentTool(
        "explain_execution",
        "Say why an execution waits or failed: every token, its rule with what it read, and what would end the wait.",
        takes(EXECUTION, step=text("Only this step.", 200)),
        _explain,
    ),
    AgentTool(
        "state_at",
        "Show an execution as it was at a record: status, ctx, tokens by place, what waited.",
        takes({**EXECUTION, "record": {"type": "integer", "minimum": 1}}),
        _state,
    ),
    AgentTool(
        "list_records",
        "Return records of the log of an execution, oldest first: what happened, and who did it.",
        takes(
            EXECUTION,
            after={"type": "integer", "minimum": 0, "description": "Behind this record."},
            limit=count("How many.", 1, 100, PAGE),
            type=text("Only records of this type.", 100),
        ),
        _records,
    ),
    AgentTool(
        "read_value",
        "Read a part of something large: of the output of an execution that ended, of its ctx, or of a record. Texts and"
        " lists come in parts.",
        takes(
            {**EXECUTION, "of": {"enum": ["output", "ctx", "record"]}},
            record={"type": "integer", "minimum": 1, "description": "Which record."},
            pointer={**text("A JSON pointer, such as /rows/0/name; the whole if absent."), "pattern": "^(/|$)"},
            offset={"type": "integer", "minimum": 0, "maximum": 10**12},
            limit=count("How many items or characters.", 1, 30_000, 30),
        ),
        _value,
    ),
    AgentTool(
        "check_playbook",
        "Check the text of a playbook: every problem with its code, place and fix, and whether its net is sound.",
        takes({"text": text("The playbook, YAML.", TEXT_MAX)}),
        _check,
    ),
    AgentTool(
        "run_tests",
        "Run the cases of a test file (kind: Test) in virtual time. No tool really runs.",
        takes(
            {"text": text("The test file, YAML.", TEXT_MAX)},
            files={
                "type": "object", "maxProperties": 50, "description": "Playbooks that it names, by file name.",
                "additionalProperties": {"type": "string", "maxLength": TEXT_MAX},
            },
        ),
        _test,
    ),
    AgentTool(
        "list_playbooks",
        "List the playbooks that were applied, by path.",
        takes(limit=count("How many.", 1, 100, PAGE), cursor=_CURSOR),
        _playbooks,
    ),
    AgentTool(
        "get_playbook",
        "Return a playbook that was applied, with its text.",
        takes(PATH, version=text("A version; the current one if absent.", 100)),
        _playbook,
    ),
    AgentTool(
        "list_work_items",
        "List work items, what people are asked to do: those that are open, mine, done, or all.",
        takes(
            box={"enum": ["open", "mine", "done", "all"], "default": "open"},
            execution=name_of("Only of this execution."),
            limit=count("How many.", 1, 100, PAGE),
            cursor=_CURSOR,
        ),
        _items,
        powers=ITEMS,
    ),
    AgentTool(
        "get_work_item",
        "Show a work item: what is asked, the actions there are, its form, what was proposed.",
        takes({**EXECUTION, "item": name_of("The id of the work item.")}),
        _item,
        powers=ITEMS,
    ),
)  # fmt: skip
