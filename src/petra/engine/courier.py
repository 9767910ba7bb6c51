"""The courier: takes the letters of an engine's executions, and sends what is for those of others.

Rule 1: whatever reaches an engine that does not act for the execution is passed on as a letter. Whoever waits
gets the answer that the other engine stored.
Rule 2: notices make it fast; looking now and then makes it sure.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Sequence

import msgspec

from petra.clock import doze
from petra.engine.answers import Answered, known_answer
from petra.engine.codec import playbook_row
from petra.engine.conditions import Conditions, namespace_begun
from petra.engine.ground import Ground
from petra.engine.letters import Message, decode, failed_start, passed_on
from petra.engine.limits import ANSWER_POLL_S, LETTERS_MAX, RETRY_S
from petra.engine.submissions import Submission
from petra.errors import PetraError, UsageError
from petra.kernel import Program
from petra.kernel import commands as c
from petra.namespaces import DEFAULT
from petra.store.base import READ_LIMIT
from petra.store.errors import FullError, StoreError, UnavailableError, UncertainError
from petra.store.rows import Batch, Letter, PlaybookRow, shard_of
from petra.wire import frames

LETTER, ANSWER = "letter", "answer"
TAKEN = "there is an execution of that id already"

_log = logging.getLogger(__name__)


class Courier:
    """Takes the letters of an engine's executions, and sends those for others."""

    def __init__(self, ground: Ground, conditions: Conditions) -> None:
        self._store, self._bus, self._clock = ground.store, ground.bus, ground.clock
        self._shards, self._scope, self._cache = ground.shards, ground.scope, ground.cache
        self._inbox, self._life = ground.inbox, ground.life
        self._open: set[str] = set()
        self._awaited: dict[str, asyncio.Event] = {}
        self._looking = asyncio.Event()
        self._conditions = conditions
        self._beginning: set[str] = set()  # other letters to these wait
        self._brought: set[tuple[str, str]] = set()
        """Playbooks that were stored with a letter, each with its namespace."""
        self._stopped = False

    # Taking

    async def look(self) -> None:
        """Take the letters that lie in the store."""
        # those that are left alone must not hide ours
        most = LETTERS_MAX if self._scope.is_whole else READ_LIMIT
        for letter in await self._store.letters(shards=self._shards.mine(), limit=most):
            await self.take(letter)

    async def take(self, letter: Letter) -> None:
        """Have a letter carried out, if it is for an execution of this engine and not under way."""
        execution = letter.execution
        if self._stopped or letter.id in self._open or not self._shards.owns(execution):
            return
        if execution in self._beginning:  # it is found again when that is clear
            return
        self._open.add(letter.id)
        try:
            await self._take(letter)
        except msgspec.MsgspecError:
            # it stays where it is, for an engine that can read it
            _log.exception("letter %s to execution %s cannot be read", letter.id, letter.execution)
        except UnavailableError:
            self._open.discard(letter.id)  # it is found again when the store is back
        except BaseException:
            self._open.discard(letter.id)
            raise

    async def _take(self, letter: Letter) -> None:
        message = decode(letter.body)
        command = message.command
        if isinstance(command, c.Start) and self._scope.holds(command.parent or command.tells):
            self._scope.add(letter.execution)
        if not self._scope.holds(letter.execution):
            self._open.discard(letter.id)
            return
        request = Submission(
            letter.execution,
            lambda now: msgspec.structs.replace(command, now=now),
            command=message.id,
            request=message.request,
            letter=letter.id,
            note=message.note,
        )
        if isinstance(command, c.Start | c.Migrate):
            try:
                program = await self._program(message)
            except UnavailableError:
                raise
            except PetraError as error:
                self.refuse(request, str(error))
                return
            if program is None:
                self.refuse(request, f"there is no playbook '{message.path}'", kind="not_found")
                return
            if isinstance(command, c.Start):
                request.program = program
                self._beginning.add(letter.execution)
                self._life.errand("begin", self._begin(request, program))
                return
            request.target = program
        self._inbox.push(request)

    async def _begin(self, request: Submission, program: Program) -> None:
        """Have an execution begun, or refuse that."""
        try:
            why = await self._conditions.unmet(program, request.make(0.0))
        finally:
            self._beginning.discard(request.execution)
            self.look_soon()
        if self._stopped:
            self.closed([request.letter])
        elif why:
            self.refuse(request, why)
        else:
            self._inbox.push(request)

    def closed(self, letters: Iterable[str]) -> None:
        """Letters are carried out, or will be by somebody else."""
        self._open.difference_update(letters)

    def discard(self, request: Submission) -> None:
        """A letter says what was done already: remove it."""
        self._life.errand("remove", self._remove(Batch(taken=(request.letter,)), request))

    def refuse(
        self, request: Submission, reason: str, *, kind: str = "schema", reply: Letter | None = None
    ) -> None:
        """A letter cannot be carried out: remove it, and tell whoever sent it."""
        now = self._clock.now()
        if reason != TAKEN:
            reply = failed_start(request, reason, now, kind)
        letters = () if reply is None else (reply,)
        answers = (request.stored_answer(reason, 0, now),) if request.command else ()
        heard = (f"{ANSWER} {request.command}",) if request.command else ()
        notices = (*self.notices(letters), *heard)
        batch = Batch(taken=(request.letter,), answers=answers, letters=letters, notices=notices)
        self._life.errand("refuse", self._remove(batch, request))

    async def _remove(self, batch: Batch, request: Submission) -> None:
        if not await self._commit(batch):
            return  # the letter stays where it is
        self.closed([request.letter])
        for letter in batch.letters:
            await self.take(letter)

    async def _program(self, message: Message) -> Program | None:
        digest = message.digest
        if not digest:
            stored = await self._store.find_playbook(
                message.path, message.version, namespace_begun(message.command)
            )
            if stored is None:
                return None
            digest = stored.digest
        return await self._cache.program(digest)

    # Passing on

    def notices(self, letters: Iterable[Letter]) -> tuple[str, ...]:
        """Return the notices for letters to executions of other engines."""
        if self._shards.epochs is None:
            return ()
        away = {shard_of(x.execution) for x in letters if not self._shards.owns(x.execution)}
        return tuple(f"{LETTER} {shard}" for shard in sorted(away))

    def pass_on(self, requests: Sequence[Submission]) -> None:
        """Send what came for executions of other engines to them; nobody here waits for that."""
        self._life.errand("pass on", self._send(requests))

    async def _send(self, requests: Sequence[Submission]) -> None:
        letters: list[Letter] = []
        playbooks: dict[tuple[str, str], PlaybookRow] = {}
        sent: list[Submission] = []
        for request in requests:
            command = request.make(0.0)
            if request.letter or isinstance(command, c.Tick | c.LeaseExpired | c.TakeBack):
                # the letter is in the store, and time is the owner's
                self.closed([request.letter])
                request.reply(Answered(request.execution, "another engine acts for it"))
                continue
            if (brings := request.program or request.target) is not None:
                place = await self._place(request.execution, command)
                key = brings.digest, place
                if key not in self._brought:  # to write it anew each time costs more than all else
                    playbooks[key] = playbook_row(brings.playbook, brings.digest, namespace=place)
            letters.append(passed_on(request, command, self._clock.now()))
            sent.append(request)
        if not letters:
            return
        notices = self.notices(letters)
        batch = Batch(letters=tuple(letters), playbooks=tuple(playbooks.values()), notices=notices)
        if not await self._commit(batch):
            await self._each_sent(sent)
            return
        self._brought.update(playbooks)
        for request in sent:
            if request.part is not None:
                link, lease, number = request.part
                link.send(frames.Ack(parts=[(lease, number)]))
            if request.answer is not None:
                self._life.errand("answer", self._answer(request))

    async def _each_sent(self, requests: Sequence[Submission]) -> None:
        """Send one by one what cannot be sent together; what cannot be sent alone is refused."""
        if len(requests) == 1:
            words = "this cannot be passed on to the engine that acts for the execution"
            requests[0].fail(UsageError(words))
            return
        for request in requests:
            await self._send([request])

    async def _place(self, execution: str, command: c.AnyCommand) -> str:
        """Return the namespace of an execution that a command begins or moves."""
        if isinstance(command, c.Start | c.Fork):
            return namespace_begun(command)
        stored = await self._store.execution(execution)
        return stored.row.namespace if stored is not None else DEFAULT

    async def _answer(self, request: Submission) -> None:
        """Wait for the answer that another engine stores, and give it to whoever waits."""
        woken = self._awaited[request.command] = asyncio.Event()
        try:
            while request.answer is not None and not request.answer.done() and not self._stopped:
                with contextlib.suppress(UnavailableError):
                    known = await self._store.answer(request.command)
                    if known is not None:
                        request.reply(known_answer(known, request.request))
                        return
                woken.clear()
                await doze(self._clock, ANSWER_POLL_S, woken)
        except PetraError as error:
            request.fail(error)
        finally:
            del self._awaited[request.command]

    # Notices

    def heard(self, notice: str) -> None:
        """Take a notice of another engine."""
        what, _, about = notice.partition(" ")
        if what == LETTER:
            mine = self._shards.mine()
            if mine is None or int(about) in mine:
                self.look_soon()
        elif what == ANSWER and about in self._awaited:
            self._awaited[about].set()

    def look_soon(self) -> None:
        """Look for letters at once."""
        self._looking.set()

    async def wait(self, seconds: float) -> None:
        """Wait that long, or until there are letters."""
        await doze(self._clock, seconds, self._looking)
        self._looking.clear()

    def stop(self) -> None:
        """Take no more letters, and wait no longer for answers of others; what is to be sent is sent."""
        self._stopped = True
        for woken in self._awaited.values():
            woken.set()

    # Doing it

    async def _commit(self, batch: Batch) -> bool:
        """Commit, however long it takes; False: there is something in it that cannot be stored."""
        while True:
            try:
                await self._store.commit(batch)
            except (UncertainError, UnavailableError, FullError):
                await self._clock.sleep(RETRY_S)  # the same batch again is safe
            except StoreError:
                raise
            except Exception:  # noqa: BLE001 - what is in it is the trouble, not the store
                _log.exception("a letter cannot be stored")
                return False
            else:
                self._bus.tell(*batch.notices)
                return True
