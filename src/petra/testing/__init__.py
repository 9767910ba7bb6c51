"""The testing kit: playbooks run in virtual time with the real kernel and the real pipeline."""

from __future__ import annotations

from petra.testing.runner import CaseResult, run_case
from petra.testing.simulation import Simulation
from petra.testing.suite import Case, Suite, TestError, load_suite

__all__ = ["Case", "CaseResult", "Simulation", "Suite", "TestError", "load_suite", "run_case"]
