"""Notes: what a rewrite changed, where, and why; the reader warns of some, ``migrate`` tells all."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from petra.playbook.problems import Mark


class Change(Struct, frozen=True):
    """One construct that was rewritten."""

    mark: Mark
    kind: Literal["renamed", "legacy"]
    old: str
    new: str


class Notes(Struct):
    """Collects the changes of a rewrite, and what it could not rewrite."""

    foreign: bool = False
    """Whether the file is another engine's, where what Petra does not know is ignored."""
    changes: list[Change] = field(default_factory=list)
    refused: list[tuple[Mark, str, str]] = field(default_factory=list)
    ignored: list[tuple[Mark, str, str]] = field(default_factory=list)

    def renamed(self, mark: Mark, old: str, new: str) -> None:
        """Tell of a word of the renamed dialect, which is as good as the canonical one."""
        self.changes.append(Change(mark, "renamed", old, new))

    def legacy(self, mark: Mark, old: str, new: str) -> None:
        """Tell of an older construct."""
        self.changes.append(Change(mark, "legacy", old, new))

    def refuse(self, mark: Mark, message: str, hint: str) -> None:
        """Tell of an older construct that has no counterpart."""
        self.refused.append((mark, message, hint))

    def ignore(self, mark: Mark, message: str, hint: str) -> None:
        """Tell of something that loses part of its meaning."""
        self.ignored.append((mark, message, hint))

    def lose(self, mark: Mark, message: str, hint: str) -> None:
        """Tell of something that Petra does not know: ignored in files of other engines, refused in its own."""
        (self.ignore if self.foreign else self.refuse)(mark, message, hint)
