"""An approval: a request is made, a person decides, the request is completed.

Run it with ``python examples/net/approval.py``. While the person thinks, the net is at rest: nothing
is enabled, because `approve` takes the task only once it is done.
"""

from __future__ import annotations

from petra.net import Net, Region, Transition, cancel_region, drain, quiescence, start, tasks, verify

approval = Net.of(
    "approval",
    places="start approval approved end",
    transitions=[
        Transition.of(
            "request",
            "start -> approval",
            fire=lambda mode: tasks.enabled(mode["start"]["id"], mode["start"], "approval"),
        ),
        Transition.of(
            "approve",
            "approval -> approved",
            guard=lambda mode: tasks.is_done(mode["approval"]),
        ),
        Transition.of(
            "complete",
            "approved -> end",
            fire=lambda mode: {"end": [mode["approved"]["payload"]]},
        ),
    ],
    final={"end": 1},
)


def main() -> None:
    """Tell two stories: a request that is approved, and one that is cancelled."""
    begun = start(approval, {"start": [{"id": "req123", "amount": 40}]})

    asked = drain(begun).configuration
    print("asked:    ", asked.marking, "·", quiescence(asked).value)

    running = tasks.change(asked, "req123", "running", {"seen": True})
    decided = tasks.change(running, "req123", "done", {"decision": "approved", "by": "ada"})
    done = drain(decided).configuration
    print("decided:  ", done.marking, "·", quiescence(done).value, "·", done.marking.data("end"))

    overdue = cancel_region(asked, Region.of(approval, "desk", "approval approved"), reason="overdue")
    print("cancelled:", overdue.marking, "·", quiescence(overdue).value)

    for receipt in done.receipts:
        print(f"  {receipt.k} {receipt.kind:8} {receipt.transition:12} {receipt.hash[:8]}")
    print("verified: ", verify(done.receipts, approval, begun.marking) is None)


if __name__ == "__main__":
    main()
