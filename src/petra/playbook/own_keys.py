"""The keys of documents that have no dialects: every key that is no field is a mistake, except where any may stand."""

from __future__ import annotations

from typing import Any

import msgspec

from petra.playbook.decode import Decoder
from petra.playbook.grammar import extra_of, fields_of
from petra.playbook.problems import Mark, Problems, did_you_mean
from petra.playbook.tree import Map


class OwnKeys:
    """What a decoder asks about keys; those of ``metadata`` are free."""

    foreign = False

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def enter(self, struct: type[msgspec.Struct], node: Map, path: Any, at: Mark) -> None:
        """Nothing to look at beforehand."""

    def take(
        self, _decoder: Decoder, struct: type[msgspec.Struct], node: Map, key: str, _path: Any
    ) -> bool:
        """Report every key that has no field."""
        if self.is_free(struct, key):
            return True
        self.problems.error(
            "P101", node.key_at(key), f"unknown key '{key}'", did_you_mean(key, fields_of(struct))
        )
        return False

    def is_free(self, struct: type[msgspec.Struct], _key: str) -> bool:
        """Tell whether a key may stand there although it has no field."""
        return extra_of(struct) is not None
