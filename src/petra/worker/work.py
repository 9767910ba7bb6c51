"""One assignment on its way through a worker, and the way to stop it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from petra.clock import Clock
from petra.errors import UnreadableError
from petra.objects import ExecutionObjects, is_reference
from petra.policy import patch_ctx
from petra.reduce import ADDING
from petra.references import Follow, is_spliced
from petra.tools.base import Cancellation
from petra.wire import Assignment, Report
from petra.wire.frames import RunReport
from petra.worker.parts import Parts
from petra.worker.playbooks import Ready
from petra.worker.short_iterations import STRIDE_MAX


class Work:
    """One assignment on its way, and the way to stop it; ``put`` takes each part of its report but the last."""

    # as each begins: most end with it
    reason: str | None = None
    objects: ExecutionObjects | None = None
    """Those of the execution, once they were asked for; they know the work, so they go when it ends."""
    filled = 0
    """How many of the iterations that are next have the items that they refer to."""
    reach = STRIDE_MAX
    """How many of them the next stride takes: not many more than the last one came to."""
    _made_parts: Parts | None = None
    _failed = False

    def __init__(
        self, given: Assignment, ready: Ready, put: Callable[[RunReport], None], clock: Clock
    ) -> None:
        self.given = given
        self.ready = ready
        self._put = put
        self._clock = clock
        self.ctx: Mapping[str, Any] = given.scope.get("ctx") or {}
        self._parts: set[Cancellation] = set()

    @property
    def parts(self) -> Parts:
        """Its iterations; a run without a loop never asks for them."""
        if self._made_parts is None:
            self._made_parts = Parts(self.given, self._put, self._clock)
        return self._made_parts

    def cancel(self, reason: str) -> None:
        """Stop whatever runs for it, now and later."""
        if self.reason is None:
            self.reason = reason or "cancelled"
            self.parts.stop()
            for part in tuple(self._parts):
                part.set(self.reason)

    def part(self) -> Cancellation:
        """Return what stops one pipeline of this work."""
        cancellation = Cancellation()
        if self.reason is not None:
            cancellation.set(self.reason)
        self._parts.add(cancellation)
        return cancellation

    def end(self, part: Cancellation) -> None:
        """Forget a pipeline that has ended."""
        self._parts.discard(part)

    def remember(self, report: Report, follow: Follow | None = None) -> None:
        """Let iterations that start later see what this one wrote, as if each were handed out by itself.

        Raises:
            NeededError: a write adds to what is behind a reference.
        """
        if report.writes:
            # The server judges the write, and fails the iteration.
            with contextlib.suppress(ValueError, UnreadableError):
                self.ctx = patch_ctx(self.ctx, report.writes, self.ready.settings.reducers, follow)

    def adds_to_large(self, report: Report) -> bool:
        """Tell whether a write adds to, or with, what is behind a reference."""
        reducers = self.ready.settings.reducers
        return any(
            write.key in reducers
            and (is_reference(write.value) or self._is_read(write.key, reducers[write.key]))
            for write in report.writes
        )

    def _is_read(self, key: str, reducer: str) -> bool:
        """Tell whether a write to a key has to look through a reference that is there."""
        old = self.ctx.get(key)
        return is_reference(old) and not (reducer in ADDING and is_spliced(old))

    @property
    def sharing(self) -> int:
        """How many iterations share the room for results, if no page takes what is beyond it."""
        return self.given.total if self.parts.pages is None else 0

    def end_all(self) -> None:
        """Let go of what knows this work: nothing in a circle waits for the collector, which comes rarely."""
        self.objects = None
        if self._made_parts is not None:
            self._made_parts.pages = None

    def fail(self) -> None:
        """End a chunk because one of its iterations failed: stop the others that run now."""
        self._failed = True
        self.parts.stop()
        for part in tuple(self._parts):
            part.set("another iteration failed")

    def has_failed(self) -> bool:
        """Tell whether an iteration has ended the chunk."""
        return self._failed
