"""Permits: limits that an execution shares with others (S15).

Rule 1: nothing of an execution fires before it has the permits that its playbook (``executor.spec.concurrency``) and its
namespace want; a step starts when it has those of the server-wide resources that it holds.
Rule 2: permits are asked for one after the other, always in the same order: of the playbook, of the namespace, of
resources by name. So no two wait for each other in a circle by taking them.
Rule 3: a step of priority is worth an hour of waiting: whoever is more urgent comes first, and nobody waits for ever.
Rule 4: a past that is taken over brings no permits along: they are asked for anew, and nothing goes on before.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from petra.errors import ExpressionError, UnreadableError
from petra.expr.dates import NOW
from petra.expr.frame import FOLLOW
from petra.kernel import commands as c
from petra.kernel import completion, runs
from petra.kernel.permit_events import NewPermit, PermitGiven, PermitRefused, PermitsAsked
from petra.kernel.permit_state import QUOTA, Permit
from petra.kernel.program import Program
from petra.kernel.state import State
from petra.kernel.step_permits import rank_of
from petra.kernel.turn import RefusedError, Turn
from petra.values import canonical
from petra.wire import Error

KEY_BYTES: Final = 512


def priority_of(turn: Turn, command: c.Start) -> int:
    """Return how urgent an execution is: as it was started, else as its playbook says."""
    asked = command.priority
    return turn.program.spec.priority if asked is None else asked


def wanted(
    turn: Turn, command: c.Start, workload: dict[str, Any], priority: int
) -> list[NewPermit]:
    """Return the permits that an execution needs before anything of it fires.

    Raises:
        RefusedError: the key of its limit is none.
    """
    rank, permits = rank_of(priority, turn.now), []
    limit = turn.program.spec.concurrency
    if limit is not None:
        key = key_of(turn.program, {"workload": workload, NOW: turn.now, FOLLOW: turn.objects})
        permits.append(
            NewPermit(
                id=f"{turn.state.id}/execution", limit=name_of(turn.program), rank=rank, key=key,
                most=limit.limit, on_limit=limit.on_limit,
            )
        )  # fmt: skip
    if command.quota:
        permits.append(NewPermit(id=f"{turn.state.id}/namespace", limit=QUOTA, rank=rank))
    return permits


def name_of(program: Program) -> str:
    """Return what the limit of a playbook is called: a name that others may share, else its path."""
    limit, meta = program.spec.concurrency, program.playbook.metadata
    if limit is not None and limit.name:
        return f"limit {limit.name}"
    return f"playbook {meta.path or meta.name}"


def key_of(program: Program, scope: dict[str, Any]) -> str:
    """Return the key of an execution's limit.

    Raises:
        RefusedError: it cannot be computed, or is none.
    """
    value, what = program.limit_key, "the key of its limit (executor.spec.concurrency.key)"
    try:
        key = value.value if value.constant else value.render(scope)
    except (ExpressionError, UnreadableError) as error:
        raise RefusedError(f"{what} cannot be computed: {error}") from None
    return "" if key is None and value.constant else key_text(key, what)


def key_text(key: Any, what: str) -> str:
    """Write a key as text: 17 and "17" are one.

    Raises:
        RefusedError: it is nothing that tells one from another.
    """
    if isinstance(key, bool) or not isinstance(key, str | int | float):
        kind = {"NoneType": "null", "dict": "a map", "list": "a list"}.get(
            type(key).__name__, "a truth value"
        )
        raise RefusedError(f"{what} is {kind}; it must be text or a number")
    text = key if isinstance(key, str) else canonical(key).decode()
    if (size := len(text.encode("utf-8", "surrogatepass"))) > KEY_BYTES:
        raise RefusedError(
            f"{what} is {size:,} bytes; it may have {KEY_BYTES}: a name, no contents"
        )
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise RefusedError(f"{what} has characters that no text has")
    return text


def ask(turn: Turn, permits: list[NewPermit]) -> None:
    """Ask for what an execution needs before anything of it fires."""
    if permits:
        turn.emit(PermitsAsked(permits=permits, blocks=True))


def ask_again(turn: Turn) -> bool:
    """Ask anew for what a past held or waited for; whether there was anything."""
    known = turn.state.permits
    if known is None or not known.by_id:
        return False
    order = {"quota": 1, "resource": 2}
    before = sorted(
        (permit.wanted for permit in known.by_id.values()),
        key=lambda permit: (order.get(permit.limit.partition(" ")[0], 0), permit.limit, permit.id),
    )
    anew = [_anew(turn.state, number, permit, turn.now) for number, permit in enumerate(before)]
    turn.emit(PermitsAsked(permits=anew, blocks=True, anew=True))
    return True


def _anew(state: State, number: int, past: NewPermit, now: float) -> NewPermit:
    return replace(
        past,
        id=f"{state.id}/{state.seq + 1}-{number}",
        rank=rank_of(state.priority, now),
        token=past.token if past.token in state.ready else "",
    )


# What the server says


def given(turn: Turn, command: c.GivePermit) -> bool:
    """Take a permit; whether everything may go on now that was held back. One that nobody wants any more is nothing."""
    permit = _waited_for(turn.state, command.id)
    if permit is None or turn.state.permits is None:
        return False
    turn.emit(PermitGiven(id=permit.id))
    if permit.blocks:
        return not turn.state.permits.held_back
    token = turn.state.ready.get(permit.wanted.token)
    if token is not None:
        turn.agenda.add(token)
    for group in turn.state.groups.values():
        if group.join == permit.wanted.step:
            turn.judge(group.id)
    return False


def refused(turn: Turn, command: c.RefusePermit) -> None:
    """Go on without a permit: the execution ends, or the step fails that wanted it."""
    permit = _waited_for(turn.state, command.id)
    if permit is None:
        return
    turn.emit(PermitRefused(id=permit.id, reason=command.reason, kind=command.kind))
    error = Error(kind=command.kind, message=command.reason)
    token = turn.state.ready.get(permit.wanted.token)
    if permit.blocks or token is None:
        completion.turn_away(turn, error)
    else:
        runs.fail_tokens(turn, turn.plan(token.step), [token], error)


def _waited_for(state: State, name: str) -> Permit | None:
    permit = state.permits.by_id.get(name) if state.permits is not None else None
    if permit is None or permit.given:
        return None
    return permit
