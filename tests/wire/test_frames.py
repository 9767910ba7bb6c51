"""Frames: the same on every transport, in any pieces, and nothing but data."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.wire import Assignment, Attempt, Error, Iteration, IterationReport, Report, Write
from petra.wire import frames as f

DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
REPORTS = st.builds(
    Report,
    status=st.sampled_from(["ok", "error"]),
    result=DATA,
    error=st.none() | st.builds(Error, message=st.text(max_size=10), details=DATA),
    attempts=st.lists(
        st.builds(Attempt, task=st.text(), number=st.integers(1, 9), status=st.just("ok"),
                  action=st.sampled_from(["retry", "fail"]), delay_s=st.none() | st.floats(0, 9)),
        max_size=2,
    ),
    writes=st.lists(st.builds(Write, key=st.text(), value=DATA), max_size=2),
    branch=st.just(msgspec.UNSET) | DATA,
)  # fmt: skip
NAMES = st.text(max_size=8)
PATHS = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple)
FRAMES = st.one_of(
    st.builds(f.Hello, worker=NAMES, slots=st.integers(1, 9), leases=st.lists(NAMES, max_size=2)),
    st.builds(f.Credit, slots=st.integers(1, 9)),
    st.builds(f.PlaybookText, digest=NAMES, text=st.text()),
    st.builds(f.Checked, digest=NAMES, problems=st.lists(NAMES, max_size=2)),
    st.builds(
        f.Assignments,
        assignments=st.lists(
            st.builds(
                Assignment, execution=NAMES, run=NAMES, step=NAMES,
                scope=st.dictionaries(NAMES, DATA, max_size=2),
                iterations=st.lists(
                    st.builds(Iteration, path=PATHS, iter=st.dictionaries(NAMES, DATA, max_size=2)),
                    max_size=2,
                ),
            ),
            max_size=2,
        ),
    ),
    st.builds(
        f.Reports,
        reports=st.lists(
            st.builds(
                f.RunReport, execution=NAMES, run=NAMES, report=st.none() | REPORTS,
                iterations=st.lists(
                    st.builds(IterationReport, path=PATHS, report=REPORTS), max_size=2
                ),
            ),
            max_size=2,
        ),
    ),
    st.builds(f.Heartbeat, leases=st.lists(NAMES, max_size=2)),
    st.builds(f.CancelRuns, runs=st.lists(NAMES, max_size=2), reason=NAMES),
    st.just(f.Drain()),
    st.builds(f.Bye, leases=st.lists(NAMES, max_size=2)),
)  # fmt: skip


@given(FRAMES)
def test_a_frame_comes_back_as_it_was_sent(frame: f.AnyFrame) -> None:
    assert f.decode(f.encode(frame)) == frame


@given(st.lists(FRAMES, max_size=4), st.integers(1, 50))
def test_a_stream_may_be_cut_anywhere(frames: list[f.AnyFrame], size: int) -> None:
    stream = b"".join(map(f.pack, frames))
    unpacker = f.Unpacker()
    found: list[f.AnyFrame] = []
    for at in range(0, len(stream), size):
        found += unpacker.feed(stream[at : at + size])
    assert found == frames
    assert unpacker._buffer == b""


@given(st.binary(max_size=60))
def test_no_bytes_are_worse_than_a_frame_error(raw: bytes) -> None:
    try:
        f.decode(raw)
        f.Unpacker().feed(raw)
    except f.FrameError:
        pass


def test_a_length_beyond_the_limit_is_refused_before_anything_is_read() -> None:
    with pytest.raises(f.FrameError, match="at most"):
        f.Unpacker().feed((f.MAX_FRAME + 1).to_bytes(4, "big"))


def test_a_frame_without_its_end_is_no_frame_yet() -> None:
    raw = f.pack(f.Credit(slots=3))
    unpacker = f.Unpacker()
    assert unpacker.feed(raw[:-1]) == []
    assert unpacker.feed(raw[-1:]) == [f.Credit(slots=3)]


@pytest.mark.spec("S20")
def test_what_is_no_data_cannot_cross() -> None:
    report = Report(status="ok", result=object())
    with pytest.raises(TypeError):
        f.encode(f.Reports(reports=[f.RunReport(execution="e", run="r", report=report)]))
