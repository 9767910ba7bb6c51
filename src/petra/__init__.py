"""Petra: durable workflows on Petri nets."""

__version__ = "0.1.0"
