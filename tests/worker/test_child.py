"""A worker as a process of its own: frames over a socketpair, and either side sees the other's death."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from support.fifos import heard
from worker.desk import digest_of, playbook

from petra.embedded.hands import end
from petra.playbook import to_yaml
from petra.wire import Assignment
from petra.wire import frames as f
from petra.worker import LostError
from petra.worker.child import Child, grown

PYTHON = """
- step: s
  tool:
    kind: python
    args: {go: "{{ args.go }}", tell: "{{ args.tell }}"}
    code: |
      def main(go, tell):
          print("to the log")
          open(tell, "w").write("begun")
          with open(go) as gate:
              return gate.read()
"""
BOOK = playbook(PYTHON)


class Line:
    """Talks to a child: reads frames until one of a kind has come."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.received: list[f.AnyFrame] = []

    async def until(self, kind: type[f.AnyFrame]) -> f.AnyFrame:
        while not any(isinstance(frame, kind) for frame in self.received):
            self.received += await self.child.transport.receive()
        return next(frame for frame in self.received if isinstance(frame, kind))

    def assign(self, folder: Path) -> None:
        """Have it run code that says when it has begun, and waits to be let go."""
        for name in ("go", "tell"):
            os.mkfifo(folder / name)
        scope = {"args": {"go": str(folder / "go"), "tell": str(folder / "tell")}, "ctx": {}}
        given = Assignment(
            execution="e", run="r", step="s", playbook=digest_of(BOOK), lease="l", scope=scope
        )
        send = self.child.transport.send
        send(f.PlaybookText(digest=digest_of(BOOK), text=to_yaml(BOOK)))
        send(f.Assignments(assignments=[given]))

    async def begun(self, folder: Path) -> None:
        assert await heard(folder / "tell") == "begun"


def with_child(play: Callable[[Line], Awaitable[None]]) -> None:
    async def run() -> None:
        async with grown() as stem:
            child = await stem.fork(["--slots", "3"])
            try:
                await play(Line(child))
            finally:
                child.kill()
                await child.wait()
                child.close()

    asyncio.run(asyncio.wait_for(run(), 300))


@pytest.mark.slow
def test_a_child_says_hello_runs_and_drains_on_sigterm(tmp_path: Path) -> None:
    async def play(line: Line) -> None:
        hello = await line.until(f.Hello)
        assert isinstance(hello, f.Hello)
        assert hello.credit == 3
        assert "python" in hello.kinds
        line.assign(tmp_path)
        await line.begun(tmp_path)
        line.child.terminate()
        await line.until(f.Drain)
        assert not any(isinstance(frame, f.Bye) for frame in line.received)
        await asyncio.to_thread((tmp_path / "go").write_text, "through")
        reports = await line.until(f.Reports)
        assert isinstance(reports, f.Reports)
        assert reports.reports[0].report is not None
        assert reports.reports[0].report.result == "through"
        line.child.transport.send(f.Ack(leases=["l"]))
        assert await line.until(f.Bye) == f.Bye()
        assert await line.child.wait() == 0

    with_child(play)


def test_a_killed_child_is_noticed_at_once(tmp_path: Path) -> None:
    async def play(line: Line) -> None:
        line.assign(tmp_path)
        await line.begun(tmp_path)
        os.kill(line.child.pid, signal.SIGKILL)
        with pytest.raises(LostError):
            await line.until(f.Reports)
        assert await line.child.wait() == -signal.SIGKILL

    with_child(play)


@pytest.mark.slow
@pytest.mark.parametrize("blocked", [False, True], ids=["idle", "with a thread that never ends"])
def test_a_child_ends_with_its_parent(tmp_path: Path, blocked: object) -> None:
    """The parent is a process that starts a worker, says its id and dies without a word."""
    code = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from petra.wire import frames as f
from petra.worker.child import Stem
from worker.test_child import Line
async def main():
    line = Line(await Stem().fork())
    await line.until(f.Hello)
    if sys.argv[3] == "True":
        line.assign(Path(sys.argv[2]))
        await line.begun(Path(sys.argv[2]))
    print(line.child.pid, flush=True)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""

    async def run() -> None:
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, str(Path(__file__).parents[1]), str(tmp_path), str(blocked),
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert parent.stdout is not None
        pid = int(await parent.stdout.readline())
        await parent.wait()
        await until_gone(pid)
        await parent.stdout.read()  # everybody who had it is gone

    asyncio.run(asyncio.wait_for(run(), 300))


async def until_gone(pid: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def test_a_child_whose_loop_is_blocked_ends_with_its_parent_all_the_same() -> None:
    code = """
import signal, socket, threading
from petra.worker import __main__ as main
main.GRACE_S = 0.01
ours, theirs = socket.socketpair()
ended = threading.Event()
threading.Thread(target=main._watch, args=(theirs, ended), daemon=True).start()
ours.close()
signal.pause()
"""
    ended = subprocess.run([sys.executable, "-c", code], timeout=300, check=False)
    assert ended.returncode == 1


def test_a_worker_is_ended_also_while_everything_is_cancelled_at_once() -> None:
    children: list[Child] = []

    async def scenario() -> None:
        async with grown() as stem:
            child = await stem.fork()
            children.append(child)
            try:
                await Line(child).until(f.Hello)
                asyncio.get_running_loop().call_soon(interrupted)
                await asyncio.Event().wait()
            finally:
                await end(child)

    def interrupted() -> None:
        raise KeyboardInterrupt  # as a second ^C in a program does: asyncio.run then cancels all tasks

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(scenario())
    with pytest.raises(ProcessLookupError):
        os.kill(children[0].pid, 0)


@pytest.mark.slow
def test_who_a_worker_is_comes_before_what_it_says_of_its_end() -> None:
    """Both say it on one leash: what a worker that failed at once had said was read as the processes that there were, and ended the engine."""
    code = """
import os, select, socket
from petra.worker import warden
ours, theirs = socket.socketpair()
failed, tells = os.pipe()
waker = warden.waker
def fails(arguments, leash, own):
    os.write(leash, b"SystemExit: 2")
    os.write(tells, b".")
    os._exit(2)
def wakes():
    select.select([failed], [], [], 0.3)  # time enough for a worker that nobody holds back
    return waker()
warden._work, warden.waker = fails, wakes
parent = os.getpid()
if os.fork() == 0:
    ours.close()
    warden.watch_over([], connection=os.dup(0), leash=theirs.fileno(), parent=parent)
theirs.close()
said = b""
while piece := ours.recv(100):
    said += piece
print(said.decode())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pids, _, why = done.stdout.strip().partition("\n")
    assert all(word.isdigit() for word in pids.split()), done.stdout
    assert why == "SystemExit: 2"
