"""A failure of code names the author's line: in the message, in the details, and in full in the log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.attempts import bad, run

from petra.playbook.origins import WrittenAt
from petra.tools.base import MESSAGE_MAX
from petra.tools.python import TRACEBACK_MAX
from petra.wire import Outcome

pytestmark = [pytest.mark.spec("S22"), pytest.mark.spec("S5")]

everywhere = pytest.mark.parametrize("where", ["thread", "process"])
WRITTEN = WrittenAt("orders.yaml", 39, by_line=True)
PRICE = "def main(rows):\n    first = rows[0]\n    return 2 * rows[0]['price']\n"


def python(code: str, where: str = "thread", **context: Any) -> Outcome:
    context = {"written": {"code": WRITTEN}, "args": {"rows": [{}]}, **context}
    return run("python", {"code": code}, spec={"isolation": where}, **context)


@everywhere
def test_the_message_names_file_function_line_and_what_stands_there(where: str) -> None:
    error = bad(python(PRICE, where))
    assert error.message == "KeyError: 'price'; orders.yaml:41, main, line 3: rows[0]['price']"
    assert error.details["at"] == "orders.yaml:41, main, line 3: rows[0]['price']"
    assert 'File "orders.yaml", line 41, in main' in error.details["traceback"]


@everywhere
def test_the_log_has_the_traceback_in_the_lines_of_the_author(where: str) -> None:
    said: list[tuple[str, str]] = []
    python(PRICE, where, log=lambda text, stream="log": said.append((stream, text)))
    (stream, text) = said[-1]
    assert stream == "stderr"
    assert text.splitlines() == [
        "Traceback (most recent call last):",
        '  File "orders.yaml", line 41, in main',
        "    return 2 * rows[0]['price']",
        "               ~~~~~~~^^^^^^^^^",
        "KeyError: 'price'",
    ]


def test_the_innermost_line_of_the_author_counts_not_that_of_a_library() -> None:
    code = (
        "import json\ndef read(text):\n    return json.loads(text)\ndef main(): return read('{')\n"
    )
    error = bad(python(code))
    assert error.message.startswith("JSONDecodeError: Expecting property name")
    assert error.message.endswith("; orders.yaml:41, read, line 3: json.loads(text)")


def test_what_an_exception_comes_from_has_the_lines_of_the_author_too() -> None:
    code = "def main():\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n        raise ValueError('no') from e\n"
    details = bad(python(code)).details
    assert details["at"] == "orders.yaml:43, main, line 5: raise ValueError('no') from e"
    assert 'File "orders.yaml", line 41, in main' in details["traceback"]


def test_code_without_main_and_of_unknown_origin_is_named_by_its_line() -> None:
    assert bad(python("x = 1\nresult = x / 0\n", written={})).message == (
        "ZeroDivisionError: division by zero; line 2: x / 0"
    )


def test_of_quoted_code_every_line_is_on_the_one_it_begins_on() -> None:
    written = {"code": WrittenAt("orders.yaml", 7, by_line=False)}
    assert "orders.yaml:7, line 2: x / 0" in bad(python("x = 1\nx / 0", written=written)).message


@everywhere
def test_code_that_cannot_be_compiled_is_named_by_its_line(where: str) -> None:
    error = bad(python("def main():\n    return 1 +\n", where))
    assert error.message == "SyntaxError: invalid syntax; orders.yaml:40, line 2: return 1 +"
    assert 'File "orders.yaml", line 40' in error.details["traceback"]


@everywhere
def test_a_function_is_named_by_its_own_file(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices_of_ours.py").write_text("import math\n\n" + PRICE)
    monkeypatch.syspath_prepend(tmp_path)
    fields = {"function": "prices_of_ours:main"}
    outcome = run("python", fields, spec={"isolation": where}, args={"rows": [{}]})
    sys.modules.pop("prices_of_ours", None)
    assert bad(outcome).message == (
        "KeyError: 'price'; prices_of_ours.py:5, main: rows[0]['price']"
    )


def test_a_long_message_leaves_room_for_the_place() -> None:
    error = bad(python("def main():\n    raise ValueError('no ' * 9999)\n"))
    assert len(error.message) <= MESSAGE_MAX
    assert error.message.endswith("; orders.yaml:40, main, line 2: raise ValueError('no ' * 9999)")


def test_a_long_line_is_cut() -> None:
    error = bad(python("def main():\n    return [" + "0, " * 500 + "1 / 0]\n"))
    assert error.message.endswith("line 2: 1 / 0")
    assert len(bad(python("raise KeyError(" + "'a' " * 500 + ")")).message) <= MESSAGE_MAX


def test_a_deep_recursion_keeps_how_it_began_and_how_it_ended() -> None:
    code = (
        "def down(n):\n"
        + "    x = 1\n" * 50
        + "    return up(n)\ndef up(n):\n    return down(n)\ndef main():\n    return down(0)\n"
    )
    outcome = python(code)
    traceback = outcome.more["py"]["traceback"]
    assert len(traceback) < TRACEBACK_MAX + 100
    assert "in main" in traceback.splitlines()[1]
    assert traceback.rstrip().endswith("maximum recursion depth exceeded")


def test_secrets_are_in_neither_message_nor_place_nor_traceback_nor_log() -> None:
    said: list[str] = []
    code = "def main():\n    raise ValueError('s3cret' + 'x' * 460 + 's3cret')  # s3cret\n"
    error = bad(
        python(
            code,
            scrub=lambda text: text.replace("s3cret", "***"),
            log=lambda *told: said.extend(told),
        )
    )
    told = "".join([error.message, str(error.details), *said])
    assert "***" in told
    assert "s3c" not in told


@everywhere
def test_a_broken_exception_costs_the_place_and_not_the_outcome(where: str) -> None:
    code = "class Bad(Exception):\n    def __str__(self): raise ValueError\ndef main(): raise Bad\n"
    assert bad(python(code, where)).message == "Bad; orders.yaml:41, main, line 3: raise Bad"


def test_odd_characters_on_the_line_are_shown_as_they_are() -> None:
    error = bad(python("def main():\n    ü = 'é'; return {}['ключ']\n"))
    assert error.message == "KeyError: 'ключ'; orders.yaml:40, main, line 2: {}['ключ']"
