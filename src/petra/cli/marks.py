"""The signs and colours of what executions, and other things that were asked for, come to."""

from __future__ import annotations

import click

MARKS = {
    "completed": ("✓", "green"), "partial": ("◐", "yellow"), "failed": ("✗", "red"), "aborted": ("■", "red"),
    "waiting": ("☺", "cyan"), "stuck": ("!", "red"), "paused": ("‖", "yellow"), "running": ("▶", "blue"),
    "refused": ("✗", "red"), "compensating": ("↶", "yellow"),
}  # fmt: skip


def status_text(status: str, reason: str = "") -> str:
    """Say a status with its mark."""
    mark, colour = MARKS.get(status, ("·", "white"))
    words = f"{status} ({reason})" if reason and status in ("waiting", "stuck") else status
    return click.style(f"{mark} {words}", fg=colour)


def applied_mark(did: str, *, unchanged: bool) -> str:
    """Say whether applying something changed it."""
    return "· unchanged" if unchanged else click.style(f"✓ {did}", fg="green")
