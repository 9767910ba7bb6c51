"""``petra schema``: the JSON Schema of playbooks."""

from __future__ import annotations

import click

from petra.cli.output import print_json
from petra.playbook.schema import json_schema


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of playbooks, for editors.

    Write it to a file and put '# yaml-language-server: $schema=FILE' at the head of a playbook.
    """
    print_json(json_schema())
