"""What a run begins with beside its token: the items of a loop, or what a server task waits for.

Fields of ``human``, ``wait`` and ``playbook`` are rendered here, once per attempt (S5, S14, S15, S16).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from petra.kernel import events as e
from petra.kernel.lists import Listed, listed
from petra.kernel.program import LoopPlan, StepPlan
from petra.kernel.scope import View
from petra.kernel.state import derive
from petra.kernel.turn import TransformError, Turn
from petra.kernel.waiting import TIMERS_APART, moment
from petra.policy.backoff import as_number
from petra.wire import Error

DEPTH_MAX = 32
PEOPLE_MAX = 1_000
PERSON_MAX = 400


class Prepared(Struct):
    """What a run begins with."""

    items: Listed | None = None
    max_in_flight: int = 1
    armed: e.Armed | None = None


def prepared(turn: Turn, plan: StepPlan, view: View, run_id: str) -> Prepared:
    """Evaluate what a run begins with.

    Raises:
        TransformError: something could not be evaluated.
    """
    if plan.loop is not None:
        items, most = items_of(turn, plan.loop, view, None)
        return Prepared(items=items, max_in_flight=most)
    if plan.mode in ("human", "wait", "playbook"):
        return Prepared(armed=arm(turn, plan, view, run_id, attempt=1))
    return Prepared()


def items_of(
    turn: Turn, loop: LoopPlan, view: View, iteration: dict[str, Any] | None
) -> tuple[Listed, int]:
    """Evaluate the list of a loop and how many iterations may run at once."""
    extra = {"iter": iteration} if iteration is not None else {}
    items = listed(turn, loop.items, view, extra, "loop.in")
    most = (
        turn.render(loop.max_in_flight, view, "loop.spec.max_in_flight", extra)
        if loop.parallel
        else 1
    )
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise _wrong("loop.spec.max_in_flight is not a whole number of at least 1")
    return items, most


def _wrong(message: str) -> TransformError:
    return TransformError(Error(kind="transform", message=message))


def arm(
    turn: Turn,
    plan: StepPlan,
    view: View,
    run_id: str,
    *,
    attempt: int,
    chunk: str = "",
    extra: dict[str, Any] | None = None,
) -> e.Armed:
    """Set up one attempt of a server task."""
    assert plan.fields is not None
    names = {**(extra or {}), "_attempt": attempt}
    names.setdefault("_prev", None)
    render = turn.hand_on if plan.mode == "playbook" else turn.render
    fields = render(plan.fields, view, f"a field of step '{plan.name}'", names)
    place = _Place(turn, run_id, chunk, attempt)
    if plan.mode == "playbook":
        return place.child(fields)
    return place.human(fields) if plan.mode == "human" else place.wait(fields)


class _Place:
    """Where an attempt belongs; ids and due times are derived from it."""

    def __init__(self, turn: Turn, run_id: str, chunk: str, attempt: int) -> None:
        self.turn = turn
        self.run = run_id
        self.chunk = chunk
        self.attempt = attempt

    def human(self, fields: dict[str, Any]) -> e.Armed:
        item, timers = self._item(fields, 0)
        wait = e.NewWait(which=0, kind="human", item=item.id)
        return e.Armed(waits=[wait], items=[item], timers=timers, attempt=self.attempt)

    def child(self, fields: dict[str, Any]) -> e.Armed:
        child = derive("child", self.turn.state.id, self.run, self.chunk, self.attempt)
        call = {
            "path": fields["path"],
            "version": fields.get("version"),
            "workload": self.turn.keep(
                self.turn.owned(fields.get("args") or {}, "args"), "args of the sub-playbook"
            ),
            "wait": fields.get("wait", True),
            "on_failure": fields.get("on_failure", "propagate"),
            "inherit_artifacts": fields.get("inherit_artifacts", False),
        }
        return e.Armed(child=child, call=call, attempt=self.attempt)

    def wait(self, fields: dict[str, Any]) -> e.Armed:
        waits: list[e.NewWait] = []
        timers: list[e.NewTimer] = []
        items: list[e.NewItem] = []
        for index, wait in enumerate(fields.get("any_of") or [fields]):
            which = wait.get("as") or index
            if wait.get("human") is not None:
                item, more = self._item(wait["human"], index)
                items.append(item)
                timers += more
                waits.append(e.NewWait(which=which, kind="human", item=item.id))
            elif wait.get("signal") is not None:
                signal = (
                    wait["signal"] if isinstance(wait["signal"], dict) else {"name": wait["signal"]}
                )
                delivery = signal.get("delivery", "persistent")
                waits.append(
                    e.NewWait(
                        which=which,
                        kind="signal",
                        name=str(signal["name"]),
                        key=signal.get("key"),
                        delivery=delivery,
                    )
                )
            else:
                timers.append(self._timer("wait", self._due(wait), index))
                waits.append(e.NewWait(which=which, kind="timer"))
        return e.Armed(waits=waits, timers=timers, items=items, attempt=self.attempt)

    def _due(self, fields: dict[str, Any]) -> float:
        if fields.get("for_s") is not None:
            return self.turn.now + seconds(fields["for_s"], "for_s")
        text = fields.get("until")
        if not isinstance(text, str) and (number := as_number(text)) is not None:
            return number
        try:
            at = datetime.fromisoformat(str(text))
        except ValueError:
            raise _wrong(f"until is not a point in time: '{text}'") from None
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()

    def _timer(self, kind: str, due: float, index: int = 0) -> e.NewTimer:
        name = derive(kind, self.run, self.chunk, self.attempt, index)
        return e.NewTimer(
            id=name, due=moment(due), kind=kind, run=self.run, group=self.chunk, index=index
        )

    def _item(self, rendered: dict[str, Any], index: int) -> tuple[e.NewItem, list[e.NewTimer]]:
        fields = {key: value for key, value in rendered.items() if key != "args"}
        _check_people(fields)
        spec = self.turn.keep_all(fields, "the work item")
        item = e.NewItem(
            id=derive("item", self.run, self.chunk, self.attempt, index),
            spec=spec,
            attempt=self.attempt,
        )
        timers = []
        base = index * TIMERS_APART
        if spec.get("due_s") is not None:
            timers.append(self._timer("due", self.turn.now + seconds(spec["due_s"], "due_s"), base))
        if spec.get("remind_s") is not None:
            timers.append(
                self._timer("remind", self.turn.now + seconds(spec["remind_s"], "remind_s"), base)
            )
        for number, step in enumerate(spec.get("escalate") or ()):
            due = self.turn.now + seconds(step["after_s"], "escalate.after_s")
            timers.append(self._timer("escalate", due, base + number))
        return item, timers


def _check_people(spec: dict[str, Any]) -> None:
    """Let only names stand for people: whoever is named must be able to come and act."""
    for field in ("assignees", "exclude"):
        named = spec.get(field) or {}
        for kind in ("users", "roles"):
            people = named.get(kind) if isinstance(named, dict) else named
            names = [people] if isinstance(people, str) else people or []
            if (
                not isinstance(names, list)
                or len(names) > PEOPLE_MAX
                or not all(map(_is_name, names))
            ):
                raise _wrong(
                    f"{field}.{kind} is not a list of names: at most {PEOPLE_MAX:,}, each one line of text of at most"
                    f" {PERSON_MAX} characters"
                )


def _is_name(name: Any) -> bool:
    if isinstance(name, int | float):
        return True  # a number is a name, if an odd one
    return isinstance(name, str) and len(name) <= PERSON_MAX and name.isprintable()


def seconds(value: Any, what: str) -> float:
    """Read a number of seconds that a template may have made.

    Raises:
        TransformError: it is none.
    """
    number = as_number(value)
    if number is None or number < 0:
        raise _wrong(f"{what} is not a number of seconds")
    return float(number)
