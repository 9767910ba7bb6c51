"""What a task prints is heard while it runs: whole lines, in order, bounded, and no part of a secret."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.attempts import bad, good, run

from petra.keychain.scrub import Scrubber
from petra.tools import capture as captures
from petra.tools.base import ToolContext, ToolSettings
from petra.tools.capture import Capture, Pipes

pytestmark = pytest.mark.spec("S22")

PATIENCE_S = 300
KEY = "-----BEGIN KEY-----\nabcd\nefgh==\n-----END KEY-----"


class Heard:
    """Keeps what is said, and lets a test wait for a line of it."""

    def __init__(self, wanted: str = "begun", then: Any = None) -> None:
        self.said: list[tuple[str, str]] = []
        self._wanted = wanted
        self._then = then

    def __call__(self, text: str, stream: str = "log") -> None:
        self.said.append((stream, text))
        if self._then is not None and self._wanted in text:
            self._then()

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.said)


def test_code_in_a_thread_is_heard_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    went = threading.Event()
    monkeypatch.setitem(sys.modules, "kit_of_ours", SimpleNamespace(went=went))
    code = f"import kit_of_ours\nprint('begun')\nresult = kit_of_ours.went.wait({PATIENCE_S})"
    heard = Heard(then=went.set)
    assert good(run("python", {"code": code}, log=heard)) is True
    assert heard.said == [("stdout", "begun\n")]


def test_a_line_without_an_end_is_heard_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captures, "LINE_S", 0.0)
    went = threading.Event()
    monkeypatch.setitem(sys.modules, "kit_of_ours", SimpleNamespace(went=went))
    code = (
        f"import kit_of_ours\nprint('begun', end='')\nresult = kit_of_ours.went.wait({PATIENCE_S})"
    )
    assert good(run("python", {"code": code}, log=Heard(then=went.set))) is True


@pytest.mark.slow
def test_code_in_a_process_is_heard_while_it_runs(tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    code = (
        "import os, time\nprint('begun')\nuntil = time.monotonic() + 300\n"
        f"while not os.path.exists({str(sign)!r}) and time.monotonic() < until: time.sleep(0.01)\n"
        f"result = os.path.exists({str(sign)!r})"
    )
    heard = Heard(then=sign.touch)
    assert good(run("python", {"code": code}, spec={"isolation": "process"}, log=heard)) is True


@pytest.mark.slow
def test_a_script_is_heard_while_it_runs(tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    script = 'echo begun; n=0; while [ ! -e "$SIGN" ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done; [ -e "$SIGN" ]'
    heard = Heard(then=sign.touch)
    good(run("shell", {"script": script, "env": {"SIGN": str(sign)}}, log=heard))
    assert heard.said == [("stdout", "begun\n")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shell", "python"])
def test_what_a_process_said_before_it_was_killed_stays(kind: str) -> None:
    heard = Heard()
    fields = {"script": "echo begun; exec sleep 600"}
    if kind == "python":
        fields = {"code": "import time\nprint('begun')\ntime.sleep(600)"}
    for timeout_s in (0.5, 2, 8, 32):  # on a busy machine it may not come so far
        spec = {"timeout_s": timeout_s, "isolation": "process"}
        assert bad(run(kind, fields, spec=spec, log=heard)).kind == "timeout"
        if heard.said:
            break
    assert heard.text == "begun\n"


@pytest.mark.parametrize("where", ["thread", "process"])
def test_half_a_surrogate_pair_can_be_printed(where: str) -> None:
    heard = Heard()
    code = "print('a\\ud800b')\nresult = 1"
    assert good(run("python", {"code": code}, spec={"isolation": where}, log=heard)) == 1
    assert heard.text.encode("utf-8", "backslashreplace") == b"a\\ud800b\n"


def test_handlers_that_are_none_are_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "handlers", [None, *logging.root.handlers])
    heard = Heard()
    code = "import logging\nlogging.getLogger('x').warning('hear me')\nresult = 1"
    assert good(run("python", {"code": code}, log=heard)) == 1
    assert heard.text == "WARNING x: hear me\n"


def test_ten_megabytes_are_cut_to_the_first_of_them() -> None:
    heard = Heard()
    code = "for n in range(10): print('x' * 1024 * 1024)\nresult = 1"
    assert good(run("python", {"code": code}, settings=ToolSettings(log_max=1000), log=heard)) == 1
    assert len("".join(text for stream, text in heard.said if stream == "stdout")) == 1000
    assert heard.said[-1] == ("dropped", f"… {10 * (1024 * 1024 + 1) - 1000:,} more characters")


def test_characters_that_come_in_two_pieces_are_one() -> None:
    heard = Heard()
    capture = Capture(1000, ToolContext(log=heard))
    pipes = Pipes(capture, {1: "stdout"})
    for byte in "zoë €\n".encode():
        pipes.heard(1, bytes([byte]))
    capture.close()
    assert heard.text == "zoë €\n"


def test_what_is_printed_after_the_end_is_nobodys() -> None:
    heard = Heard()
    capture = Capture(1000, ToolContext(log=heard))
    capture.close()
    capture.write("late\n")
    assert not capture.flush()
    assert heard.said == []


def secretive(*secrets: str) -> tuple[Capture, Heard, Scrubber]:
    scrubber, heard = Scrubber(), Heard()
    for secret in secrets:
        scrubber.add(secret)
    context = ToolContext(log=heard, scrub=scrubber.scrub, part=scrubber.part)
    return Capture(10**6, context), heard, scrubber


@pytest.mark.spec("S20")
def test_a_secret_of_several_lines_is_found_though_its_lines_come_one_by_one() -> None:
    capture, heard, _ = secretive(KEY)
    for line in f"the key is\n{KEY}\nand that is it\n".splitlines(keepends=True):
        capture.write(line)
        capture.flush()
    capture.close()
    assert heard.text == "the key is\n***\nand that is it\n"
    assert heard.said[0] == ("stdout", "the key is\n")  # which did not wait


@pytest.mark.spec("S20")
def test_a_secret_in_a_line_without_end_is_found_wherever_the_line_is_cut() -> None:
    capture, heard, _ = secretive("s3cretword")
    for _ in range(1000):
        for piece in ("xxxxxxxx", "s3cr", "etw", "ord"):
            capture.write(piece)
            capture.flush()
    early = len(heard.said)
    capture.close()
    assert early > 1  # it did go on meanwhile
    assert heard.text == "xxxxxxxx***" * 1000


TEXTS = st.lists(
    st.sampled_from(
        ["tok3n", "to", "k3n", "\n", "line1", "line2", "line1\nline2\nl3", "x" * 99, "l3"]
    )
)


@pytest.mark.spec("S20")
@given(TEXTS, st.booleans())
def test_however_a_text_is_cut_the_same_is_heard_as_of_the_whole(
    pieces: list[str],
    old: bool,  # noqa: FBT001 - drawn
) -> None:
    capture, heard, scrubber = secretive("tok3n", "line1\nline2\nl3")
    for piece in pieces:
        capture.write(piece)
        if old:
            capture._since = -1e9  # as if it had waited for long
        capture.flush()
    capture.close()
    assert heard.text == scrubber.scrub("".join(pieces))
