"""Soundness: can every run of a net still end, and end cleanly?

``check(net)`` is the way in. The other modules are one step of it each: ``structure``, ``flow``
(the net as numbers), ``reduction``, ``explore`` and ``stubborn`` (the searches), ``decide`` and
``explain``.
"""

from petra.net.soundness.check import check
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
