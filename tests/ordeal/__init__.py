"""Ordeals: the real engine and workers in virtual time, under faults drawn from a seed, judged from outside."""

from __future__ import annotations

from ordeal.world import Ordeal

__all__ = ["Ordeal"]
