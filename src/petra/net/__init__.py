"""Petri nets as a library: places, transitions, tokens with data, and what can be said about them."""

from petra.net import tasks
from petra.net.cancel import Region, cancel
from petra.net.compare import Equivalence, causal_form, compare, first_difference
from petra.net.configuration import Configuration
from petra.net.confluence import Clash, Confluence, Decision, Divergence, confluence, explore
from petra.net.fire import Aborted, Drained, Stepped, drain, enabled, is_quiescent, start, step
from petra.net.marking import Marking, Token
from petra.net.modes import Abort, Mode, Production, modes
from petra.net.net import Net, Place, Transition
from petra.net.outside import cancel_region, exchange, inject, withdraw
from petra.net.quiescence import Blocked, Rest, blocked, quiescence
from petra.net.receipt import Produced, Receipt, read_receipts, write_receipts
from petra.net.select import ByHash, ByName, Fifo, Firing, Priority, Random, Strategy
from petra.net.verify import Flaw, verify

__all__ = [
    "Abort",
    "Aborted",
    "Blocked",
    "ByHash",
    "ByName",
    "Clash",
    "Configuration",
    "Confluence",
    "Decision",
    "Divergence",
    "Drained",
    "Equivalence",
    "Fifo",
    "Firing",
    "Flaw",
    "Marking",
    "Mode",
    "Net",
    "Place",
    "Priority",
    "Produced",
    "Production",
    "Random",
    "Receipt",
    "Region",
    "Rest",
    "Stepped",
    "Strategy",
    "Token",
    "Transition",
    "blocked",
    "cancel",
    "cancel_region",
    "causal_form",
    "compare",
    "confluence",
    "drain",
    "enabled",
    "exchange",
    "explore",
    "first_difference",
    "inject",
    "is_quiescent",
    "modes",
    "quiescence",
    "read_receipts",
    "start",
    "step",
    "tasks",
    "verify",
    "withdraw",
    "write_receipts",
]
