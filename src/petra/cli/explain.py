"""``petra explain``: why an execution waits, or what the code of a problem means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import msgspec

from petra.cli.causes import Cause, cause_of
from petra.cli.codes import explain_code, is_code
from petra.cli.executions import asked_there, execution_argument, fetched
from petra.cli.home import find, look
from petra.cli.output import as_json, print_json, tell
from petra.cli.place import home_option, remote
from petra.cli.show import trace_of
from petra.desk.resources import Lines
from petra.embedded import STORE
from petra.engine.cache import Cache, Entry
from petra.errors import UnreadableError, UsageError
from petra.kernel.explain import Explanation, explain
from petra.references import Followed, NeededError
from petra.store.base import Store

EXPLAIN_TRIES = 10


@click.command("explain")
@execution_argument
@home_option
@as_json
def command(execution: str, home: Path, output: str) -> None:
    """Say why an execution waits: every token, its rule, and what would unblock it.

    With the code of a problem, such as P203, say how that comes about and how to mend it.
    """
    if is_code(execution):
        explain_code(execution, output)
        return

    async def asking(store: Store, cache: Cache) -> Cause:
        entry = await find(store, cache, execution)
        return await cause_of(cache, entry, lambda reference: _placed(home, store, reference))

    cause = look(home, asking)
    chosen, explanation = cause.entry.state.id, cause.explanation
    asks = explanation.status == "running" or (
        explanation.reason in ("limit", "resource") and remote(home) is not None
    )
    told_there = asked_there(home, chosen) if asks else None
    if told_there is not None:
        explanation = msgspec.convert(told_there["explanation"], Explanation)
        cause = Cause(
            cause.entry,
            explanation,
            [[] for _ in explanation.waiting],
            [None] * len(explanation.waiting),
        )
    if output == "json":
        print_json(cause.as_data())
        return
    tell(explanation.sentence)
    for line in trace_of((explanation.error or {}).get("details"), "  "):
        tell(line)
    for line in cause.lines():
        tell(line)
    if told_there is None and explanation.status == "running" and not os.environ.get(STORE):
        tell(f"  No process has {home} open, so nothing runs; 'petra watch {chosen}' goes on.")


class _Wanted(Followed):
    """Looks through references, and remembers which it was asked for and did not have."""

    def __init__(self) -> None:
        super().__init__()
        self.missing: dict[str, dict[str, Any]] = {}

    def __call__(self, value: dict[str, Any]) -> Any:
        try:
            return super().__call__(value)
        except NeededError as lack:
            self.missing.update({reference["key"]: reference for reference in lack.references})
            raise


async def _placed(home: Path, store: Store, entry: Entry) -> Explanation:
    """Explain an execution, with its place in the line of a limit."""
    cause = await _explained(home, store, entry)
    if remote(home) is not None:  # only the server knows who waits
        return cause
    return await Lines(store).with_places(entry.state.id, cause)


async def _explained(home: Path, store: Store, entry: Entry) -> Explanation:
    """Explain an execution; what its rules read of large values is brought, a few times if need be (S18)."""
    follow = _Wanted()
    explanation = explain(entry.program, entry.state, follow)
    for _ in range(EXPLAIN_TRIES):
        if not follow.missing:
            break
        missing, follow.missing = follow.missing, {}
        for reference in missing.values():
            whole = {key: part for key, part in reference.items() if key != "path"}
            try:
                follow.put(whole, await fetched(home, store, entry, whole))
            except UsageError as error:
                follow.put(whole, UnreadableError("not_found", str(error)))
        explanation = explain(entry.program, entry.state, follow)
    return explanation
