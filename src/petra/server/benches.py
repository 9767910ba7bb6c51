"""What authors send to the workbench, and what is done there: by another process, which alone loads it."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from petra.playbook import Playbook
from petra.server.long_work import FarWork

FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
FILES_MAX: Final = 50


class Bench(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text, and where in it somebody is: a line and a column from 1."""

    text: str
    line: int = 1
    column: int = 1


class Tests(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A test file, and the playbooks that it names, by their file names; with frames of every case, or without."""

    text: str
    files: dict[str, str] = {}
    frames: bool = True


class Simulated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A playbook to walk through: by dice, or by the choices that somebody made so far."""

    text: str
    workload: dict[str, Any] = {}
    seed: int = 0
    steps: int = 200
    choices: list[dict[str, Any]] | None = None


CHECK: Final = FarWork[str]("petra.server.workbench", "check_text")
COMPLETE: Final = FarWork[Bench]("petra.server.workbench", "complete_at")
HOVER: Final = FarWork[Bench]("petra.server.workbench", "hover_at")
REPAIR: Final = FarWork[Bench]("petra.server.workbench", "repaired")
TEST: Final = FarWork[Tests]("petra.server.workbench", "run_suite")
WALK: Final = FarWork[Simulated]("petra.server.walk_through", "walk_through")


def input_of(playbook: Playbook) -> dict[str, Any]:
    """Return what a playbook is started with: its defaults, and what it demands."""
    return {
        "workload": playbook.workload,
        "input_schema": playbook.executor.spec.input_schema,
    }
