"""Words of other systems, and what to write instead: for authors who come from one.

``petra check`` says it where such a word stands. A sentence that begins with "say" names the word that takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from petra.playbook import model

_SCRIPT = "put it inside 'tool': {kind: shell, script: …}"
_CODE = "put it inside 'tool': {kind: python, code: …}"
_ARROW = "say it the other way round: the earlier step's 'next' leads here"
_LEADS = "write 'next: {arcs: [{step: …}]}'"
_LOOP = "write 'loop: {in: …, iterator: item}'"
_RETRY = "retry with a rule of the task's spec.policy.rules: {do: retry, attempts: 3}"
_FAILED = "write an arc of 'next' with when: \"{{ event.status == 'error' }}\""
_REUSE = "put the task into 'workbook' and call it with {kind: workbook, name: …}"
_STEPS = "the steps go under 'workflow', each as '- step: name'"
_INPUTS = "inputs and their defaults go under 'workload'"
_STARTS = "what starts a playbook is not written in it; start it with 'petra run', or with a schedule of its own"
_STATE = "keep state with 'set_ctx' of a task or step"
_CONTAINER = "there is no kind for containers: run the program with 'kind: shell', or write a tool of your own"
_AT_ONCE = "write 'spec: {mode: parallel, max_in_flight: 8}' in the loop"
_GOES_ON_WORDS = (
    "on_error on_failure continue_on_error ignore_errors fail_fast failure max_failures"
)
_GOES_ON = (
    "to go on after a failed item, write spec.policy.failure: {mode: best_effort} in the step"
)
_FIRST_OF = "wait for the first of several: any_of: [{signal: …}, {for_s: 3600}]"
_BY_API = "call its API with 'kind: http'"


def _each(words: str, say: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), say)


KEYS: Mapping[type[msgspec.Struct], Mapping[str, str]] = MappingProxyType(
    {
        model.Playbook: {
            **_each("jobs dag nodes states flow stages activities", _STEPS),
            **_each("inputs parameters params variables args", _INPUTS),
            **_each("on triggers trigger schedule cron schedule_interval", _STARTS),
            **_each("namespace id title labels tags", "it goes under 'metadata'"),
            "env": "environment variables of a program go under 'env' of its shell task; inputs under 'workload'",
            "outputs": "what an execution returns is executor.spec.output",
            "output": "what an execution returns is executor.spec.output",
            "finally": "a step that always comes last is executor.spec.final_step",
            "errors": _FAILED,
        },
        model.Step: {
            **_each("run cmd script bash shell", _SCRIPT),
            **_each("python function callable", _CODE),
            **_each("needs dependsOn depends upstream requires after previous", _ARROW),
            **_each("then goto downstream on_success transition to", _LEADS),
            **_each("foreach for_each forEach each with_items items map matrix strategy", _LOOP),
            **_each("retries retry_policy retry_delay max_retries attempts", _RETRY),
            **_each("on_failure on_error onError catch rescue errors except", _FAILED),
            **_each("uses ref template activity", _REUSE),
            **_each("with inputs params parameters", "arguments come with the arc that leads here: 'args'"),
            **_each("task job", "say 'step'"),
            **_each("tasks tools steps", "say 'tool', which takes one task or a list of them"),
            **_each("action call do http sql query", "give it a 'tool' with a 'kind'"),
            **_each("sleep delay", "give it a 'tool': {kind: wait, for_s: 60}"),
            **_each("parallel branches", "write 'next: {spec: {mode: inclusive}, arcs: […]}', and a step with spec.join"),
            **_each("approval manual", "give it a 'tool': {kind: human, title: …}"),
            **_each("compensation undo rollback", "write spec.compensate: {tool: …}"),
            "env": "it belongs to the shell task, inside 'tool'",
            "outputs": _STATE,
            "register": "the result has the step's name already: {{ step_name }}",
            "image": _CONTAINER,
        },
        model.Loop: {
            **_each("items over list values each foreach for_each with_items sequence", "say 'in'"),
            **_each("as item var variable name index_var alias", "say 'iterator'"),
            **_each("parallel concurrency max_parallel max_concurrency parallelism workers batch_size", _AT_ONCE),
            **_each(_GOES_ON_WORDS, _GOES_ON),
        },
        model.LoopSpec: {
            **_each("parallel concurrency max_parallel max_concurrency parallelism workers batch_size", _AT_ONCE),
            **_each(_GOES_ON_WORDS, _GOES_ON),
        },
        model.LoopPolicy: _each(_GOES_ON_WORDS, _GOES_ON),
        model.Task: {
            **_each("task job id", "say 'name'"),
            **_each("with inputs parameters op_kwargs", "say 'args'"),
            **_each("retries retry_policy max_retries", _RETRY),
            **_each("timeout_s", "say spec.timeout_s"),
            **_each("outputs register", _STATE),
            **_each("needs depends_on dependsOn", "tasks of a step run one after the other, as they are written"),
            "image": _CONTAINER,
            "type": "say 'kind'",
            "uses": _REUSE,
            "when": "a condition belongs to an arc of 'next', or to 'choose' around the task",
            "if": "a condition belongs to an arc of 'next', or to 'choose' around the task",
        },
    }
)  # fmt: skip
"""Keys that a part of the document does not have, by the part."""

TASK_KEYS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "shell": {
            **_each("run cmd command commands bash bash_command sh code entrypoint", "say 'script'"),
            **_each("args arguments params", "say 'argv': [program, argument, …]"),
            **_each("environment environ variables", "say 'env'"),
            **_each("dir workdir working_dir working_directory working-directory folder", "say 'cwd'"),
        },
        "python": {
            **_each("script source run src body", "say 'code'"),
            **_each("callable python_callable entrypoint fn func", "say 'function'"),
            **_each("params kwargs arguments", "say 'args'"),
            **_each("packages dependencies", "the code imports what is installed for the worker"),
        },
        "http": {
            **_each("uri endpoint address href", "say 'url'"),
            **_each("payload content", "say 'json'"),
            **_each("query querystring", "say 'params'"),
            **_each("verb", "say 'method'"),
            **_each("token authorization", "name an entry of the keychain: 'auth: name'"),
        },
        **{
            kind: {
                **_each("sql query statement script code", "say 'command'"),
                **_each("parameters values bind binds arguments", "say 'params'"),
                **_each("connection conn conn_id dsn", "name an entry of the keychain: 'auth: name'"),
            }
            for kind in ("postgres", "sqlite", "duckdb")
        },
        "human": {
            **_each("approvers assignee users who", "say 'assignees': {users: […]}"),
            **_each("roles groups", "say 'assignees': {roles: […]}"),
            **_each("timeout deadline expires", "say 'due_s'"),
            **_each("options choices buttons outcomes", "say 'actions'"),
            **_each("schema fields", "say 'form'"),
            **_each("message text prompt question", "say 'title'"),
        },
        "wait": {
            **_each("seconds duration sleep delay time", "say 'for_s'"),
            **_each("event message", "say 'signal'"),
            **_each("at date", "say 'until'"),
            **_each("timeout timeout_s deadline expires due_s", _FIRST_OF),
            **_each("key delivery correlation_id correlation", "it belongs to the signal: 'signal: {name: …, key: …}'"),
        },
        "playbook": {
            **_each("playbook workflow flow name id ref", "say 'path'"),
            **_each("workload inputs params input", "say 'args'"),
        },
    }
)  # fmt: skip
"""Keys that a task of a kind does not have."""

KINDS: Mapping[str, str] = MappingProxyType(
    {
        **_each("bash sh zsh cmd exec run command script subprocess powershell", "say 'shell'"),
        **_each("py python3 function lambda notebook code callable", "say 'python'"),
        **_each("rest request api webhook curl fetch get post url https", "say 'http'"),
        **_each("sql query pg postgresql psql database db", "say 'postgres', 'sqlite' or 'duckdb'"),
        **_each("sleep delay timer timeout signal event sensor pause", "say 'wait'"),
        **_each("approval approve manual user form input person task usertask", "say 'human'"),
        **_each("workflow subflow flow subworkflow sub_playbook child dag", "say 'playbook'"),
        **_each("nop dummy empty pass echo log print router start end", "say 'noop'"),
        **_each("docker container kubernetes k8s pod ecs image", _CONTAINER),
        **_each("email mail slack teams sms", _BY_API),
        **_each("s3 gcs blob file object", "say 'artifact' for a large value, or 'transfer' for rows"),
        **_each("copy etl load move", "say 'transfer'"),
        **_each("fail raise error throw abort", "a rule of spec.policy.rules fails a task: {do: fail, message: …}"),
        **_each("if switch choice branch condition", "a step without 'tool' only leads on: give its arcs a 'when'"),
        **_each("foreach loop map parallel", "write 'loop: {in: …, iterator: item}' beside 'tool'"),
    }
)  # fmt: skip
"""Kinds that other systems have."""


def key_of(struct: type[msgspec.Struct], key: str, kind: str = "") -> str:
    """Say what to write instead of a key that another system has; empty where nobody knows it."""
    if struct is model.Task and (other := TASK_KEYS.get(kind, {}).get(key)):
        return other
    return KEYS.get(struct, {}).get(key, "")


def kind_of(kind: str) -> str:
    """Say what to write instead of a kind that another system has."""
    return KINDS.get(kind.lower(), "")
