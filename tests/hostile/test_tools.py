"""Code of tasks that does what code should not: each ends with an outcome, and others never notice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile.harness import Scene, code, play

RAISED = {
    "a cancellation": ("import asyncio\nraise asyncio.CancelledError", "CancelledError"),
    "a cancellation, awaited": (
        "import asyncio\nasync def main():\n    raise asyncio.CancelledError('mine')",
        "CancelledError: mine",
    ),
    "an interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "an exit": ("import sys\nsys.exit(3)", "SystemExit: 3"),
    "the end of a generator": ("raise GeneratorExit", "GeneratorExit"),
    "the end of an iterator": ("raise StopIteration", "StopIteration"),
    "a bare BaseException": ("raise BaseException('bare')", "BaseException: bare"),
    "a BaseException of its own": (
        "class Mine(BaseException): pass\nraise Mine('own')",
        "Mine: own",
    ),
    "a group of them": (
        "import asyncio\nraise BaseExceptionGroup('g', [asyncio.CancelledError()])",
        "BaseExceptionGroup",
    ),
    "one that cannot be shown": (
        "class Mine(BaseException):\n    def __str__(self):\n        raise KeyboardInterrupt\nraise Mine",
        "Mine",
    ),
    "half a surrogate pair": ("raise ValueError('\\ud800!')", "ValueError"),
    "itself for ever": ("def main():\n    return main()", "RecursionError"),
    "no memory": ("raise MemoryError", "memory"),
    "a message of 50 MB": ("raise ValueError('x' * 50_000_000)", "ValueError: xxx"),
    "causes in a circle": (
        "one, two = ValueError('one'), ValueError('two')\none.__cause__, two.__cause__ = two, one\nraise one",
        "ValueError: one",
    ),
    "3,000 groups in each other": (
        "e = ValueError('x')\nfor _ in range(3000): e = ExceptionGroup('g', [e])\nraise e",
        "ExceptionGroup: g",
    ),
    "one that lies about itself": (
        (
            "class Mine(Exception):\n    args = property(lambda self: 1 / 0)\n    def __str__(self): return 5\n"
            "    def __repr__(self): raise SystemExit\nraise Mine()"
        ),
        "Mine",
    ),
}


@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize(
    "where", ["alone", "in a loop", pytest.param("with a timeout", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", RAISED)
def test_whatever_code_raises_is_an_error_outcome(
    name: str, where: str, kind: str, tmp_path: Path
) -> None:
    text, words = RAISED[name]
    after = {
        "alone": "",
        "in a loop": "    loop: {in: '{{ [1, 2] }}', iterator: n}\n",
        "with a timeout": "",
    }[where]
    spec = "{timeout_s: 60}" if where == "with a timeout" else ""

    async def case(scene: Scene) -> None:
        await scene.start(code(text, spec=spec, after=after))
        await scene.bystander()
        result = await scene.ended()
        assert result.status == "failed"
        assert result.error is not None
        assert words in str(result.error)
        assert words in await scene.explained()

    play(kind, tmp_path, case, with_worker="helped")


SAID = {
    "half a surrogate pair": "print('a\\ud800b')",
    "on the other stream": "import sys\nprint('a\\udcffb', file=sys.stderr)",
    "through a logger": "import logging\nlogging.getLogger('x').error('a\\ud800b')",
    "a null": "print('a\\0b')",
    "a million lines": "for n in range(10**6): print('ab')",
    "one line of a million": "print('ab' * 10**6)",
    "bytes": "import sys\nsys.stdout.write(b'ab')",
    "what is no text": "import sys\nsys.stdout.write(7)",
}


@pytest.mark.spec("S5")
@pytest.mark.parametrize("name", SAID)
def test_whatever_code_prints_the_step_reports(name: str, kind: str, tmp_path: Path) -> None:
    book = code(
        "def main():\n    try:\n        "
        + SAID[name].replace("\n", "\n        ")
        + "\n    except TypeError:\n        pass\n    return 7"
    )

    async def case(scene: Scene) -> None:
        result = await scene.run(book)  # nobody else is there to wake the worker
        await scene.bystander()
        assert (result.status, result.output) == ("completed", 7)

    play(kind, tmp_path, case, with_worker="helped")


GIVEN = {
    "half a surrogate pair": "'\\ud800'",
    "a key that is no text": "{'\\ud800': 1}",
    "itself": "(lambda x: x.append(x) or x)([])",
    "a number of 40,000 digits": "10**40_000",
    "a function": "print",
    "an object": "object()",
    "a lock": "__import__('threading').Lock()",
    "a generator": "(n for n in [1])",
    "100,000 levels": "__import__('functools').reduce(lambda inner, _: [inner], range(100_000), 1)",
    "a number of 65 bits": "2**64",
    "text that cannot be encoded": "type('T', (str,), {'__str__': lambda self: 1 / 0, 'encode': lambda self: 1 / 0})('é')",
    "a number that is none": "type('N', (int,), {'__int__': lambda self: 1 / 0})(7)",
    "an object without items": "type('D', (dict,), {'items': lambda self: 1 / 0})(a=1)",
    "what says that it is an object": "type('X', (), {'__class__': property(lambda self: dict)})()",
    "what does not say what it is": "type('X', (), {'__class__': property(lambda self: exit())})()",
}


@pytest.mark.spec("S5", "S18")
@pytest.mark.parametrize("name", GIVEN)
def test_a_result_that_is_no_data_is_an_error_outcome(name: str, kind: str, tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        await scene.start(code(f"result = {GIVEN[name]}"))
        await scene.bystander()
        result = await scene.ended()
        assert result.status == "failed"
        assert "result" in str(result.error)

    play(kind, tmp_path, case, with_worker="helped")
