"""``petra schema``: the JSON Schema of each kind of document, and of notify.yaml."""

from __future__ import annotations

import click

from petra.cli.output import as_json, print_json


@click.command("schema")
@click.argument(
    "what",
    type=click.Choice(["playbook", "test", "schedule", "trigger", "resource", "notify"]),
    default="playbook",
)
@as_json
def command(what: str, output: str) -> None:
    """Print the JSON Schema of playbooks, test files, schedules, triggers, resources, or of notify.yaml, for editors.

    Write it to a file and put '# yaml-language-server: $schema=FILE' at the head of a playbook.
    """
    del output  # it is JSON either way
    if what == "schedule":
        from petra.playbook.schedule import schedule_schema as json_schema  # noqa: PLC0415 - see below
    elif what == "trigger":
        from petra.playbook.trigger import trigger_schema as json_schema  # noqa: PLC0415 - see below
    elif what == "resource":
        from petra.playbook.shared import resource_schema as json_schema  # noqa: PLC0415 - see below
    elif what == "notify":
        from petra.notify.channels import notify_schema as json_schema  # noqa: PLC0415 - see below
    elif what == "test":
        from petra.testing.words import json_schema  # noqa: PLC0415 - only for test files
    else:
        from petra.playbook.schema import json_schema  # noqa: PLC0415 - see above
    print_json(json_schema())
