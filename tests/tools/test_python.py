"""``kind: python``: parameters, results, failures, output; in a thread and in a process."""

from __future__ import annotations

import asyncio
import builtins
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support.attempts import bad, good, run, with_tools
from support.fifos import heard
from support.processes import ending, ends

from petra.tools.base import Cancellation, ToolContext, ToolSettings
from petra.tools.code import Job, _compiled, run_code
from petra.tools.registry import Registry
from petra.wire import Outcome

WHERE = ["thread", "process"]
everywhere = pytest.mark.parametrize("where", WHERE)


def python(
    code: str, where: str = "thread", spec: dict[str, Any] | None = None, **context: Any
) -> Outcome:
    return run("python", {"code": code}, spec={"isolation": where, **(spec or {})}, **context)


@everywhere
@pytest.mark.spec("S22")
def test_parameters_come_from_args_and_then_from_the_scope(where: str) -> None:
    code = "def main(a, ctx, workload, _prev, b=3): return [a, ctx['k'], workload, _prev, b]"
    scope = {"ctx": {"k": 2}, "workload": {"w": 1}, "_prev": "before", "a": "from scope"}
    assert good(python(code, where, args={"a": 1}, scope=scope)) == [1, 2, {"w": 1}, "before", 3]


@everywhere
@pytest.mark.spec("S22")
def test_code_without_main_sets_result(where: str) -> None:
    code = "def twice(): return 2 * n\nresult = {'n': twice()}"
    assert good(python(code, where, args={"n": 4})) == {"n": 8}


@pytest.mark.spec("S22")
def test_context_is_the_whole_scope_with_the_args_and_keys_of_ctx_where_they_are_free() -> None:
    scope = {"ctx": {"k": 2, "workload": 9}, "workload": {"x": 1}}
    outcome = python("def main(context): return context", args={"a": 1}, scope=scope)
    assert good(outcome) == {**scope, "k": 2, "args": {"a": 1}}


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        pytest.param("a, /, b", [1, 2], id="positional only"),
        pytest.param("*, b, a", [1, 2], id="keyword only"),
        pytest.param("a, **b", [1, {"b": 2}], id="the rest of the args by name"),
        pytest.param("a, *b", [1, []], id="no further positions"),
    ],
)
def test_any_signature_is_filled(signature: str, expected: list[Any]) -> None:
    outcome = python(f"def main({signature}): return [a, b]", args={"a": 1, "b": 2})
    assert good(outcome) == expected


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    "signature", ["a, b", "a, /, b=0", "*, a=0, b=0", "b, **rest", "a=0, *b_, b"]
)
def test_a_decorated_main_is_filled_as_a_plain_one(signature: str) -> None:
    returned = "[locals().get('a', locals().get('rest')), b]"
    plain = f"def main({signature}): return {returned}"
    decorated = (
        "import functools\n"
        "def same(f):\n"
        "    @functools.wraps(f)\n"
        "    def inner(*a, **k): return f(*a, **k)\n"
        "    return inner\n"
        f"@same\n{plain}"
    )
    args = {"a": 1, "b": 2}
    assert good(python(plain, args=args)) == good(python(decorated, args=args))
    assert good(python(plain, args=args))[1] == 2


@everywhere
@pytest.mark.spec("S22")
def test_a_missing_parameter_is_named(where: str) -> None:
    error = bad(python("def main(order): pass", where))
    assert error.kind == "client_error"
    assert error.message == "main needs 'order', which neither args nor scope has"


@everywhere
@pytest.mark.spec("S22")
def test_an_async_main_is_awaited(where: str) -> None:
    code = "import asyncio\nasync def main(n):\n    await asyncio.sleep(0)\n    return n + 1"
    assert good(python(code, where, args={"n": 1})) == 2


@everywhere
@pytest.mark.spec("S22")
def test_a_function_of_a_module_is_called(where: str) -> None:
    spec = {"isolation": where}
    fields = {"function": "math:sqrt"}
    outcome = run("python", {"function": "statistics:mean"}, spec=spec, args={"data": [1, 2, 6]})
    assert good(outcome) == 3
    assert bad(run("python", fields, spec=spec)).kind == "client_error"


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("math", "'module:function'"),
        ("no_such_module:f", "no module 'no_such_module'"),
        ("math:no_such", "no such function"),
    ],
)
def test_a_function_that_is_not_there_is_a_client_error(function: str, said: str) -> None:
    error = bad(run("python", {"function": function}))
    assert error.kind == "client_error"
    assert said in error.message


@everywhere
@pytest.mark.spec("S5")
def test_an_exception_shows_its_type_and_the_lines_of_the_author(where: str) -> None:
    outcome = python("def main(d):\n    return d['total']", where, args={"d": {}})
    assert bad(outcome).kind == "unknown"
    assert outcome.more["py"]["exception_type"] == "KeyError"
    traceback = outcome.more["py"]["traceback"]
    assert "return d['total']" in traceback
    assert "petra" not in traceback


def test_the_traceback_of_an_async_main_begins_with_the_author_too() -> None:
    outcome = python("async def main(): 1 / 0")
    assert outcome.more["py"]["traceback"].count("File ") == 1


@everywhere
@pytest.mark.spec("S5")
def test_code_that_does_not_compile_is_a_client_error(where: str) -> None:
    outcome = python("def main(:", where)
    assert bad(outcome).kind == "client_error"
    assert outcome.more["py"]["exception_type"] == "SyntaxError"


@everywhere
def test_leaving_the_interpreter_is_only_an_error(where: str) -> None:
    error = bad(python("import sys\nsys.exit(4)", where))
    assert error.message == "SystemExit: 4; line 2: sys.exit(4)"


def test_code_that_answers_nothing_is_an_error() -> None:
    assert bad(python("reslt = 1")).message == "the code defines no main(…) and sets no result"


@everywhere
@pytest.mark.spec("S22")
def test_a_result_is_made_of_json_types(where: str) -> None:
    code = (
        "import datetime, decimal, uuid\n"
        "def main(): return {1: (datetime.date(2026, 1, 2), decimal.Decimal('1.50'), {3, 1}, b'ab',"
        " uuid.UUID(int=7), float('nan'), decimal.Decimal('0.1234567890123456789'))}"
    )
    assert good(python(code, where)) == {
        "1": [
            "2026-01-02", 1.5, [1, 3], "YWI=", "00000000-0000-0000-0000-000000000007", "NaN",
            "0.1234567890123456789",
        ]
    }  # fmt: skip


@pytest.mark.parametrize(
    "value", ["object()", "{None: 1}", "{(1, 2): 3}", "(x := [], x.append(x))[0]", "'\\ud800'"]
)
@pytest.mark.spec("S5")
def test_a_result_that_is_no_json_is_an_error_of_kind_transform(value: str) -> None:
    assert bad(python(f"result = {value}")).kind == "transform"


@pytest.mark.spec("S5")
def test_code_cannot_change_what_other_tasks_see() -> None:
    scope = {"ctx": {"list": [1]}}
    python("def main(ctx): ctx['list'].append(2)", scope=scope)
    python("ctx['list'].append(2)\nresult = 1", scope=scope)
    assert scope == {"ctx": {"list": [1]}}


def test_two_runs_share_compiled_code_but_no_globals() -> None:
    code = "import builtins\nseen = globals().get('seen', 0) + 1\nresult = seen"
    before = _compiled.cache_info().misses
    assert [good(python(code)) for _ in range(3)] == [1, 1, 1]
    assert _compiled.cache_info().misses == before + 1


# What it prints


class Said(list[tuple[str, str]]):
    """Keeps what a task says, by stream."""

    def __call__(self, text: str, stream: str = "log") -> None:
        self.append((stream, text))

    @property
    def text(self) -> str:
        return "".join(text for _, text in self)


@everywhere
def test_what_is_printed_goes_to_the_log_of_the_run(
    where: str, capfd: pytest.CaptureFixture[str]
) -> None:
    logged = Said()
    code = "import sys\nprint('to out')\nprint('to err', file=sys.stderr, flush=True)\nresult = 1"
    good(python(code, where, log=logged))
    assert sorted(logged.text.split("\n")) == ["", "to err", "to out"]
    if where == "thread":
        assert logged == [("stdout", "to out\n"), ("stderr", "to err\n")]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "made", ["lambda *a: 1 / 0", "type('Liar', (), {'__eq__': lambda *a: True})()"]
)
def test_what_code_puts_in_place_of_what_python_gives_everybody_is_put_back(
    made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtins, "hex", hex)  # whatever becomes of it here, others get it back
    monkeypatch.setattr(builtins, "_", None, raising=False)
    code = f"import builtins\nbuiltins.hex = {made}\nbuiltins._ = str\nresult = 1"
    good(python(code, "thread"))
    assert good(python("result = [hex(255), _(7)]", "thread")) == [
        "0xff",
        "7",
    ]  # what was added stays


def test_what_a_run_takes_away_is_there_for_the_next_run_of_the_same_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(builtins, "len", len)
    for takes in ("builtins.len = None", "del builtins.len"):
        assert run_code(Job(code=f"import builtins\n{takes}\nresult = 1"), {}, {}).result == 1
        assert run_code(Job(code="result = len('abc')"), {}, {}).result == 3


def test_threads_at_work_at_once_do_not_mix_their_output() -> None:
    code = "import sys\nfor _ in range(50): sys.stdout.write(word); sys.stdout.flush()\nresult = 1"

    async def use(registry: Registry) -> dict[str, Said]:
        logs = {word: Said() for word in "abcdef"}
        fields = {"code": code}
        await asyncio.gather(
            *(
                registry.attempt("python", fields, ToolContext(args={"word": w}, log=logs[w]))
                for w in logs
            )
        )
        return logs

    for word, logged in with_tools(use).items():
        assert logged == [("stdout", word * 50)]


def test_the_log_of_a_thread_is_cut_at_its_bound() -> None:
    logged = Said()
    good(
        python(
            "for _ in range(100): print('x' * 99)\nresult = 1",
            settings=ToolSettings(log_max=1000),
            log=logged,
        )
    )
    assert logged[-1] == ("dropped", "… 9,000 more characters")
    assert len(logged.text) < 1100


@everywhere
@pytest.mark.spec("S20")
def test_what_is_printed_is_scrubbed(where: str) -> None:
    logged = Said()
    python("print('hunter2')", where, log=logged, scrub=lambda t: t.replace("hunter2", "***"))
    assert logged.text == "***\n"


def test_what_a_task_logs_goes_to_the_log_of_the_run_and_to_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    logged = Said()
    code = (
        "import logging\nlogging.getLogger('mine').info('once %s', 'hunter2')\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    logging.exception('oh')\nresult = 1"
    )
    good(python(code, log=logged, scrub=lambda t: t.replace("hunter2", "***")))
    assert logged[0][0] == "log"
    assert logged.text.startswith("INFO mine: once ***\nERROR root: oh\nTraceback")
    assert caplog.text == ""
    logging.getLogger("mine").info("outside")
    assert "outside" in caplog.text


# Code that misbehaves


@pytest.mark.spec("S5")
def test_a_thread_that_never_ends_costs_the_attempt_and_no_other() -> None:
    release = threading.Event()
    name = "petra_test_release"
    sys.modules[name] = release  # type: ignore[assignment]  # a module is what an import finds

    async def use(registry: Registry) -> list[Outcome]:
        stuck = {"code": f"import {name}\n{name}.wait()\nresult = 1"}
        context = ToolContext(spec={"timeout_s": 0.05})
        lost = await registry.attempt("python", stuck, context)
        after = await registry.attempt("python", {"code": "result = 1"}, ToolContext())
        return [lost, after]

    try:
        lost, after = with_tools(use)
    finally:
        release.set()
        del sys.modules[name]
    assert bad(lost).kind == "timeout"
    assert good(after) == 1


def test_when_every_thread_is_stuck_the_error_says_so() -> None:
    release = threading.Event()
    name = "petra_test_release_all"
    sys.modules[name] = release  # type: ignore[assignment]

    async def use(registry: Registry) -> Outcome:
        stuck = {"code": f"import {name}\n{name}.wait()\nresult = 1"}
        context = ToolContext(spec={"timeout_s": 0.02})
        await registry.attempt("python", stuck, context)
        return await registry.attempt("python", stuck, context)

    try:
        outcome = with_tools(use, ToolSettings(threads=1))
    finally:
        release.set()
        del sys.modules[name]
    assert bad(outcome).kind == "quota"


HOSTILE = [
    pytest.param("while True: pass", {"timeout_s": 0.5}, "timeout", "timeout_s", id="loops for ever"),
    pytest.param("x = 'x' * (4 << 30)", {"memory_mb": 256}, "limit", "256 MB", id="eats 4 GB"),
    pytest.param(
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        {"memory_mb": 256}, "limit", "256 MB", id="eats 4 GB bit by bit", marks=pytest.mark.slow,
    ),
    pytest.param("import os\nos._exit(7)", {}, "unknown", "exit code 7", id="calls os._exit"),
    pytest.param(
        "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", {}, "unknown", "SIGSEGV", id="crashes"
    ),
    pytest.param("for _ in range(100): print('x' * 10**6)", {}, "limit", "max_bytes", id="prints 100 MB"),
    pytest.param(
        "import os\nwhile True: os.write(1, b'x' * 10**6)", {}, "limit", "max_bytes", id="writes for ever"
    ),
    pytest.param(
        "result = 'x' * (65 << 20)", {}, "limit", "bytes of JSON", id="answers 65 MB", marks=pytest.mark.slow
    ),
]  # fmt: skip


@pytest.mark.spec("S5")
@pytest.mark.parametrize(("code", "spec", "kind", "said"), HOSTILE)
def test_whatever_a_process_does_the_outcome_is_clear(
    code: str, spec: dict[str, Any], kind: str, said: str
) -> None:
    error = bad(python(code, "process", spec))
    assert error.kind == kind
    assert said in error.message


@pytest.mark.spec("S5")
def test_what_the_code_forked_dies_with_it() -> None:
    code = (
        "import os, time\n"
        "pids = []\n"
        "for _ in range(5):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        time.sleep(600)\n"
        "        os._exit(0)\n"
        "    pids.append(pid)\n"
        "result = pids"
    )
    pids = good(python(code, "process"))
    assert len(pids) == 5
    assert all(ends(pid) for pid in pids)


@pytest.mark.spec("S5")
def test_a_fork_that_comes_back_does_not_answer_twice() -> None:
    code = "import os\nresult = os.fork() == 0 and 'the fork'"
    assert good(python(code, "process")) is False


@pytest.mark.spec("S5")
def test_a_cancelled_process_is_dead_when_the_outcome_is_there(tmp_path: Path) -> None:
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    code = f"import os, time\nopen({str(fifo)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"

    async def use(registry: Registry) -> tuple[Outcome, int]:
        cancelled = Cancellation()
        context = ToolContext(spec={"isolation": "process"}, cancelled=cancelled)
        running = asyncio.create_task(registry.attempt("python", {"code": code}, context))
        pid = int(await heard(fifo, running))
        cancelled.set("no longer needed")
        return await running, pid

    outcome, pid = with_tools(use)
    assert bad(outcome).kind == "cancelled"
    assert ends(pid)


@pytest.mark.slow
@pytest.mark.spec("S5")
def test_a_process_dies_with_its_worker(tmp_path: Path) -> None:
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    code = f"import os, time\nopen({str(fifo)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    worker = (
        "import asyncio\n"
        "from petra.tools.base import ToolContext\n"
        "from petra.tools.registry import Registry\n"
        "context = ToolContext(spec={'isolation': 'process'})\n"
        f"asyncio.run(Registry(plug_ins=False).attempt('python', {{'code': {code!r}}}, context))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", worker])
    with ending(process):
        pid = int(fifo.read_text(encoding="ascii"))
        process.kill()
    assert ends(pid)


@pytest.mark.spec("S20")
def test_a_process_sees_nothing_of_the_workers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETRA_CANARY", "secret")
    seen = good(python("import os\nresult = sorted(os.environ)", "process"))
    assert set(seen) <= {"PATH", "LC_CTYPE"}


def test_a_process_can_import_what_the_worker_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_module.py").write_text("def double(n): return 2 * n\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    spec = {"isolation": "process"}
    assert good(run("python", {"function": "own_module:double"}, spec=spec, args={"n": 2})) == 4


@pytest.mark.parametrize("fields", [{}, {"code": "result = 1", "function": "math:sqrt"}])
def test_a_task_has_code_or_a_function_and_not_both(fields: dict[str, str]) -> None:
    assert bad(run("python", fields)).kind == "client_error"
