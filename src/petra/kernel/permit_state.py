"""The permits of an execution, as part of its state: what it waits for, and what it holds (S15).

A permit is asked for by being here, and given back by not being here any more: the rows that the store has of them follow
from this, whatever ended a step or an execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from petra.kernel.permit_events import NewPermit

QUOTA = "quota executions"
"""The limit of a namespace: so many executions at once, or so many starts in a time."""


class Permit(Struct, gc=False):
    """How far a permit has come that is wanted; one not ``asked`` for yet comes after another, which names it in ``then``."""

    wanted: NewPermit
    since: float
    asked: bool = False
    given: bool = False
    blocks: bool = False
    then: str = ""

    @property
    def id(self) -> str:
        """The id that it is given, refused and given back by."""
        return self.wanted.id


class OwnPermits(Struct, gc=False):
    """All permits of one execution, by id."""

    by_id: dict[str, Permit] = {}
    of_run: dict[str, list[str]] = {}
    """By run, whether it has begun or not: its permits."""
    for_token: dict[str, str] = {}
    """By a token that waits: the run that it is going to be."""
    held_back: bool = False
    """Whether nothing fires yet."""

    def ask(self, permits: Iterable[Permit], *, blocks: bool) -> None:
        """Take permits in, each asked for once the one before it was given."""
        before: Permit | None = None
        for permit in permits:
            permit.blocks = blocks
            permit.asked = before is None
            if before is not None:
                before.then = permit.id
            wanted = permit.wanted
            if wanted.run:
                self.of_run.setdefault(wanted.run, []).append(permit.id)
            if wanted.token:
                self.for_token[wanted.token] = wanted.run
            self.by_id[permit.id] = before = permit
        self.held_back = self.held_back or blocks

    def give(self, name: str) -> None:
        """Note that a permit was given."""
        permit = self.by_id[name]
        permit.given = True
        if permit.then:
            self.by_id[permit.then].asked = True
        elif permit.blocks:
            self.held_back = False

    def begun(self, tokens: Iterable[str], run: str) -> None:
        """Tokens become a run: what they waited for is held by that."""
        for token in tokens:
            if self.for_token.get(token) == run:
                del self.for_token[token]

    def token_left(self, token: str) -> None:
        """Give back what a token waited for that is gone."""
        run = self.for_token.pop(token, None)
        if run is not None:
            self.run_left(run)

    def run_left(self, run: str) -> None:
        """Give back what a run held."""
        for name in self.of_run.pop(run, ()):
            self.by_id.pop(name, None)

    def of_run_of(self, token: str) -> list[Permit]:
        """Return what a token waits for."""
        names = self.of_run.get(self.for_token.get(token, ""), ())
        return [permit for name in names if (permit := self.by_id[name]).asked and not permit.given]

    def waiting(self) -> Iterator[Permit]:
        """Yield the permits that are waited for."""
        return (permit for permit in self.by_id.values() if permit.asked and not permit.given)


def limit_in_words(permit: NewPermit) -> str:
    """Say which limit a permit is of."""
    kind, _, name = permit.limit.partition(" ")
    if permit.limit == QUOTA:
        return "the quota of its namespace"
    words = {"playbook": f"the limit of '{name}'", "limit": f"the limit '{name}'"}
    said = words.get(kind, f"resource '{name}' of the server")
    return f"{said} with key '{permit.key}'" if permit.key else said
