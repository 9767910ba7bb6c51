"""The story of an execution: its events in words, for somebody who must find out why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from petra.kernel import events as e
from petra.values import canonical
from petra.wire import Error, Write

VALUE_CHARS_MAX = 60
FAILED_SHOWN = 3
TRIES_SHOWN = 10


def event_in_words(event: e.AnyEvent, *, ctx: bool = True) -> str:
    """Tell one event: its name, where, why, and what came of it; with or without what was written to ctx."""
    words = " ".join([str(type(event).__struct_config__.tag), *_where(event)])
    more = [text for text in _more(event) if ctx or not text.startswith("ctx.")]
    arrows = [text for text in more if text.startswith("→")]
    rest = [text for text in more if not text.startswith("→")]
    return " ".join([words, *arrows]) + "".join(f"; {text}" for text in rest)


def again(event: e.AnyEvent) -> list[str]:
    """Say why tasks of a step were tried again; of very many tries, the first."""
    if not isinstance(event, e.StepEnded):
        return []
    retried = [attempt for attempt in event.attempts if attempt.action == "retry"]
    lines = [
        f"try {attempt.number} of {attempt.task}: {_reason(attempt.error)}"
        for attempt in retried[:TRIES_SHOWN]
    ]
    if len(retried) > TRIES_SHOWN:
        lines.append(f"and {len(retried) - TRIES_SHOWN} more tries")
    return lines


def _reason(error: Error | None) -> str:
    return "ok, and tried again" if error is None else f"{error.kind}: {error.message}"


def value(data: Any, chars_max: int = VALUE_CHARS_MAX) -> str:
    """Show a value as JSON, cut where it is long."""
    text = canonical(data).decode()
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def writes(made: Iterable[Write]) -> list[str]:
    """Show what was written to ctx."""
    return [f"ctx.{write.key} = {value(write.value)}" for write in made]


def _where(event: e.AnyEvent) -> list[str]:
    match event:
        case e.ExecutionStarted():
            return [event.playbook]
        case e.StepStarted(compensates=undone) if undone:
            return [event.step, "(compensation)"]
        case e.SignalReceived():
            return [event.name, value(event.payload)] if event.payload is not None else [event.name]
        case e.ItemChanged():
            return [event.act, *(["by", event.actor] if event.actor else [])]
        case e.ActRefused():
            return [event.act, *(["by", event.actor] if event.actor else [])]
        case e.GroupChanged():
            return [event.change]
        case e.ExecutionEnding() | e.ExecutionEnded():
            return [event.status]
        case e.FinalStarted():
            return [event.token.step]
        case _:
            return [event.step] if hasattr(event, "step") else []


def _more(event: e.AnyEvent) -> list[str]:
    match event:
        case e.StepDone() | e.StepFailed() | e.LoopDone():
            return _ended(event)
        case e.TokensAdded():
            return _targets(event.produced)
        case e.TokensGathered():
            return [f"{len(event.consumed)} tokens"]
        case e.StepStarted(merge=merge) if merge is not None:
            return writes([merge])
        case e.IterationsEnded():
            return _iterations(event)
        case e.CtxPatched():
            return [f"ctx.{key} = {value(item)}" for key, item in event.values.items()]
        case e.IncidentRaised() | e.ExecutionStuck():
            return [event.message]
        case _:
            error = getattr(event, "error", None)
            why = error.message if error is not None else ""
            reason = getattr(event, "reason", "")
            return [text for text in (why, "" if reason in why else reason) if text]


def _tries(event: e.StepEnded) -> list[str]:
    """Say which tasks took more than one try; of a report with no room for all, what it left out."""
    tries: dict[str, int] = {}
    for attempt in event.attempts:
        if not attempt.noop:
            tries[attempt.task] = max(tries.get(attempt.task, 0), attempt.number)
    words = [f"{task}: {number} tries" for task, number in tries.items() if number > 1]
    if event.left_out is not None:
        words.append(f"{event.left_out.count} more attempts are not shown")
    return words


def _iterations(event: e.IterationsEnded) -> list[str]:
    """Say how many ended, and of those that failed which and why."""
    failed = [iteration for iteration in event.ended if not iteration.ok]
    words = f"{len(event.ended)} ended" + (f", {len(failed)} failed" if failed else "")
    named = [
        f"[{'.'.join(map(str, iteration.path))}] {iteration.error.kind}: {iteration.error.message}"
        for iteration in failed[:FAILED_SHOWN]
        if iteration.error is not None
    ]
    more = [f"and {len(failed) - FAILED_SHOWN} more"] if len(failed) > FAILED_SHOWN else []
    return [
        words,
        *named,
        *more,
        *(text for iteration in event.ended[:3] for text in writes(iteration.writes)),
    ]


def _ended(event: e.StepEnded) -> list[str]:
    lines = [f"{event.error.kind}: {event.error.message}"] if event.error is not None else []
    lines += _tries(event)
    lines += writes(event.writes)
    if event.administrative is not None:
        lines.append(f"by hand: {event.administrative}")
    return lines + _targets(event.produced)


def _targets(produced: list[e.Produced]) -> list[str]:
    """Say where tokens went."""
    targets = Counter(token.step for token in produced)
    shown = [step if number == 1 else f"{step} ×{number}" for step, number in targets.items()]
    return [f"→ {', '.join(shown)}"] if shown else []
