"""Petri nets as a library: places, transitions, tokens with data, and proofs about them."""

from petra.net.modes import Abort, Mode, Production
from petra.net.net import Net, Place, Transition

__all__ = ["Abort", "Mode", "Net", "Place", "Production", "Transition"]
