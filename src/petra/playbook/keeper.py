"""The playbook of executions that keep a schedule: it waits, and what it keeps does the rest (S24)."""

from __future__ import annotations

from functools import cache

from petra.playbook.model import Playbook
from petra.playbook.read import read

PATH = "petra/schedule"
_TEXT = f"""
apiVersion: petra/v1
kind: Playbook
metadata: {{name: schedule, path: {PATH}}}
workflow:
  - step: keep_time
    tool: {{kind: wait, signal: {{name: end}}}}
"""


@cache
def keeper() -> Playbook:
    """Return the playbook: the same for every schedule."""
    return read(_TEXT, PATH).checked()
