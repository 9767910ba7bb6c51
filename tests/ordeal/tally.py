"""How much was seen: what went wrong, what was asked and answered, and what of it was lost or done twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ordeal.invariants import judge
from ordeal.world import Ordeal
from petra.kernel import events as e

_NOTED = {
    e.RunRedelivered: "runs handed out again",
    e.RunTakenBack: "runs taken back",
    e.ReportRejected: "late reports rejected",
    e.IncidentRaised: "incidents",
}


@dataclass(slots=True)
class Tally:
    """Counts over many ordeals, and what was wrong with which seed."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: dict[int, list[str]] = field(default_factory=dict)

    def add(self, ordeal: Ordeal) -> list[str]:
        """Run an ordeal, judge it and count; what is wrong with it comes back."""
        evidence = ordeal.run()
        found = judge(evidence)
        if found:
            self.faults[ordeal.seed] = found
        counts = self.counts
        counts["ordeals"] += 1
        counts += ordeal.plan.counts
        counts["executions"] += len(evidence.streams)
        counts["connections cut"] += sum(not c.whole for c in ordeal.host.connections)
        counts["frames lost"] += sum(c.lost for c in ordeal.host.connections)
        counts["frames repeated"] += sum(c.repeated for c in ordeal.host.connections)
        counts["objects stored"] += len(evidence.objects)
        counts["workloads and ctxs sent by themselves"] += len(evidence.shared)
        counts["assignments"] += len(evidence.sent)
        counts["effects of tools"] += len(evidence.ledger)
        counts["commands"] += len(evidence.journal)
        counts["commands asked again"] += sum(a.tries > 1 for a in evidence.journal.values())
        counts["commands acknowledged"] += sum(
            any(not refused for _, refused, _ in a.answers) for a in evidence.journal.values()
        )
        for stream in evidence.streams.values():
            counts["records"] += len(stream.records)
            for record in stream.records:
                if type(record.event) in _NOTED:
                    counts[_NOTED[type(record.event)]] += 1
        counts["acknowledged commands lost"] += sum("and has 0 effects" in f for f in found)
        counts["results applied twice"] += sum("was applied" in f and "times" in f for f in found)
        self.counts = counts
        return found

    def table(self) -> str:
        """Return the counts, a line each."""
        width = max(map(len, self.counts), default=0)
        return "\n".join(f"{name:<{width}}  {n:>9,}" for name, n in sorted(self.counts.items()))
