"""Large values for decisions: read when one needs them, kept for a while, bounded in every direction (S18).

Rule 1: a decision reads nothing. It names what it lacks, that is brought while other executions go on, and it is made
again. Meanwhile what arrives for the same execution waits behind it, in order.
Rule 2: what was brought for a decision stays until it is made; the shelf that all share forgets what was used least
lately.
Rule 3: what is too large, too much or too slow is an error of kind limit, for that decision alone.
Rule 4: what a decision makes is durable before its events are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from petra.clock import Clock
from petra.engine.cutting import cut_object
from petra.engine.inbox import Inbox
from petra.engine.life import Life
from petra.engine.limits import (
    BRING_AT_ONCE,
    BRING_MAX,
    BRING_S,
    HAND_BYTES,
    OBJECT_BYTES,
    RETRY_S,
    SHELF_BYTES,
)
from petra.engine.submissions import Submission
from petra.engine.waited import WaitedFor
from petra.errors import ObjectError, UnreadableError
from petra.kernel.objects import CutNeededError, Made
from petra.objects import ObjectStore
from petra.objects.kept import Kept
from petra.references import NeededError, read_reference, walk


class SharedShelf:
    """Objects that were read or made lately, for all executions."""

    def __init__(self, store: str, most: int = SHELF_BYTES) -> None:
        self.store = store
        self._found = Kept(most)

    def __call__(self, reference: dict[str, Any]) -> Any:
        """Return what a reference leads to, if it is here."""
        key = reference["key"]
        if key not in self._found:
            raise NeededError(reference)
        return walk(reference, self._found[key])

    def has(self, reference: dict[str, Any]) -> bool:
        """Tell whether what a reference leads to is here."""
        return reference["key"] in self._found

    def put(self, reference: dict[str, Any], value: Any) -> None:
        """Keep an object; others make room."""
        self._found.put(reference["key"], value, reference["size"])

    def pieces(self, reference: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """Have a list cut: nobody keeps how it was."""
        raise CutNeededError(reference)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def brought(self) -> int:
        """Bytes of what is kept, as it is stored."""
        return self._found.size


class Brought:
    """What was brought for one command that waits to be decided, before the shelf."""

    def __init__(self, shelf: SharedShelf) -> None:
        self.store = shelf.store
        self._shelf = shelf
        self._found: dict[str, Any] = {}
        self._failed: dict[str, UnreadableError] = {}
        self._cuts: dict[str, list[tuple[int, dict[str, Any]]] | UnreadableError] = {}
        self._size = 0

    def __call__(self, reference: dict[str, Any]) -> Any:
        """Return what a reference leads to, or say why it cannot be had."""
        key = reference["key"]
        if key in self._found:
            return walk(reference, self._found[key])
        if (error := self._failed.get(key)) is not None:
            raise UnreadableError(error.kind, error.message)
        return self._shelf(reference)

    @property
    def brought(self) -> int:
        """Bytes of what is at hand, as it is stored."""
        return self._size + self._shelf.brought

    def has(self, reference: dict[str, Any]) -> bool:
        """Tell whether what a reference leads to is at hand."""
        return reference["key"] in self._found or self._shelf.has(reference)

    def put(self, reference: dict[str, Any], value: Any) -> None:
        """Keep an object that was made: until it is durable, nobody could read it anywhere else."""
        self._found[reference["key"]] = value
        self._shelf.put(reference, value)

    def pieces(self, reference: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """Return the pieces that a list was cut into."""
        cut = self._cuts.get(_place(reference))
        if cut is None:
            raise CutNeededError(reference)
        if isinstance(cut, UnreadableError):
            raise UnreadableError(cut.kind, cut.message)
        return cut

    def take_cut(
        self, reference: dict[str, Any], cut: list[tuple[int, dict[str, Any]]] | UnreadableError
    ) -> None:
        """Hold the pieces that a list was cut into, or the error it came to."""
        self._cuts[_place(reference)] = cut

    def take(self, reference: dict[str, Any], value: Any) -> None:
        """Hold what was brought, or the error it came to."""
        if isinstance(value, UnreadableError):
            self._failed[reference["key"]] = value
            return
        self._found[reference["key"]] = value
        self._size += reference["size"]
        self._shelf.put(reference, value)

    def refuses(self, reference: dict[str, Any]) -> UnreadableError | None:
        """Say why an object is not even asked for: it is too large, or would be too much beside the others."""
        size, key = reference["size"], reference["key"]
        if size > OBJECT_BYTES:
            said = (
                f"{key} has {size:,} bytes; at most {OBJECT_BYTES:,} (OBJECT_BYTES) can be looked into on the server."
                " Look into it in a task, or loop over it, and go by what that comes to"
            )
        elif self._size + size > HAND_BYTES:
            said = f"with {key} there would be more than {HAND_BYTES:,} bytes (HAND_BYTES) to look into at once"
        elif len(self._found) >= BRING_MAX:
            said = f"more than {BRING_MAX:,} objects (BRING_MAX) would be needed at once"
        elif key.endswith(".bin"):
            return UnreadableError(
                "transform", f"{key} is bytes, which a playbook cannot look into"
            )
        else:
            return None
        return UnreadableError("limit", said)


def _place(reference: dict[str, Any]) -> str:
    return f"{reference['key']} {reference.get('path')}"


class Porter:
    """Brings what decisions lack, and stores what they make."""

    def __init__(self, objects: ObjectStore | None, clock: Clock, life: Life, inbox: Inbox) -> None:
        self._objects = objects
        self._clock = clock
        self._life = life
        self._inbox = inbox
        self._waited = WaitedFor(clock)
        self.shelf = SharedShelf(objects.name) if objects is not None else None
        self.held: dict[str, list[Submission]] = {}
        """By execution: what waits for an object, or behind what does."""
        self._rested = asyncio.Event()
        self._rested.set()
        self._room = asyncio.Semaphore(BRING_AT_ONCE)

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Iterator[Submission]:
        """Go through the requests that wait for an object, or behind one that does."""
        for held in self.held.values():
            yield from held

    def holds(self, request: Submission) -> bool:
        """Take a request whose execution waits for an object; False where it does not."""
        held = self.held.get(request.execution)
        if held is None:
            return False
        held.append(request)
        return True

    def bring(self, before: Iterable[Submission], request: Submission, lack: NeededError) -> None:
        """Bring what a request lacks; then it is decided again, after those ``before`` it."""
        assert self.shelf is not None, "without a store nothing is asked for"
        if request.brought is None:
            request.brought = Brought(self.shelf)
        self.held[request.execution] = [*before, request]
        self._rested.clear()
        self._life.errand("bring", self._bring(request, request.brought, lack))

    async def _bring(self, request: Submission, brought: Brought, lack: NeededError) -> None:
        try:
            if isinstance(lack, CutNeededError):
                brought.take_cut(lack.reference, await self._cut(request.execution, lack.reference))
                return
            for reference in lack.references:
                brought.take(reference, brought.refuses(reference) or await self._read(reference))
        finally:
            self._inbox.push_back(self.held.pop(request.execution))
            if not self.held:
                self._rested.set()

    async def _cut(
        self, execution: str, reference: dict[str, Any]
    ) -> list[tuple[int, dict[str, Any]]] | UnreadableError:
        """Cut a list into pieces, each an object of the execution; a store that is full or away is waited for."""
        until, waited = self._clock.monotonic() + BRING_S, WaitedFor(self._clock)
        while True:
            async with self._room:
                pieces = await self._cut_once(execution, reference)
            if not isinstance(pieces, ObjectError) or pieces.kind not in ("quota", "connection"):
                waited.over()
                return pieces
            if pieces.kind == "connection" and self._clock.monotonic() >= until:
                return pieces
            waited.tell(pieces.kind, f"{execution} waits until this is over: {pieces}")
            await self._clock.sleep(RETRY_S)

    async def _cut_once(
        self, execution: str, reference: dict[str, Any]
    ) -> list[tuple[int, dict[str, Any]]] | UnreadableError:
        assert self._objects is not None
        try:
            return await cut_object(self._objects, execution, reference, self._objects.write)
        except UnreadableError as error:
            return error
        except Exception as error:  # noqa: BLE001 - a list that cannot be cut is not the engine
            return UnreadableError("parse", f"{reference['key']:.80}: {error!r:.200}")

    async def _read(self, reference: dict[str, Any]) -> Any:
        assert self._objects is not None
        until = self._clock.monotonic() + BRING_S
        while True:
            try:
                whole = read_reference({**reference, "path": []})
                async with self._room:
                    return await asyncio.wait_for(self._objects.get(whole), BRING_S)
            except TimeoutError:
                message = f"{reference['key']:.80} did not come within {BRING_S:g} s"
                return UnreadableError("limit", message)
            except ObjectError as error:
                if error.kind != "connection" or self._clock.monotonic() >= until:
                    return error
                await self._clock.sleep(RETRY_S)
            except Exception as error:  # noqa: BLE001 - a reference that somebody made up is not the engine
                return UnreadableError("parse", f"{reference['key']:.80}: {error!r:.200}")

    async def store(self, objects: Iterable[Made]) -> None:
        """Store what decisions made; while that cannot be done, nothing else is made durable either."""
        for new in objects:
            await self._store(new)

    async def _store(self, new: Made) -> None:
        assert self._objects is not None
        while True:
            try:
                await self._objects.write(new.key, new.content)
            except ObjectError as error:
                words = f"nothing is acknowledged until this is over: {error}"
                self._waited.tell(error.kind, words)
                await self._clock.sleep(RETRY_S)
            else:
                self._waited.over()
                return

    async def rest(self) -> None:
        """Wait until nothing is being brought."""
        await self._rested.wait()
