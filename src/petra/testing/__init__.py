"""The testing kit: playbooks run in virtual time with the real kernel and the real pipeline.

``store_conformance`` has what every store must do, as claims to run on one of your own. Names are imported when they
are asked for: the plug-in of pytest is here too, and is loaded by every run of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.lazy_names import lazy

if TYPE_CHECKING:
    from petra.testing import store_conformance
    from petra.testing.runner import CaseResult, run_case
    from petra.testing.simulation import Execution, Simulation
    from petra.testing.suite import Case, Suite, TestError, load_suite

__all__ = [
    "Case",
    "CaseResult",
    "Execution",
    "Simulation",
    "Suite",
    "TestError",
    "load_suite",
    "run_case",
    "store_conformance",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "store_conformance": "petra.testing.store_conformance",
            **dict.fromkeys(("Execution", "Simulation"), "petra.testing.simulation"),
            **dict.fromkeys(("CaseResult", "run_case"), "petra.testing.runner"),
            **dict.fromkeys(("Case", "Suite", "TestError", "load_suite"), "petra.testing.suite"),
        },
    )
