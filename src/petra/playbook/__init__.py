"""The language: text to model, with every problem at its place.

``read`` is the front door; ``Playbook`` and its parts are what everything else works on.
"""

from __future__ import annotations

from petra.playbook.model import Playbook
from petra.playbook.problems import InvalidPlaybookError, Mark, Problem, render
from petra.playbook.read import Reading, read, read_bytes, read_stored
from petra.playbook.write import to_yaml

__all__ = [
    "InvalidPlaybookError",
    "Mark",
    "Playbook",
    "Problem",
    "Reading",
    "read",
    "read_bytes",
    "read_stored",
    "render",
    "to_yaml",
]
