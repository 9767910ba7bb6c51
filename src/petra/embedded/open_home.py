"""What a program does with a folder of executions that it has open."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

from petra.desk import Desk, Principal, Result
from petra.desk.whole_values import has_references, whole
from petra.embedded.reading import Readings
from petra.engine.news import News
from petra.kernel import Record
from petra.kernel import commands as c
from petra.library import Gathered
from petra.playbook import Playbook


class OpenHome:
    """A folder of executions that is open: start them, wait for them, follow them, act on them.

    ``petra.open`` gives one. A playbook is a path, or what ``petra.read`` returned.
    """

    def __init__(self, desk: Desk, who: Principal, library: Sequence[Path] = ()) -> None:
        self._desk = desk
        self._who = who
        self._readings = Readings(library)

    async def run(  # noqa: PLR0913 - each is a choice of its own
        self,
        playbook: Playbook | str | Path,
        workload: dict[str, Any] | None = None,
        *,
        execution: str = "",
        until: Callable[[Result], bool] | None = None,
        allow_unsound: bool = False,
        labels: dict[str, str] | None = None,
    ) -> Result:
        """Start an execution and wait until it ends or rests; it may call what lies beside its file.

        ``execution`` is its id, where you choose one. With ``until``, which is asked after every change, it waits for what
        that is true of. A net that is sure to get stuck or to pile up is refused, unless ``allow_unsound``; so are a start
        without its secrets, and a second one with the same id: ``status`` is ``refused`` then, and ``reason`` says why.

        Raises:
            OSError: the file of the playbook cannot be read.
            InvalidPlaybookError: the playbook has errors.
            UsageError: the id, the workload or a label is none.
        """
        model, beside = self._read(playbook)
        return await self._whole(
            await self._desk.run(
                self._who, model, workload, execution=execution, until=until, allow_unsound=allow_unsound,
                labels=labels, beside=beside,
            )
        )  # fmt: skip

    def _read(self, playbook: Playbook | str | Path) -> tuple[Playbook, Gathered | None]:
        if isinstance(playbook, Playbook):
            return playbook, None
        return self._readings.around(playbook)

    async def apply(
        self, *playbooks: Playbook | str | Path, allow_unsound: bool = False
    ) -> list[dict[str, Any]]:
        """Make playbooks the current ones of their paths, for all that call them; return what became of each.

        Raises:
            UsageError: the net of one is not sound, and that is not allowed; nothing is stored.
        """
        models = [self._read(playbook)[0] for playbook in playbooks]
        own, written = self._desk.engine.catalogue.own_text, map(_text, playbooks)
        texts = [await own(*pair) for pair in zip(models, written, strict=True)]
        return await self._desk.apply(self._who, models, texts=texts, allow_unsound=allow_unsound)

    async def start(
        self,
        playbook: Playbook | str | Path,
        workload: dict[str, Any] | None = None,
        *,
        execution: str = "",
        allow_unsound: bool = False,
        labels: dict[str, str] | None = None,
    ) -> str:
        """Start an execution and return its id at once; ``rest`` waits for it.

        Raises:
            UsageError: it was refused; the message says why.
        """
        model, beside = self._read(playbook)
        return await self._desk.start(
            self._who,
            model,
            workload,
            execution=execution,
            allow_unsound=allow_unsound,
            labels=labels,
            beside=beside,
        )

    async def rest(self, execution: str, until: Callable[[Result], bool] | None = None) -> Result:
        """Wait until an execution ends or rests, whichever engine acts for it; with ``until``, as ``run`` does.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        return await self._whole(await self._desk.rest(self._who, execution, until))

    async def get(self, execution: str) -> Result:
        """Return what an execution has come to so far.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        return await self._whole(await self._desk.get(self._who, execution))

    async def _whole(self, result: Result) -> Result:
        """Give callers the data, also where the log holds references (S18)."""
        engine = self._desk.engine
        if engine.objects is None or not has_references(result):
            return result
        entry = await engine.view(result.id)
        return await whole(result, entry.state, engine.store, engine.objects)

    def follow(self, execution: str, after: int = 0) -> AsyncGenerator[News, None]:
        """Yield what happens in an execution: every record behind ``after`` once, in order, whoever acts for it.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        return self._desk.follow(self._who, execution, after)

    async def signal(
        self, execution: str, name: str, payload: Any = None, *, key: Any = None
    ) -> None:
        """Send a signal; where steps wait for it by a key, ``key`` says which.

        Raises:
            UnknownExecutionError: there is none of that id.
            UsageError: it has ended, or no step of it ever waits for such a signal.
        """
        signal = c.SendSignal(now=0.0, name=name, key=key, payload=payload)
        await self._desk.give(self._who, execution, signal)

    async def cancel(self, execution: str, reason: str = "cancelled") -> None:
        """Stop everything an execution does; it ends aborted.

        Raises:
            UnknownExecutionError: there is none of that id.
            UsageError: it has ended already.
        """
        await self._desk.give(self._who, execution, c.Cancel(now=0.0, reason=reason))

    async def complete(
        self, execution: str, step: str, action: str, *, actor: str, data: Any = None
    ) -> None:
        """Complete the open work item of a step: ``action`` is one of those that it offers, ``data`` what a form asks for.

        Raises:
            UnknownExecutionError: there is no execution of that id.
            UsageError: there is none, or the act was refused.
        """
        act = c.Act(now=0.0, item="", act="complete", actor=actor, action=action, data=data)
        await self._desk.act(self._who, execution, step, act)

    async def records(self, execution: str) -> list[Record]:
        """Return the log of an execution.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        return await self._desk.records(self._who, execution)


def _text(playbook: Playbook | str | Path) -> str:
    """Return what the author of a playbook wrote; nothing, where it came as a model."""
    if isinstance(playbook, Playbook):
        return ""
    return Path(playbook).read_bytes().decode("utf-8-sig", "replace")
