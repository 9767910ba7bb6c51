"""Soundness: can every run of a net still end, and end cleanly?

``check(net)`` is the way in, and ``attack`` the order of its steps: ``structure``, ``flow`` (the net as
numbers), ``reduction``, ``decide`` with the searches ``explore`` and ``stubborn``, and ``explain``.
"""

from petra.net.soundness.attack import check
from petra.net.soundness.final import Final, FinalAnyOf, FinalMarkings, read_final
from petra.net.soundness.verdict import Counterexample, Finding, Limits, Verdict

__all__ = [
    "Counterexample",
    "Final",
    "FinalAnyOf",
    "FinalMarkings",
    "Finding",
    "Limits",
    "Verdict",
    "check",
    "read_final",
]
