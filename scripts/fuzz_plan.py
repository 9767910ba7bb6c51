"""What ``make fuzz`` asks: which checks, what is there before it begins, and which words lead there.

Made-up ids lead nowhere. So the server is given playbooks, executions that wait, are to be decided and have ended, and one
of each of the rest; and half of the addresses are of these.
"""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any, Final

LEFT_OUT_PATHS: Final = "(/stream|/livez|/metrics)$"
"""Streams do not end; the other two are asked by whoever watches the server, in every request alike."""

NOT_CHECKED: Final = {
    "object_level_authorization": (
        "it wants two users that it can log in; tests/server/test_access.py walks every call, role and namespace"
    ),
}
"""Checks that are not made anywhere, and why."""

NOT_CHECKED_THERE: Final = {
    "unsupported_method": (
        "/playbooks/{path}/(heat|standing|versions)$",
        "a playbook's path has slashes: another method there is about the playbook 'x/heat'",
    ),
    "positive_data_acceptance": (
        "/(audit|session|operations|executions|executions/counts|hooks/{path}|steps/{step}/override)$",
        "two fields that exclude or need each other, a label without a colon, an unsigned webhook: 400 that names them",
    ),
    "use_after_free": (
        "/(playbooks/{path}|definitions/{digest}|tokens/{token}|sessions/{session}).*$",
        "an archived playbook stays readable for its executions, and what is revoked may be revoked again",
    ),
}
"""Checks that are not made of some calls, and why."""

REFUSED_WELL: Final = ["2xx", "3xx", 401, 403, 404, 408, 409, 412, 413, 422, 429]
"""What may come of a request of the right shape: 422 is for what its texts and values mean."""

_HEAD: Final = "apiVersion: petra/v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
PLAYBOOKS: Final = {
    "adds": "workload: {n: 1}\nworkflow:\n  - {step: one, tool: {kind: python, code: 'result = 2'}}\n",
    "waits": "workflow:\n  - {step: go, tool: {kind: wait, signal: go}}\n",
    "asks": "workflow:\n  - {step: approve, tool: {kind: human, title: 'Pay?', actions: [approve, reject]}}\n",
}
OTHERS: Final = {
    "schedules/nightly": ("Schedule", "playbook: adds\ncron: '0 3 * * *'\n"),
    "triggers/arrivals": ("Trigger", "playbook: adds\nwebhook: {path: arrivals, verify: none}\n"),
    "limits/resources/gpu": ("Resource", "units: 2\n"),
}
EXECUTIONS: Final = {"waits-1": "waits", "waits-2": "waits", "asks-1": "asks", "adds-1": "adds"}
HOOKS: Final = Path(__file__).with_name("fuzz_hooks.py")
SCENARIOS: Final = 1_500


def text(kind: str, name: str, rest: str) -> str:
    """Return a document."""
    return _HEAD.format(kind=kind, name=name) + rest


def furnish(url: str, token: str) -> dict[str, list[Any]]:
    """Make what requests can be about; return the words that lead to it, by what they are called in addresses."""

    def ask(method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{url}/api/v1/{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    books = {name: text("Playbook", name, rest) for name, rest in PLAYBOOKS.items()}
    digests = [
        ask("PUT", f"playbooks/{name}", {"text": one})["digest"] for name, one in books.items()
    ]
    others = {path: text(kind, path.split("/")[-1], rest) for path, (kind, rest) in OTHERS.items()}
    for path, one in others.items():
        ask("PUT", path, {"text": one})
    ask("PUT", "views/mine", {"page": "executions", "query": "status=failed"})
    ask("PUT", "secrets/hook", {"value": "s3cret-of-the-fuzz"})
    for name, book in EXECUTIONS.items():
        ask("POST", "executions", {"playbook": book, "id": name})
    items = [one["id"] for one in ask("GET", "work-items?box=all")["items"]]
    return {
        "path.execution": [*EXECUTIONS],
        "path.other": [*EXECUTIONS],
        "path.path": [*PLAYBOOKS, "arrivals"],
        "path.digest": digests,
        "path.name": [path.split("/")[-1] for path in OTHERS] + ["mine", "hook", "go"],
        "path.step": ["one", "go", "approve"],
        "path.item": items or ["none"],
        "path.act": ["claim", "complete", "release"],
        "path.seq": [1, 2, 3, 4],
        "path.n": [1],
        "query.namespace": ["default"],
        "body.namespace": ["default"],
        "body.text": [*books.values(), *others.values()],
        "body.playbook": [*PLAYBOOKS],
    }


def configured(folder: Path, words: dict[str, list[Any]]) -> Path:
    """Write down for schemathesis which words lead somewhere and which checks are made; return where."""
    half = "{{dictionary = '{name}', probability = 0.5}}"
    lines = [f"hooks = '{HOOKS}'", "[dictionaries]"]
    lines += [f'"{name}" = {{values = {json.dumps(values)}}}' for name, values in words.items()]
    lines += ["[parameters]", *(f'"{name}" = {half.format(name=name)}' for name in words)]
    lines += ["[phases.stateful]", "inference.algorithms = []", "max-steps = 12"]  # our links only
    lines += ["[phases.stateful.generation]", f"max-examples = {SCENARIOS}"]
    lines += ["[checks.positive_data_acceptance]", f"expected-statuses = {REFUSED_WELL}"]
    for check, (paths, _) in NOT_CHECKED_THERE.items():
        lines += ["[[operations]]", f"include-path-regex = '{paths}'"]
        lines += [f"checks.{check}.enabled = false"]
    found = folder / "schemathesis.toml"
    found.write_text("\n".join(lines) + "\n", "utf-8")
    return found
