"""Records what this version says, a frame of each kind with all of its fields, for the tests of the version after it.

    python scripts/record_frames.py > tests/wire/recorded/NAME.json

Each line of the list is the kind of the frame, who says it, and its bytes in base64. It is run by the last code before the
frames change; what was recorded is never written anew.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

import msgspec

from petra.wire import Assignment, Attempt, Error, Iteration, IterationReport, Report, Write
from petra.wire import frames as f

REPORT = Report(
    status="error",
    result={"rows": [1, 2.5, "three", None]},
    error=Error(kind="timeout", message="late", code=7, retryable=True, details={"a": [1]}),
    attempts=[Attempt(task="one", number=1, status="error", action="retry", rule=0, delay_s=0.5)],
    writes=[Write(key="total", value=3)],
    branch={"chosen": "left"},
)
ASSIGNMENT = Assignment(
    execution="e1", run="r1", step="work", playbook="d1", chunk="c1", delivery=2, lease="l1", lease_s=15.0, width=3,
    scope={"workload": {"n": 1}, "ctx": {}}, shared={"ctx": "k1"}, more=True, total=9,
    iterations=[Iteration(path=(0, 1), iter={"item": "x"})], gather=[1, 2], readable=["e0"], namespace="blue",
    trace="00-1-2-01",
)  # fmt: skip
LINE = f.LogLine(at=1.5, execution="e1", step="work", task="one", text="said", path=(0,), run="r1")
FROM_WORKER: list[Any] = [
    f.Hello(worker="w", pool="etl", slots=4, credit=2, kinds=["http", "python"], leases=["l1"], session="s1"),
    f.Credit(slots=2),
    f.Checked(digest="d1", problems=["p"], missing=["m"], stored=["s"]),
    f.Want(digests=["d1"], shared=["k1"]),
    f.Reports(
        reports=[
            f.RunReport(execution="e1", run="r1", delivery=2, lease="l1", report=REPORT),
            f.RunReport(
                execution="e1", run="r2", chunk="c1", lease="l2", part=3, more=True,
                iterations=[IterationReport(path=(0, 1), report=REPORT)],
            ),
            f.RunReport(execution="e1", run="r3", lease="l3", refused="a secret is missing"),
        ]
    ),
    f.Log(lines=[LINE], dropped={"e1": 4}),
    f.Heartbeat(leases=["l1", "l2"], stalled_s=0.25),
    f.Retrying(execution="e1", run="r1", attempt=REPORT.attempts[0], of=3),
    f.Reveal(number=5, lease="l1", name="token", version=2, dry=True),
    f.Drain(),
    f.Bye(leases=["l1"]),
]  # fmt: skip
FROM_SERVER: list[Any] = [
    f.PlaybookText(digest="d1", text="kind: Playbook\n", gives=True),
    f.Shared(key="k1", value={"n": [1]}, size=9),
    f.Assignments(assignments=[ASSIGNMENT]),
    f.Further(lease="l1", iterations=ASSIGNMENT.iterations, more=True),
    f.CancelRuns(runs=["r1"], leases=["l1"], reason="withdrawn"),
    f.Ack(leases=["l1"], parts=[("l2", 3)], logs=True),
    f.Revealed(number=5, value="v", problem="p", kind="denied"),
    f.Drain(),
]


def main() -> None:
    """Write them all."""
    said = [("worker", one) for one in FROM_WORKER] + [("server", one) for one in FROM_SERVER]
    lines = [
        [
            who,
            str(type(one).__struct_config__.tag),
            base64.b64encode(msgspec.msgpack.encode(one)).decode(),
        ]
        for who, one in said
    ]
    text = ",\n".join(f" {json.dumps(line)}" for line in lines)
    sys.stdout.write(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
