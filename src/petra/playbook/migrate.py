"""Older and renamed playbooks, rewritten into canonical YAML that keeps comments and order (S1).

The same rewrites that the reader runs over its own tree run over ruamel's round-trip tree, so what
``migrate`` writes is what ``read`` understood.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from petra.playbook.notes import Change, Notes
from petra.playbook.pins import Files
from petra.playbook.problems import Problem
from petra.playbook.read import canonicalise, read
from petra.playbook.tree import AnyMap, Tree, as_map, is_map, is_seq


@dataclass(frozen=True, slots=True)
class Migration:
    """What came of migrating one text."""

    text: str
    changes: tuple[Change, ...]
    problems: tuple[Problem, ...]

    @property
    def changed(self) -> bool:
        """Whether there was anything to rewrite."""
        return bool(self.changes)


def migrate(text: str, name: str = "playbook.yaml", *, files: Files | None = None) -> Migration:
    """Rewrite a playbook into canonical words.

    Where the text cannot be read or has a construct without a counterpart, it comes back unchanged
    with the problems.
    """
    reading = read(text, name, files=files)
    errors = tuple(problem for problem in reading.problems if problem.severity == "error")
    header = _old_header(reading.problems)
    changes = (*header, *reading.changes)
    if reading.playbook is None or errors or not changes:
        return Migration(text, () if errors else changes, errors)
    return Migration(_rewritten(text), tuple(sorted(changes, key=lambda change: change.mark)), ())


def _old_header(problems: tuple[Problem, ...]) -> list[Change]:
    return [
        Change(problem.mark, "legacy", "apiVersion: noetl.io/v1", "apiVersion: noetl.io/v2")
        for problem in problems
        if problem.code == "P207" and "noetl.io/v1" in problem.message
    ]


def _rewritten(text: str) -> str:
    yaml = _round_trip(text)
    tree: AnyMap | None = as_map(yaml.load(text))
    assert tree is not None
    comments = list(_comments(tree))
    if tree.get("apiVersion") == "noetl.io/v1":
        tree["apiVersion"] = "noetl.io/v2"
    canonicalise(tree, Notes())
    out = io.StringIO()
    yaml.dump(tree, out)
    return _with_lost_comments(out.getvalue(), text, comments)


def _comments(node: Tree) -> Iterator[str]:
    """Yield every comment line that ruamel attached to a tree."""
    held = getattr(node, "ca", None)
    tokens: list[Any] = [held.comment, *held.items.values()] if held is not None else []
    while tokens:
        token = tokens.pop(0)
        if isinstance(token, list):
            tokens[:0] = token
        elif token is not None:
            yield from (line.strip() for line in token.value.splitlines() if line.strip())
    for item in node.values() if is_map(node) else node if is_seq(node) else ():
        yield from _comments(item)


def _with_lost_comments(new: str, old: str, comments: list[str]) -> str:
    """Put comments of constructs that are gone above the step they stood in."""
    lines = new.splitlines()
    for comment in comments:
        if any(comment in line for line in lines):
            continue
        before = old[: old.find(comment)].splitlines()
        heads = [line.strip() for line in before if line.lstrip().startswith("- step:")]
        head = heads[-1].split("#")[0].strip() if heads else ""
        place = next(
            (i for i, line in enumerate(lines) if head and line.strip().startswith(head)), 0
        )
        margin = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
        lines.insert(place, margin + comment)
    return "\n".join(lines) + "\n"


def _round_trip(text: str) -> Any:
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import, and only this command needs it

    yaml = YAML(typ="rt")
    yaml.version = None
    yaml.preserve_quotes = True
    yaml.width = 4096  # the author's line breaks, not ours
    yaml.allow_duplicate_keys = True
    dashes = [line for line in text.splitlines() if line.lstrip().startswith("- ")]
    indented = any(line.startswith("  ") for line in dashes[:1])
    yaml.indent(mapping=2, sequence=4 if indented else 2, offset=2 if indented else 0)
    return yaml
