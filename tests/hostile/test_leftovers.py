"""Code that leaves its worker changed: its own step ends as it should, and whoever uses that worker next never notices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from engine_support import playbook
from hostile.harness import HOSTILE, Scene, code, play

DONE, FAILS, KILLS = "completed", "failed", "stuck"

LEFT: dict[str, tuple[str, str]] = {
    "a child that goes on in its place": ("import os\nresult = 7 if os.fork() else 8", DONE),
    "a daemon": (
        ("import os, time\npid = os.fork()\nif pid == 0:\n    os.setsid()\n    os.fork() or time.sleep(1000)\n    os._exit(0)\n"
        "os.waitpid(pid, 0)\nresult = 7"),
        DONE,
    ),
    "no standard streams": ("import os\nfor n in (0, 1, 2): os.close(n)\nprint('x')\nresult = 7", DONE),
    "a stream that is closed": ("import sys\nsys.stdout.close()\nprint('x')\nresult = 7", DONE),
    "no stream at all": ("import sys\nsys.stdout = sys.stderr = None\nprint('x')\nresult = 7", DONE),
    "a folder that is gone": (
        "import os, tempfile\nd = tempfile.mkdtemp()\nos.chdir(d)\nos.rmdir(d)\nresult = 7",
        DONE,
    ),
    "files that nobody may read": ("import os\nos.umask(0o777)\nresult = 'x' * 70_000", DONE),
    "an empty environment": ("import os\nos.environ.clear()\nresult = 7", DONE),
    "no modules": (
        "import sys\nfor n in list(sys.modules):\n    if n.startswith(('petra', 'msgspec', 'json')): del sys.modules[n]\nresult = 7",
        DONE,
    ),
    "a json that fails": ("import json\njson.dumps = json.loads = lambda *a, **k: 1 / 0\nresult = 7", DONE),
    "an encoder that fails": (
        "import msgspec\nmsgspec.msgpack.encode = msgspec.json.encode = lambda *a, **k: 1 / 0\nresult = 7",
        DONE,
    ),
    "a len that fails": ("import builtins\nbuiltins.len = lambda x: 1 / 0\nresult = 7", DONE),
    "an isinstance that lies": ("import builtins\nbuiltins.isinstance = lambda *a: False\nresult = 7", DONE),
    "a clock that lies": (
        "import time\ntime.time = lambda: -1e300\ntime.monotonic = lambda: float('nan')\nresult = 7",
        DONE,
    ),
    "a loop that nobody gets": (
        "import asyncio\nasyncio.get_running_loop = asyncio.Future = asyncio.sleep = None\nresult = 7",
        DONE,
    ),
    "a loop that stops": (
        ("import asyncio, gc\nfor one in gc.get_objects():\n    if isinstance(one, asyncio.AbstractEventLoop):\n"
        "        one.call_soon_threadsafe(one.stop)\nresult = 7"),
        DONE,
    ),
    "tasks that are cancelled": (
        ("import asyncio, gc\nfor one in gc.get_objects():\n    if isinstance(one, asyncio.Task):\n"
        "        one.get_loop().call_soon_threadsafe(one.cancel)\nimport time\ntime.sleep(1000)"),
        KILLS,
    ),
    "200 threads": (
        "import threading, time\nfor _ in range(200): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\nresult = 7",
        DONE,
    ),
    "threads that end no process": (
        "import threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=(1000,)).start()\nresult = 7",
        DONE,
    ),
    "a trace that raises": ("import sys\ndef trace(*a): raise ValueError('traced')\nsys.settrace(trace)\nresult = 7", FAILS),
    "a profile that raises": (
        "import threading\ndef profile(*a): raise ValueError('profiled')\nthreading.setprofile(profile)\nresult = 7",
        DONE,
    ),
    "a collector that raises": (
        "import gc\ngc.set_threshold(1)\ngc.callbacks.append(lambda *a: 1 / 0)\ngc.collect()\nresult = 7",
        DONE,
    ),
    "a low limit of recursion": ("import sys\nsys.setrecursionlimit(60)\nresult = 7", DONE),
    "signals that nobody hears": ("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nresult = 7", DONE),
    "a handler of its own": ("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nresult = 7", FAILS),
    "an alarm": ("import signal, time\nsignal.alarm(1)\ntime.sleep(1000)", KILLS),
    "a dump that ends the process": (
        "import faulthandler, time\nfaulthandler.dump_traceback_later(0.1, exit=True)\ntime.sleep(1000)",
        KILLS,
    ),
    "an end that hangs": ("import atexit, time\natexit.register(time.sleep, 1000)\nresult = 7", DONE),
    "no files that can be opened": (
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\nresult = 'x' * 70_000",
        FAILS,
    ),
    "no files that can be written": (
        "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nresult = 'x' * 70_000",
        FAILS,
    ),
    "bytes in every file": (
        ("import os\nfor n in range(3, 64):\n    try: os.write(n, b'\\xff\\xff\\xff\\xffgarbage')\n    except OSError: pass\n"
        "import time\ntime.sleep(1000)"),
        KILLS,
    ),
    "another file in place of every one": (
        ("import os\nnull = os.open('/dev/null', os.O_RDWR)\nfor n in range(3, 64):\n    if n != null: os.dup2(null, n)\n"
        "import time\ntime.sleep(1000)"),
        KILLS,
    ),
    "a group that is killed": ("import os\nos.killpg(0, 9)", KILLS),
    "a warden that is told to end": ("import os\nos.kill(os.getppid(), 15)\nresult = 7", DONE),
    "handlers that are none": ("import logging\nlogging.root.handlers = [None]\nresult = 7", DONE),
    "warnings as errors": ("import warnings\nwarnings.simplefilter('error')\nresult = 7", DONE),
    "a hook of audits that forbids everything": (
        "import sys\ndef hook(*a): raise ValueError('forbidden')\nsys.addaudithook(hook)\nresult = 7",
        FAILS,
    ),
    "an interpreter that switches once a week": ("import sys\nsys.setswitchinterval(1e6)\nresult = 7", DONE),
    "a finder that finds trouble": (
        ("import sys\nclass Finder:\n    def find_spec(self, *a, **k):\n        raise ValueError('found')\n"
        "sys.meta_path.insert(0, Finder())\nresult = 7"),
        DONE,
    ),
    "a codec that fails": ("import codecs\ncodecs.register(lambda name: 1 / 0)\nresult = 7", DONE),
    "hooks of what nobody catches": (
        ("import sys, threading\nsys.unraisablehook = sys.excepthook = threading.excepthook = lambda *a: 1 / 0\n"
        "class X:\n    def __del__(self): 1 / 0\nx = X()\ndel x\nresult = 7"),
        DONE,
    ),
    "an interrupt of the main thread": ("import _thread, time\n_thread.interrupt_main()\ntime.sleep(1000)", KILLS),
    "a warden that is stopped": ("import os\nos.kill(os.getppid(), 19)\nresult = 7", DONE),
    "a None that is none": ("import ctypes\nctypes.memset(id(None), 0, 16)\nresult = 7", KILLS),
    "no time to connect": ("import socket\nsocket.setdefaulttimeout(1e-9)\nresult = 7", DONE),
    "an object that never ends": (
        "class X:\n    def __del__(self):\n        while True: pass\nx = X()\nx.me = x\ndel x\nresult = 7",
        DONE,
    ),
    "a result that another thread changes": (
        ("import threading\nresult = {}\ndef go():\n    for n in range(10**6):\n        result[str(n % 1000)] = n\n"
        "        result.pop(str(n * 7 % 1000), None)\nthreading.Thread(target=go, daemon=True).start()"),
        "",
    ),
}  # fmt: skip
"""What code leaves behind, and what comes of its own step; nothing: that is chance."""

USES = playbook("""
  - step: use
    tool:
      kind: python
      code: |
        import logging, subprocess, sys, time
        logging.getLogger("x").warning("x")
        print(len("ab"), isinstance(1, int), time.time() > 0)
        result = subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True, check=True).stdout.decode() + "x" * 70_000
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: python, args: {n: "{{ use | length }}"}, code: "result = n"}}
""")
"""What uses what others may have changed."""


async def _leaves(scene: Scene, name: str, execution: str) -> None:
    """Have code leave something behind; others get done beside it and after it."""
    text, wanted = LEFT[name]
    await scene.start(code(text), execution)
    await scene.bystander(f"beside-{execution}")
    result = await scene.ended(execution)
    assert result.status == wanted or not wanted, (name, result)
    if result.status == KILLS:
        assert result.reason == "incident"
        assert "incident" in await scene.explained(execution)
    after = await scene.run(USES, f"after-{execution}")
    assert (after.status, after.output) == (DONE, 70_002), (name, after)
    scene.engine.check()


@pytest.mark.spec("S5", "S11", "S18")
@pytest.mark.parametrize("name", LEFT)
def test_what_code_leaves_behind_harms_nobody_else(name: str, tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        await _leaves(scene, name, HOSTILE)

    play("sqlite", tmp_path, case)


SHARDS = 4


@pytest.mark.slow
@pytest.mark.spec("S5", "S11", "S18")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_what_one_after_the_other_leaves_behind_harms_nobody_on_postgres(
    shard: int, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    async def case(scene: Scene) -> None:
        for number, name in enumerate(list(LEFT)[shard::SHARDS]):
            await _leaves(scene, name, f"{HOSTILE}-{number}")

    play(new_database(), tmp_path, case)
