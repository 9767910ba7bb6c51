"""Petri nets as a library: places, transitions, tokens with data, and what can be said about them."""

from typing import TYPE_CHECKING

from petra.lazy_names import lazy
from petra.net import tasks
from petra.net.budget import Budget
from petra.net.cancel import Region, cancel
from petra.net.compare import Equivalence, causal_form, compare, first_difference
from petra.net.compile import Compiled, compile  # noqa: A004 - the word of the trade
from petra.net.configuration import Configuration
from petra.net.confluence import (
    AnswerIn,
    Clash,
    Confluence,
    Divergence,
    Question,
    confluence,
    explore,
)
from petra.net.fire import Aborted, Drained, Stepped, drain, enabled, is_quiescent, start, step
from petra.net.marking import Marking, Token, TokenRecord
from petra.net.modes import Abort, Mode, Production, modes
from petra.net.net import Net, Place, Transition
from petra.net.origin import Origin
from petra.net.outside import cancel_region, exchange, inject, withdraw
from petra.net.proof import Proof, prove
from petra.net.quiescence import Blocked, Rest, blocked, quiescence
from petra.net.receipt import Produced, Receipt, read_receipts, write_receipts
from petra.net.select import ByHash, ByName, Fifo, Firing, Priority, Random, Strategy
from petra.net.soundness import (
    Counterexample,
    FinalAnyOf,
    FinalMarkings,
    Finding,
    Limits,
    Verdict,
    check,
    read_final,
)
from petra.net.verify import Flaw, verify

if TYPE_CHECKING:
    from petra.net.pnml import read_pnml, write_pnml

__all__ = [
    "Abort",
    "Aborted",
    "AnswerIn",
    "Blocked",
    "Budget",
    "ByHash",
    "ByName",
    "Clash",
    "Compiled",
    "Configuration",
    "Confluence",
    "Counterexample",
    "Divergence",
    "Drained",
    "Equivalence",
    "Fifo",
    "FinalAnyOf",
    "FinalMarkings",
    "Finding",
    "Firing",
    "Flaw",
    "Limits",
    "Marking",
    "Mode",
    "Net",
    "Origin",
    "Place",
    "Priority",
    "Produced",
    "Production",
    "Proof",
    "Question",
    "Random",
    "Receipt",
    "Region",
    "Rest",
    "Stepped",
    "Strategy",
    "Token",
    "TokenRecord",
    "Transition",
    "Verdict",
    "blocked",
    "cancel",
    "cancel_region",
    "causal_form",
    "check",
    "compare",
    "compile",
    "confluence",
    "drain",
    "enabled",
    "exchange",
    "explore",
    "first_difference",
    "inject",
    "is_quiescent",
    "modes",
    "prove",
    "quiescence",
    "read_final",
    "read_pnml",
    "read_receipts",
    "start",
    "step",
    "tasks",
    "verify",
    "withdraw",
    "write_pnml",
    "write_receipts",
]

if not TYPE_CHECKING:  # whoever runs a playbook reads no XML
    __getattr__, __dir__ = lazy(
        __name__, dict.fromkeys(("read_pnml", "write_pnml"), "petra.net.pnml")
    )
