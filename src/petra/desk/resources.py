"""Resources and limits at the desk: how much there is, who holds it, who waits, and in which order (S15).

Rule 1: what executions of a namespace share is said by whoever may apply there; its quota, by whoever administers it.
Rule 2: what is changed counts at once, for those who wait too. Nobody who is in is sent away by less.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec.structs import replace

from petra.desk.document_acts import Acts, chosen_act
from petra.desk.principal import May, Principal
from petra.desk.requests import OnResources
from petra.engine import Engine
from petra.engine.documents import Documents
from petra.engine.shared_resources import CONFIGURED, SharedResources
from petra.errors import UsageError
from petra.kernel.explain import Explanation, Waiting
from petra.kernel.hearsay import InLine
from petra.kernel.permit_state import QUOTA
from petra.playbook.concurrency import EXECUTIONS
from petra.playbook.shared import SharedResource
from petra.store.base import Store
from petra.store.permits import SHOWN
from petra.store.rows import LineCount, LineName, PermitRow

HOLDERS_SHOWN = 10


class UnknownResourceError(UsageError):
    """There is no resource of that name."""


class Lines:
    """What can be read of limits, with a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shared = SharedResources(store)

    async def listed(self, namespace: str) -> dict[str, Any]:
        """Return the resources of a namespace, and the lines in which somebody is in or waits."""
        kept = await self._shared.listed(namespace)
        lines = await self._store.permits.lines(namespace)
        return {
            "resources": [_resource(resource, lines) for resource in kept],
            "lines": [line_data(count) for count in lines],
        }

    async def get(self, namespace: str, name: str) -> dict[str, Any]:
        """Return a resource, with who holds some of it and who waits, by key.

        Raises:
            UnknownResourceError: there is none of that name.
        """
        resource = await self._shared.find(name, namespace)
        if resource is None:
            raise _unknown(name)
        lines = await self._store.permits.lines(namespace, limit_of(name))
        return {
            **_resource(resource, lines),
            "lines": [await self.line(count.line) for count in lines[:SHOWN]],
        }

    async def line(self, name: LineName) -> dict[str, Any]:
        """Return a line: who is in, who waits, in order."""
        whole = await self._store.permits.line(name)
        count = LineCount(line=name, used=whole.used, waiting=whole.waiting)
        return {
            **line_data(count),
            "holders": [_permit(permit) for permit in whole.holders],
            "queue": [_permit(permit) for permit in whole.queue],
        }

    async def places(self, namespace: str, executions: Collection[str]) -> list[dict[str, Any]]:
        """Return how many stand in front of some executions, of those that wait for a limit."""
        places = await self._store.permits.places(executions, namespace)
        return [
            {"execution": place.execution, "limit": place.line.limit, "key": place.line.key, "ahead": place.ahead}
            for place in places
        ]  # fmt: skip

    async def with_places(self, execution: str, explanation: Explanation) -> Explanation:
        """Add to what waits for a limit where it stands in the line."""
        if not any(wait.permit for wait in explanation.waiting):
            return explanation
        known = {permit.id: permit for permit in await self._store.permits.of(execution)}
        waiting = [await self._placed(wait, known.get(wait.permit)) for wait in explanation.waiting]
        return replace(explanation, waiting=waiting)

    async def _placed(self, waiting: Waiting, permit: PermitRow | None) -> Waiting:
        if permit is None or permit.state != "waiting":
            return waiting
        line = await self._store.permits.line(permit.line, most=HOLDERS_SHOWN)
        ahead = await self._store.permits.ahead(permit)
        allowed = await self._shared.allowed(permit.line)
        most = permit.most or (allowed.units if allowed is not None else None)
        holders = list(dict.fromkeys(permit.execution for permit in line.holders))
        queue = InLine(
            limit=permit.limit, key=permit.key, position=ahead + 1, waiting=line.waiting, used=line.used, most=most,
            holders=holders,
        )  # fmt: skip
        if allowed is None:
            name = permit.limit.partition(" ")[2]
            words = f"it is not configured here: 'petra resource set {name} --units N'"
            return replace(
                waiting, sentence=f"{waiting.sentence[:-1]}: nobody has said how much there is.",
                unblocked_by=words, queue=queue,
            )  # fmt: skip
        return replace(
            waiting, sentence=f"{waiting.sentence[:-1]}: {_in_words(queue)}.", queue=queue,
            unblocked_by=f"the end of {', '.join(holders)}" if holders else waiting.unblocked_by,
        )  # fmt: skip


def _in_words(queue: InLine) -> str:
    of = "" if queue.most is None else f" of {queue.most:,}"
    return f"number {queue.position:,} of {queue.waiting:,} who wait; {queue.used:,}{of} in use"


class Resources:
    """What callers may want of resources."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._documents = Documents(engine.store, engine.clock, "Resource")
        self._lines = Lines(engine.store)

    async def listed(self, who: Principal) -> dict[str, Any]:
        """Return what there is, and how much of it is in use."""
        who.must(May.SEE)
        return await self._lines.listed(who.namespace)

    async def get(self, who: Principal, name: str) -> dict[str, Any]:
        """Return a resource, with who holds some of it and who waits."""
        who.must(May.SEE)
        return await self._lines.get(who.namespace, name)

    async def apply(
        self, who: Principal, resource: SharedResource, *, replaces: str | None = None
    ) -> dict[str, Any]:
        """Say how much there is of something; it counts at once.

        Raises:
            StaleError: the current text is not the one that it ``replaces``.
        """
        _must(who, resource.name)
        done = await self._documents.apply(resource, who.namespace, replaces=replaces)
        await self._changed()
        return done.data()

    async def remove(self, who: Principal, name: str) -> dict[str, Any]:
        """Let a resource be known no more; who is in stays, and nobody else comes in.

        Raises:
            UnknownResourceError: there is none of that name.
        """
        _must(who, name)
        if not await self._engine.resources.remove(name, who.namespace):
            raise _unknown(name)
        await self._changed()
        return {"removed": name}

    async def _changed(self) -> None:
        await self._engine.resources.look()
        self._engine.bus.tell(CONFIGURED)
        self._engine.turnstile.look_again()


def _must(who: Principal, name: str) -> None:
    who.must(May.ADMINISTER if name == EXECUTIONS else May.APPLY)


def _unknown(name: str) -> UnknownResourceError:
    words = "'petra resource list' shows those there are"
    return UnknownResourceError(f"there is no resource '{name[:200]}'; {words}")


def limit_of(name: str) -> str:
    """Return what the limit of a resource is called."""
    return QUOTA if name == EXECUTIONS else f"resource {name}"


# As data


def _resource(resource: SharedResource, lines: list[LineCount]) -> dict[str, Any]:
    mine = [line for line in lines if line.line.limit == limit_of(resource.name)]
    return {
        "name": resource.name, "units": resource.units, "rate": msgspec.to_builtins(resource.rate), "digest": resource.digest,
        "used": sum(line.used for line in mine), "waiting": sum(line.waiting for line in mine),
    }  # fmt: skip


def line_data(count: LineCount) -> dict[str, Any]:
    """Return a line as it is shown."""
    return {
        "limit": count.line.limit,
        "key": count.line.key,
        "used": count.used,
        "waiting": count.waiting,
    }


def _permit(permit: PermitRow) -> dict[str, Any]:
    return {
        "execution": permit.execution, "step": permit.step or None, "units": permit.units, "asked": permit.asked,
        "state": permit.state,
    }  # fmt: skip


# What other processes ask


async def on_resources(desk: Resources, who: Principal, asked: OnResources) -> dict[str, Any]:
    """Do what a request asks for.

    Raises:
        UsageError: there is no such resource, or no such act, or it was refused.
    """
    acts: Acts = {
        "list": lambda: desk.listed(who),
        "get": lambda: desk.get(who, asked.name),
        "apply": lambda: desk.apply(who, resource_in(asked.text, "the resource")),
        "remove": lambda: desk.remove(who, asked.name),
    }
    return await chosen_act(acts, asked.act, "resource")


def resource_in(text: str, name: str) -> SharedResource:
    """Read a resource.

    Raises:
        InvalidPlaybookError: it has errors, or is something else.
    """
    from petra.playbook.documents import read_document  # noqa: PLC0415 - it brings a calendar along

    return read_document(text, name).checked_as(SharedResource)
