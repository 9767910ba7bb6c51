"""Which executions are meant: ``--playbook``, ``--status`` and ``--label KEY=VALUE``, which a start takes too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])
PRIORITY_MAX = 1_000
"""As playbooks have it; importing those would take longer than most verbs."""
STATUSES = (
    "running", "waiting", "paused", "stuck", "compensating", "completed", "partial", "failed", "aborted",
)  # fmt: skip


def _labels(
    _context: click.Context, _option: click.Parameter, pairs: tuple[str, ...]
) -> dict[str, str]:
    """Read KEY=VALUE pairs."""
    labels: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise click.UsageError(f"'--label {pair}' must be KEY=VALUE, e.g. --label team=blue")
        if labels.setdefault(key, value) != value:
            raise click.UsageError(f"label '{key}' is both '{labels[key]}' and '{value}'")
    return labels


label_option = click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", callback=_labels,
    help="A label of the execution; 'petra ps --label' finds it.",
)  # fmt: skip

worker_label_option = click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", callback=_labels,
    help="A label of the worker, for those who look at workers.",
)  # fmt: skip


priority_option = click.option(
    "--priority", type=click.IntRange(-PRIORITY_MAX, PRIORITY_MAX), metavar="N",
    help="Who comes first where executions wait for each other: lower. As the playbook says when absent.",
)  # fmt: skip


def which_options(command: _Command) -> _Command:
    """Let a verb say which executions are meant."""
    playbook = click.option(
        "--playbook", metavar="PATH", help="Only of this playbook, by its path or its name."
    )
    status = click.option(
        "--status", type=click.Choice(STATUSES), multiple=True, metavar="STATUS",
        help=f"Only these: {', '.join(STATUSES)}.",
    )  # fmt: skip
    label = click.option(
        "--label", "labels", multiple=True, metavar="KEY=VALUE", callback=_labels,
        help="Only with this label.",
    )  # fmt: skip
    return playbook(status(label(command)))
