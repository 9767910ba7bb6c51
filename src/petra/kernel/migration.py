"""A live execution moves to another version of its playbook (S23).

Rule 1: every live token has a place in the new definition: a step of the same name, or the one it is mapped to.
Rule 2: what is in flight goes on with the definition it began with; where it leads is decided by the new one.
Rule 3: the join of an open group is still there, and is one.
Rule 4: a refusal changes nothing, and names the token and the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from petra.errors import PetraError
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.ctx import schema_fault
from petra.kernel.evolve import evolve
from petra.kernel.program import Program
from petra.kernel.select import Agenda
from petra.kernel.snapshot import restore, snapshot
from petra.kernel.state import Group, ReadyToken, State, StepRun
from petra.kernel.turn import RefusedError, Turn
from petra.net.compile import compile as compile_net
from petra.net.position import Fanned, Outlook, Position, Standing, outlook
from petra.playbook.overlay import merge
from petra.values import canonical


class MovedOnError(PetraError):
    """An execution has moved on since a plan was made."""


class MovePlan(Struct, frozen=True):
    """Where one thing will be: a token, a run, a group, a work item or a timer. ``fault`` says why it cannot."""

    what: str
    id: str
    step: str
    to: str
    note: str = ""
    fault: str = ""


class MigrationPlan(Struct, frozen=True):
    """Where everything that lives will be, and why that is not possible, if it is not."""

    moves: list[MovePlan]
    faults: list[str]
    proof: Outlook | None = None
    note: str = ""
    """What the proof left open, or what depends on guards."""


def examined(old: Program, new: Program, state: State, renamed: Mapping[str, str]) -> MigrationPlan:
    """Plan a move and prove it: the new net must be sound from where the execution would arrive."""
    plan = migration_plan(old, new, state, renamed)
    if plan.faults:
        return plan
    proof = prospects(new, state, renamed)
    words = unsound(proof)
    if words and proof.certain:
        return replace(plan, proof=proof, faults=[words])
    note = f"{words} (this depends on guards or data, so it may never happen)" if words else ""
    if proof.answer == "undecided":
        note = f"no violation up to {proof.states} markings; the rest is open"
    return replace(plan, proof=proof, note=note)


def migration_plan(
    old: Program, new: Program, state: State, renamed: Mapping[str, str]
) -> MigrationPlan:
    """Say, thing by thing, where it will be."""
    faults = [*_bad_names(old, new, renamed)]
    if state.terminal or state.ending:
        faults.append(f"the execution is {state.terminal or 'ending already'}")
    moves = [*_moves(old, new, state, renamed)]
    faults += [move.fault for move in moves if move.fault]
    return MigrationPlan(moves, faults)


def migrate(turn: Turn, command: c.Migrate) -> None:
    """Move an execution; from then on it is decided by the new definition.

    Raises:
        RefusedError: it cannot move; nothing has changed.
        MovedOnError: it is not where the plan saw it. That is no answer: nothing is stored, and one plans again.
    """
    old, state = turn.program, turn.state
    new = old.versions.get(command.digest)
    if not state.seq:
        raise RefusedError("there is no execution to move")
    if new is None:
        raise RefusedError(f"there is no playbook with digest {command.digest:.16}")
    if new.digest == old.digest and not command.renamed:
        raise RefusedError("the execution has that definition already")
    if command.at is not None and state.seq != command.at:
        raise MovedOnError("the execution has moved on since the plan was made; make it again")
    faults = migration_plan(old, new, state, command.renamed).faults
    if faults:
        raise RefusedError("; ".join(faults))
    turn.emit(
        e.ExecutionMigrated(
            digest=new.digest,
            playbook=new.playbook.metadata.name,
            renamed=dict(command.renamed),
            reducers=new.reducers,
            actor=command.actor,
            by=command.by,
            reason=command.reason,
            company=command.company,
        )
    )
    new.versions.update({**old.versions, old.digest: old})
    turn.program, turn.agenda = new, Agenda(new, state)


class UnfitError(PetraError):
    """The past of a fork does not fit what it is to go on with."""


def go_on_with(turn: Turn, command: c.Fork) -> None:
    """Give a fork another definition or workload, before anything of it goes on (S13).

    Raises:
        UnfitError: the past does not map onto it. Then there is no fork.
    """
    old, state = turn.program, turn.state
    new = old.versions.get(command.digest, old) if command.digest else old
    faults = migration_plan(old, new, state, command.renamed).faults
    workload = merge(new.playbook.workload, turn.whole(state.workload, "the workload"))
    workload = merge(workload, command.workload or {})
    schema = new.spec.input_schema
    if schema is not None and (problem := schema_fault(canonical(schema), workload)) is not None:
        faults.append(f"the workload does not fit: {problem}")
    if faults:
        raise UnfitError("; ".join(faults))
    turn.emit(
        e.ExecutionMigrated(
            digest=new.digest, playbook=new.playbook.metadata.name, renamed=dict(command.renamed), reducers=new.reducers,
            reason=command.reason, workload=turn.keep(workload, "the workload"), company=command.company,
        )
    )  # fmt: skip
    if new is not old:
        new.versions.update({**old.versions, old.digest: old})
        turn.program, turn.agenda = new, Agenda(new, state)


def forked(command: c.Fork) -> State:
    """Return the state that a fork begins with, before it goes on."""
    state = State(id="forked")
    taken = e.ExecutionForked(
        origin=command.origin, at=command.at, past=command.past, parts=command.parts
    )
    evolve(state, taken, seq=1, at=command.now)
    return state


def _bad_names(old: Program, new: Program, renamed: Mapping[str, str]) -> Iterator[str]:
    for was, now in renamed.items():
        if was not in old.steps:
            yield f"there is no step '{was}' to map; there are {', '.join(old.steps)}"
        if now not in new.steps:
            yield f"'{was}' is mapped to '{now}', which the new playbook does not have"


def _moves(
    old: Program, new: Program, state: State, renamed: Mapping[str, str]
) -> Iterator[MovePlan]:
    for token in state.ready.values():
        to = renamed.get(token.step, token.step)
        fault = _gone(new, token, to, "token") or _token_fault(old, new, token, renamed, to)
        yield MovePlan("token", token.id, token.step, to, "waits", fault)
    for run in state.runs.values():
        to = renamed.get(run.step, run.step)
        note = "goes on as it began; where it leads is decided anew"
        yield MovePlan("run", run.id, run.step, to, note, _gone(new, run, to, "run"))
    for group in state.groups.values():
        if not group.fired:
            yield _group_move(new, group, renamed)
    for item in state.items.values():
        if item.is_open:
            to = renamed.get(item.step, item.step)
            yield MovePlan("work item", item.id, item.step, to, f"stays {item.state}")
    for timer in state.timers.values():
        holder = state.runs.get(timer.run)
        step = holder.step if holder is not None else ""
        yield MovePlan(
            "timer", timer.id, step, renamed.get(step, step), f"{timer.kind}, as it was set"
        )


def _gone(new: Program, holder: ReadyToken | StepRun, to: str, what: str) -> str:
    if to in new.steps:
        return ""
    inside = f" (branch {holder.stack[-1].branch})" if holder.stack else ""
    return (
        f"the {what} {holder.id} at '{holder.step}'{inside} has no place: the new playbook has no step '{to}'; "
        f"say where it goes with --map {holder.step}=STEP"
    )


def _token_fault(
    old: Program, new: Program, token: ReadyToken, renamed: Mapping[str, str], to: str
) -> str:
    """A join is entered by arriving: a token that waits cannot find itself in one, or out of one."""
    was, now = old.steps[token.step], new.steps[to]
    if now.pairs_arcs and token.arrow is not None:
        arrow = renamed.get(token.arrow[0], token.arrow[0]), token.arrow[1]
        if not was.pairs_arcs or (
            now.join is not None and now.join.mode == "arcs" and arrow not in now.incoming
        ):
            return f"the token {token.id} waits at '{token.step}'; '{to}' is a join that it did not arrive at"
    joins = now.join is not None and not now.pairs_arcs
    joined = was.join is not None and not was.pairs_arcs
    if token.stack and joins and not joined:
        return f"the token {token.id} waits at '{token.step}'; '{to}' is a join that it did not arrive at"
    return ""


def _group_move(new: Program, group: Group, renamed: Mapping[str, str]) -> MovePlan:
    to = renamed.get(group.step, group.step)
    if group.join is None:
        return MovePlan("group", group.id, group.step, to, f"{group.size} branches")
    name = renamed.get(group.join, group.join)
    join = new.steps.get(name)
    fault = ""
    if join is None or join.join is None or join.pairs_arcs:
        fault = (
            f"the group {group.id} of '{group.step}' is closed by '{group.join}', and the new playbook has no join "
            f"'{name}'; say which it is with --map {group.join}=STEP"
        )
    return MovePlan(
        "group", group.id, group.step, to, f"{group.size} branches, closed by {name}", fault
    )


# The proof


def position_of(state: State) -> Position:
    """Say where an execution stands, in the words of its net."""
    return Position(
        tokens=tuple(
            Standing(held.id, held.step, part, tuple(held.stack), held.arrow)
            for part, holders in (("ready", state.ready), ("running", state.runs))
            for held in holders.values()
        ),
        groups=tuple(
            Fanned(group.id, group.step, tuple(group.stack), tuple(group.arcs), fired=group.fired)
            for group in state.groups.values()
        ),
        started=frozenset(state.once),
    )


def arrived(new: Program, state: State, renamed: Mapping[str, str]) -> State:
    """Return a copy of a state as it would be after the move."""
    after = restore(snapshot(state))
    moved = e.ExecutionMigrated(
        digest=new.digest, playbook=new.playbook.metadata.name, renamed=dict(renamed)
    )
    evolve(after, moved, seq=after.seq + 1, at=after.now)
    return after


def prospects(new: Program, state: State, renamed: Mapping[str, str]) -> Outlook:
    """Prove that the new net is sound from where the execution would arrive."""
    return outlook(compile_net(new.playbook), position_of(arrived(new, state, renamed)))


def unsound(view: Outlook) -> str:
    """Say what is wrong with where an execution would arrive; empty where no guard can be to blame."""
    if view.homeless:
        token = view.homeless[0]
        return (
            f"the token {token.id} at '{token.step}' has no place in the new net: no run of the new playbook "
            "brings a token there inside these fan-outs"
        )
    if view.answer == "unsound":
        way = " → ".join(view.firings) or "where it stands"
        return f"from there it cannot end: after {way}, what is left in {', '.join(view.stuck)} waits for ever"
    return ""
