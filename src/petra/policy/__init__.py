"""Task policies: what comes after an outcome, for tasks on a worker and for those of the server (S5)."""

from __future__ import annotations

from petra.policy.backoff import LONGEST_S, Jitter, Retry
from petra.policy.patches import patch_ctx, patch_iter
from petra.policy.rules import CONTINUE, Rules, Ruling, decide, outcome_data, transform

__all__ = [
    "CONTINUE",
    "LONGEST_S",
    "Jitter",
    "Retry",
    "Rules",
    "Ruling",
    "decide",
    "outcome_data",
    "patch_ctx",
    "patch_iter",
    "transform",
]
