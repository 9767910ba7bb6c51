"""What ``petra schedule``, ``petra trigger`` and ``petra resource`` share: each has the verbs of one kind of document.

Rule 1: what is asked is a request of that kind, carried out here, by the process that has the home open, or by a server.
Rule 2: ``-o json`` prints the answer as it came; else words are made of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from petra.cli.documents import checked_documents
from petra.cli.home import look, request, request_id
from petra.cli.marks import applied_mark
from petra.cli.output import as_json, print_json, tell
from petra.cli.place import home_option, remote
from petra.desk import OnResources, OnSchedules, OnTriggers
from petra.engine.cache import Cache
from petra.playbook.write import document_yaml
from petra.store.base import Store

if TYPE_CHECKING:  # who asks for a resource loads no calendar
    from petra.playbook.documents import AnyDocument

DocumentRequest = OnResources | OnSchedules | OnTriggers
Parameter = Callable[[Callable[..., Any]], Callable[..., Any]]

# In the order in which they are applied: what the others start may want some of a resource.
_REQUESTS: Mapping[str, type[DocumentRequest]] = MappingProxyType(
    {"Resource": OnResources, "Schedule": OnSchedules, "Trigger": OnTriggers}
)
_DIGEST = 12
"""So much of a digest is shown."""

name_argument = click.argument("name")
reason_option = click.option("--reason", default="", help="Why.")


def apply_documents(home: Path, documents: Iterable[AnyDocument]) -> list[dict[str, Any]]:
    """Have documents of all kinds applied; return what became of each."""
    order = list(_REQUESTS)
    ordered = sorted(documents, key=lambda document: order.index(document.kind))
    requests = [
        _request(document.kind, "apply", text=document_yaml(document)) for document in ordered
    ]
    return [_answer(home, asked) for asked in requests]


def _request(kind: str, act: str, name: str = "", **fields: Any) -> DocumentRequest:
    shape = _REQUESTS[kind]
    return shape(id=request_id(), execution="", rest=False, act=act, name=name, **fields)


def _answer(home: Path, asked: DocumentRequest) -> dict[str, Any]:
    reply = request(home, asked)
    assert reply.result is not None, "a reply without an error has a result"
    return reply.result


def show(answer: Any, output: str, say: Callable[[Any], None]) -> None:
    """Print an answer as JSON, or say it in words."""
    if output == "json":
        print_json(answer)
    else:
        say(answer)


def outcome_marks(last: Iterable[dict[str, Any]]) -> str:
    """Return what came of the last executions, a sign for each, the latest at the end."""
    signs = [
        "✓" if execution["status"] == "completed" else "✗" if execution["ended"] else "·"
        for execution in last
    ]
    return "".join(reversed(signs))


class DocumentVerbs:
    """The verbs of one kind of document, in a group of their own."""

    def __init__(self, group: click.Group, kind: str) -> None:
        self._group = group
        self._kind = kind

    def ask(self, home: Path, act: str, name: str = "", **fields: Any) -> dict[str, Any]:
        """Have something done with documents of this kind; return the answer.

        Raises:
            UsageError: it cannot be done, and why.
        """
        return _answer(home, _request(self._kind, act, name, **fields))

    def read(
        self,
        home: Path,
        here: Callable[[Store, Cache], Awaitable[Any]],
        act: str,
        name: str = "",
        **fields: Any,
    ) -> Any:
        """Read in the folder, which nobody need have open; or have a server answer."""
        if remote(home) is None:
            return look(home, here)
        return self.ask(home, act, name, **fields)

    def verb(self, word: str, *parameters: Parameter) -> Callable[[Callable[..., Any]], Any]:
        """Make a function a verb of the group: with these parameters, a home, and ``-o``."""

        def add(function: Callable[..., Any]) -> click.Command:
            last: list[Parameter] = [home_option, as_json]
            for parameter in reversed([*parameters, *last]):
                function = parameter(function)
            return self._group.command(word)(function)

        return add

    def add_apply(self, about: str) -> None:
        """Add the verb that applies the documents of this kind in files."""

        def apply(paths: tuple[str, ...], home: Path, output: str) -> None:
            documents = checked_documents(paths, output)
            ours = [document for document in documents if document.kind == self._kind]
            if not ours:
                raise click.UsageError(f"there is no {self._kind.lower()} in {', '.join(paths)}")
            show({"applied": apply_documents(home, ours)}, output, _say_applied)

        apply.__doc__ = about
        paths = click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
        self.verb("apply", paths)(apply)

    def add_act(
        self, word: str, about: str, says: str, *parameters: Parameter, act: str = ""
    ) -> None:
        """Add a verb that has something done with one document; ``says`` is filled in from the answer."""

        def carry_out(name: str, home: Path, output: str, **fields: Any) -> None:
            answer = self.ask(home, act or word, name, **fields)
            show(answer, output, lambda done: tell(says.format(**{**done, "name": name})))

        carry_out.__doc__ = about
        self.verb(word, name_argument, *parameters)(carry_out)


def _say_applied(answer: dict[str, Any]) -> None:
    for applied in answer["applied"]:
        mark = applied_mark("applied", unchanged=applied["unchanged"])
        tell(f"{mark}  {applied['path']}  {applied['digest'][:_DIGEST]}")
