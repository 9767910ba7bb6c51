"""Templates: each compiles, reads only names its place has, and lets no secret reach the server."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from petra.errors import ExpressionError
from petra.expr import HELPERS, PathUse, Profile, Template
from petra.expr.scopes import BUILT_IN, SCOPES, Use
from petra.expr.template import UNKNOWN_WORDS
from petra.playbook.checks.document import Document
from petra.playbook.checks.keys import Keys
from petra.playbook.decode import Path
from petra.playbook.leaves import Leaf, strings
from petra.playbook.problems import Mark, line_starts

# Names whose next part is checked too.
_LOOKED_INTO = frozenset({"keychain", "step"})
# What other engines call the result of the step that an arc leaves.
_RESULTS = frozenset({"result", "response", "outcome"})
_WORD = re.compile(r"\w+|\S")
_GUARD_WORDS = frozenset({"true", "false"})
_HEAD = re.compile(r"\{\{-?\s*(\w+)")
_TEMPLATE = re.compile(
    r"\{\{-?\s*(?:" + "|".join(sorted(BUILT_IN - HELPERS)) + r")\b|\{%-?\s*(?:if|for|set)\b"
)


def check_templates(document: Document) -> None:
    """Check every template of the playbook."""
    check = _Templates(document)
    for leaf in document.leaves:
        if leaf.use is not None:
            check.leaf(leaf, leaf.use)
    check.keys.tell()
    for path, text in strings(document.playbook.workload, ("workload",)):
        if "{{" in text:
            document.problems.warn(
                "P210", document.at(*path), "workload is data: this template is never rendered",
                "write the value, or compute it in the first step",
            )  # fmt: skip


_INSTEAD = {
    "code": "pass values through 'args'",
    "function": "pass values through 'args'",
    "script": "pass values through 'env' and read them as \"$NAME\", or use 'argv'",
}
"""How values get into constant text that is not SQL."""


class _Templates:
    """Holds what the playbook's own names are."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems = document.problems
        self.steps = frozenset(document.steps)
        self.secrets = frozenset(credential.name for credential in document.playbook.keychain)
        self.workload = frozenset(document.playbook.workload)
        self.starts = line_starts(document.text)
        self.keys = Keys(document)
        self.reported: set[tuple[str, int]] = set()

    def leaf(self, leaf: Leaf, use: Use) -> None:
        """Check every string inside one value."""
        if use is Use.CONSTANT:
            self._constant(leaf)
            return
        for path, text in strings(leaf.value, leaf.path):
            if "{{" in text or "{%" in text or "{#" in text:
                self._template(path, text, use)
            elif path[-1] == "when" and text.strip().lower() not in _GUARD_WORDS:
                self._bare_guard(path, text)

    def _constant(self, leaf: Leaf) -> None:
        if not isinstance(leaf.value, str) or not self._has_template(leaf):
            return
        key = leaf.path[-1]
        if key == "code" and self.document.places.written(*leaf.path[:-1], "file") is not None:
            return  # a file of Python is written for Python
        report = self.problems.warn if self.document.is_foreign else self.problems.error
        report(
            "P125",
            self.document.at(*leaf.path),
            f"'{key}' is constant text: its template is never rendered",
            _INSTEAD.get(str(key), "bind values with 'params'"),
        )

    def _has_template(self, leaf: Leaf) -> bool:
        """Tell whether a text holds a template of ours; braces mean other things in other languages."""
        if _TEMPLATE.search(leaf.value):
            return True
        heads = (head[1] for head in _HEAD.finditer(leaf.value))
        return leaf.path[-1] != "code" and any(head in self.steps for head in heads)

    def _bare_guard(self, path: Path, text: str) -> None:
        at = self.document.at(*path)
        if not text.strip():
            self.problems.error("P119", at, "the condition is empty", "write one, or remove 'when'")
            return
        shown = " ".join(text.strip(" \n\t{}").split())
        shown = shown if len(shown) <= 40 else "…"
        self.problems.error("P119", at, "a condition needs braces", f'write "{{{{ {shown} }}}}"')

    def _template(self, path: Path, text: str, use: Use) -> None:
        profile = Profile.WORKER if use.has_statements else Profile.SERVER
        template = self.document.template(text, profile)
        if isinstance(template, ExpressionError):
            at = self._place(path, text, template.offset or 0)
            hint = template.hint or "for braces of another language write \"{{ '{{' }}\""
            # a word of another engine fails whoever evaluates it; broken text cannot even be read by the server
            if use is Use.TASK or template.kind in UNKNOWN_WORDS:
                self._report("P119", at, template.message, hint)
            else:
                self.problems.error("P119", at, template.message, hint)
            return
        if path[-1] == "when" and not template.is_native:
            self.problems.error(
                "P119",
                self.document.at(*path),
                "a condition is one expression: text around the braces is always true",
                'put it all inside one pair: "{{ a and b }}"',
            )
            return
        self._names(path, template, use)

    def _names(self, path: Path, template: Template, use: Use) -> None:
        for read in template.paths:
            first = read.path[0]
            fault = self.keys.fault(path, template, use, read)
            if fault is not None:
                self.keys.report(fault, self._place(path, template.source, read.start))
            if first in SCOPES[use] and first not in _LOOKED_INTO and not read.call:
                continue
            known = SCOPES[use] | self.steps | self._local(path, use)
            at = self._place(path, template.source, read.start)
            if read.call:
                self._call(read, at, use)
            elif first == "keychain":
                self._secret(read, at, use)
            elif first == "step" and len(read.path) > 1:
                self._step(read.path[1], at)
            elif first not in known:
                self._unknown(read, at, use, known, self._items(path))

    def _local(self, path: Path, use: Use) -> frozenset[str]:
        """Return the names that only this place has: tasks of the pipeline, the item of an arc."""
        if use is Use.ARC and len(path) > 4 and path[2:4] == ("next", "arcs"):
            router = self.document.playbook.workflow[int(path[1])].next
            arc = router.arcs[int(path[4])] if router else None
            return frozenset({arc.item} if arc and arc.foreach is not None else ())
        if use in (Use.TASK, Use.POLICY, Use.PATCH):
            if path[0] == "workbook":
                return frozenset(self.document.playbook.workbook)
            if path[0] == "workflow":
                step = self.document.playbook.workflow[int(path[1])]
                undo = step.spec.compensate.tool if step.spec.compensate else []
                return frozenset(task.name for task in (*step.tool, *undo))
        return frozenset()

    def _call(self, read: PathUse, at: Mark, use: Use) -> None:
        name = read.path[0].removesuffix("()")
        if name == "now" and use in (Use.ADMIT, Use.JOIN):
            self.problems.warn(
                "P214", at, f"{use.value} is not judged again because time passes",
                "wait for time in a step of kind 'wait'",
            )  # fmt: skip
        if name not in HELPERS:
            return
        if name not in SCOPES[use]:
            self._report(
                "P119",
                at,
                f"{name}() is not available in {use.value}",
                "the server knows it, a worker does not; decide in an arc",
            )
        for step in read.path[1:]:
            self._step(step, at)

    def _step(self, name: str, at: Mark) -> None:
        if name not in self.steps:
            self._report(
                "P104",
                at,
                f"template names unknown step '{name}'",
                self.problems.near(name, self.document.steps),
            )

    def _report(self, code: str, at: Mark, message: str, hint: str) -> None:
        """Report a name that is not there; in files of other engines it may be theirs."""
        report = self.problems.warn if self.document.is_foreign else self.problems.error
        report(code, at, message, hint)

    def _secret(self, read: PathUse, at: Mark, use: Use) -> None:
        if use.on_server:
            self.problems.error(
                "P118", at, f"{use.value} cannot read the keychain: its value would be stored",
                "read secrets in the fields of a task only",
            )  # fmt: skip
        elif (
            len(read.path) > 1 and read.path[1] not in self.secrets and not self.document.is_foreign
        ):
            hint = (
                self.problems.near(read.path[1], sorted(self.secrets)) or "add it to the keychain"
            )
            self.problems.warn("P209", at, f"the keychain does not declare '{read.path[1]}'", hint)

    def _items(self, path: Path) -> set[str]:
        """Return the names of the items of the loops around a place."""
        step = self.document.playbook.workflow[int(path[1])] if path[0] == "workflow" else None
        loop = step.loop if step is not None else None
        names = set()
        while loop is not None:
            names.add(loop.iterator)
            loop = loop.loop
        return names

    def _unknown(
        self, read: PathUse, at: Mark, use: Use, known: Iterable[str], items: set[str]
    ) -> None:
        name = read.path[0]
        if (name, at.line) in self.reported:
            return
        self.reported.add((name, at.line))
        if name in self.workload:
            hint = f"write 'workload.{name}'"
        elif name in items:
            hint = f"write 'iter.{name}'"
        elif use is Use.ARC and name in _RESULTS:
            hint = "write 'event.result'"
        elif name in BUILT_IN:
            hint = f"'{name}' has no meaning in {use.value}"
        else:
            near = self.problems.near(name, known)
            hint = (
                near
                if near.startswith("did you mean")
                else f"write 'workload.{name}' or 'ctx.{name}', or give it a 'default'"
            )
        softer = read.optional or self.document.is_foreign
        report = self.problems.warn if softer else self.problems.error
        report("P205", at, f"nothing provides the name '{name}' here", hint)

    def _place(self, path: Path, text: str, offset: int) -> Mark:
        """Find a fault inside a template: the same word, as often as it stands before, from where the text begins.

        So folded, quoted and block texts are all served; a word that was written with escapes is not found.
        """
        mark = self.document.at(*path)
        word = _WORD.match(text, offset)
        start = self.starts[mark.line - 1] + mark.column - 1 if mark.line <= len(self.starts) else 0
        for _ in range(text.count(word[0], 0, offset) + 1 if word else 0):
            assert word is not None
            start = self.document.text.find(word[0], start) + 1
            if start == 0:
                return mark
        if not word:
            return mark
        row = bisect_right(self.starts, start - 1)
        return Mark(row, start - self.starts[row - 1])
