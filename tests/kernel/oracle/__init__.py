"""Nested fan-outs drawn at random, and a naive interpreter of them that shares no code with the kernel."""
