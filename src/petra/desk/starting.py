"""How an execution is started; what lies beside its playbook, as data for other processes and back (S16)."""

from __future__ import annotations

from typing import TypedDict

from petra.desk.requests import Beside
from petra.engine.answers import AsSent
from petra.engine.catalogue import ReadsTexts
from petra.library import Gathered
from petra.playbook import Reading, to_yaml


class How(TypedDict, total=False):
    """How an execution is started: what is not said is as usual."""

    allow_unsound: bool
    """Whether what is wrong with its net is passed over."""
    labels: dict[str, str] | None
    business_key: str
    """A key of the caller's; that it is unique is the caller's to see to (``petra.server.business_keys``)."""
    priority: int | None
    """Lower comes first where executions wait for each other; as the playbook says when absent."""
    beside: Gathered | None
    """What it may call, beside what is applied."""
    sent: AsSent | None
    """What the caller sent, where that and not what starts is the question under its ``command``."""


def beside(company: Gathered) -> Beside | None:
    """Return what was gathered as data; None where it is nothing."""
    if not company.playbooks:
        return None
    texts = {place: to_yaml(playbook) for place, playbook in company.playbooks.items()}
    return Beside(place=company.place, texts=texts, shelved=sorted(company.shelved))


async def gathered(given: Beside | None, read: ReadsTexts) -> Gathered:
    """Return what somebody gathered.

    Raises:
        InvalidPlaybookError: one of them has errors.
    """
    if given is None:
        return Gathered()
    readings = {
        place: Reading(place, text, await read(text, place), ())
        for place, text in given.texts.items()
    }
    return Gathered(given.place, readings, frozenset(given.shelved))
