"""The playbooks a worker knows: decoded once per digest, each step made ready once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from petra.errors import ExpressionError, UsageError
from petra.expr import Profile, compile_template
from petra.keychain import Keychain, Secrets
from petra.kinds import Fields
from petra.namespaces import DEFAULT
from petra.pipeline import Settings
from petra.playbook import Playbook, read_stored
from petra.playbook.model import Step, Task
from petra.playbook.origins import WrittenAt
from petra.playbook.write import to_plain
from petra.values import digest, texts_in
from petra.worker.revealing import GivenCredentials, Revealing

MOST: Final = 256
"""Playbooks that are kept; the one unused for longest is forgotten, and asked for when needed again."""

INLINE_MOST: Final = 128 * 1024
"""Bytes of a value that travel inline whatever a playbook says, since an event has 256 KiB at most."""


class UnknownWorkError(UsageError):
    """An assignment names what its playbook does not have."""


class Ready(Struct, frozen=True, kw_only=True):
    """A step, or its compensation, ready to run. ``uses`` are names of the keychain, by task, ``used`` all of them."""

    tasks: Sequence[Task]
    settings: Settings
    secrets: Secrets
    uses: Mapping[str, frozenset[str]]
    used: frozenset[str]
    best_effort: bool
    inline_max: int
    reference_first: bool
    written: Mapping[str, Mapping[str, WrittenAt]] = field(default_factory=dict)
    """Where the texts of each task stand in the author's file."""


class Known(Struct):
    """A playbook and what has been made of it."""

    playbook: Playbook
    text: str
    secrets: dict[str, Secrets] = field(default_factory=dict)
    """By namespace: what one was given, another does not have."""
    gives: bool = False
    """Whether its server gives stored credentials."""
    stored: frozenset[str] = frozenset()
    """Entries of which a part would be asked of the server."""
    ready: dict[tuple[str, str, bool], Ready] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The names of its keychain."""
        return frozenset(entry.name for entry in self.playbook.keychain)


class Playbooks:
    """The playbooks a worker knows, by digest."""

    def __init__(
        self, keychain: Keychain, kinds: Mapping[str, type[Fields]], revealing: Revealing | None = None
    ) -> None:  # fmt: skip
        self._keychain = keychain
        self._revealing = revealing
        self._kinds = kinds
        self._known: OrderedDict[str, Known] = OrderedDict()

    def __contains__(self, wanted: object) -> bool:
        return wanted in self._known

    def __getitem__(self, wanted: str) -> Known:
        return self._known[wanted]

    def add(self, wanted: str, text: str, *, gives: bool = False) -> Playbook:
        """Take a playbook; ``gives`` says that its server gives stored credentials.

        Raises:
            PlaybookError: it has errors.
            UsageError: it is not the one its digest says.
        """
        known = self._known.get(wanted)
        if known is not None and known.text == text and known.gives == gives:
            return known.playbook
        playbook = read_stored(text, f"{wanted[:12]}.yaml")
        own = digest(to_plain(playbook))
        if own != wanted:
            raise UsageError(f"the playbook sent as {wanted[:12]} has the digest {own[:12]}")
        self._known[wanted] = Known(playbook, text, gives=gives)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return playbook

    def forget(self, wanted: str) -> None:
        """Drop a playbook: whoever needs it asks for it again, and it is checked again."""
        self._known.pop(wanted, None)

    def used_in(self, wanted: str, pool: str) -> frozenset[str]:
        """Return the names of the keychain that the steps of a pool use."""
        known = self._known[wanted]
        used: set[str] = set()
        for step in known.playbook.workflow:
            undo = step.spec.compensate
            for task in (
                (*step.tool, *(undo.tool if undo else ())) if step.spec.pool == pool else ()
            ):
                used |= _uses(task, known.names) | set(_named(task.fields))
        return frozenset(used) & known.names

    def stored(self, wanted: str) -> frozenset[str]:
        """Return the names of the keychain that have to be asked of the server before a run of a playbook begins."""
        known = self._known.get(wanted)
        return known.stored if known is not None else frozenset()

    def secrets(self, wanted: str, namespace: str) -> Secrets:
        """Return the secrets of a known playbook in a namespace."""
        known = self._known[wanted]
        secrets = known.secrets.get(namespace)
        if secrets is None:
            credentials = None
            if known.gives and self._revealing is not None:
                credentials = GivenCredentials(self._revealing, wanted, namespace)
            secrets = self._keychain.secrets(known.playbook.keychain, credentials)
            known.secrets[namespace] = secrets
        return secrets

    def ready(self, wanted: str, step: str, *, compensate: bool, namespace: str = DEFAULT) -> Ready:
        """Return a step of a known playbook, ready to run in a namespace.

        Raises:
            UnknownWorkError: it has no such step, or nothing to run there.
        """
        known = self._known[wanted]
        self._known.move_to_end(wanted)
        ready = known.ready.get((namespace, step, compensate))
        if ready is None:
            secrets = self.secrets(wanted, namespace)
            ready = self._make(known, step, secrets, compensate=compensate)
            known.ready[namespace, step, compensate] = ready
        return ready

    def _make(self, known: Known, name: str, secrets: Secrets, *, compensate: bool) -> Ready:
        playbook = known.playbook
        try:
            step = playbook.find(name)
        except KeyError:
            raise UnknownWorkError(f"the playbook has no step '{name}'") from None
        undo = step.spec.compensate
        tasks = (undo.tool if undo is not None else []) if compensate else step.tool
        if not tasks:
            raise UnknownWorkError(f"step '{name}' has no task to run")
        uses = {task.name: _uses(task, known.names) for task in tasks}
        policy = playbook.executor.spec.policy
        failure = step.spec.policy.failure or policy.failure
        return Ready(
            tasks=tasks,
            settings=Settings.of(playbook, step, tasks, kinds=self._kinds),
            secrets=secrets,
            uses=uses,
            used=frozenset[str]().union(*uses.values()),
            best_effort=failure is not None and failure.mode == "best_effort",
            inline_max=min(policy.limits.max_payload_bytes, INLINE_MOST),
            reference_first=policy.results.reference_first,
            written=_written(playbook, step, tasks, compensate=compensate),
        )


def _written(
    playbook: Playbook, step: Step, tasks: Sequence[Task], *, compensate: bool
) -> dict[str, dict[str, WrittenAt]]:
    number, origins = playbook.workflow.index(step), playbook.origins
    return {
        task.name: origins.of(number, index, compensate=compensate)
        for index, task in enumerate(tasks)
    }


def _uses(task: Task, names: frozenset[str]) -> frozenset[str]:
    """Return the names of the keychain that the templates of a task read; all, if one is computed."""
    names_used: set[str] = set()
    for text in texts_in(to_plain(task)):
        if "keychain" not in text:
            continue
        try:
            reads = compile_template(text, Profile.WORKER).reads
        except ExpressionError:
            continue  # constant text, such as code
        for path in reads:
            if path[0] == "keychain":
                names_used |= {path[1]} if len(path) > 1 else names
    return frozenset(names_used)


def _named(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the keychain that a task gives to its tool, and to the ends of a transfer."""
    for holder in (fields, fields.get("source"), fields.get("target")):
        if isinstance(holder, Mapping) and isinstance(holder.get("auth"), str):
            yield holder["auth"]
