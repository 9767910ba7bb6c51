"""What goes with what in a case: a key that could have no effect where it stands is a mistake (S1, S21)."""

from __future__ import annotations

from typing import Any

from petra.playbook.problems import Mark, Problems
from petra.playbook.tree import Map, Seq, Tree
from petra.testing.words import (
    ACTS,
    ON_EXECUTION,
    TRIGGERS,
    Decided,
    GroupChange,
    Happening,
    OnItem,
    TestCase,
)

_NEEDED = (
    *TRIGGERS,
    "signal",
    "patch_ctx",
    "group",
    "override",
    "delegate",
    "reassign",
    "save",
    "comment",
)
"""What must have a value; any other act may stand alone."""
_WHICH = ("item", "step")
_OUTCOMES = ("ok", "error", "run", "crash")
_CHANGES = ("add", "close", "cancel", "complete")


class Sense:
    """Looks at one case after the other."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def prepare(self, cases: Seq) -> None:
        """Write an act that stands alone as ``true``, so that it is not taken for an absent one."""
        for case in cases:
            for item in _list(case.get("world") if isinstance(case, Map) else None):
                for word in ACTS if isinstance(item, Map) else ():
                    if word in item and item[word] is None and word not in _NEEDED:
                        item[word] = True

    def check(self, node: Map, case: TestCase) -> None:
        """Report whatever could have no effect, or contradicts itself."""
        world = node.get("world")
        for number, (item, happening) in enumerate(
            zip(_list(world), case.world or (), strict=False)
        ):
            if isinstance(world, Seq) and isinstance(item, Map):
                self._happening(item, happening, world.item_at(number))
        tools = node.get("tools")
        if isinstance(tools, Map):
            for key, script in tools.items():
                self._scripts(script, tools.value_at(key))

    # The world

    def _happening(self, item: Map, happening: Happening, at: Mark) -> None:
        for key in (key for key in _NEEDED if key in item and item[key] is None):
            self._problems.error("P103", item.key_at(key), f"'{key}' has no value", "give it one")
        self._one_of(
            item, TRIGGERS, at, "say when: exactly one of 'at_s', 'when_open', 'when_waiting'"
        )
        acts = [word for word in ACTS if item.get(word) is not None]
        if len(acts) != 1:
            words = "say what: exactly one act"
            self._problems.error("P122", at, words, "one of " + ", ".join(ACTS))
            return
        self._not_false(item, acts)
        self._act(item[acts[0]], getattr(happening, acts[0]), item.value_at(acts[0]))
        if acts[0] in ON_EXECUTION:
            self._without_effect(item, ("roles", *_WHICH), f"'{acts[0]}' is about the execution")
        elif happening.who is None:
            self._without_effect(item, ("roles",), "an administrator acts; say who with 'as'")
        self._which(item, acts[0])

    def _act(self, body: Tree, value: Any, at: Mark) -> None:
        """Look into what is said about an act."""
        if isinstance(value, GroupChange) and isinstance(body, Map):
            self._one_of(
                body, _CHANGES, at, "say what changes: exactly one of " + ", ".join(_CHANGES)
            )
            self._not_false(body, ("close", "cancel", "complete"))
        if isinstance(value, Decided) and isinstance(body, Map) and "error" in body:
            self._without_effect(body, ("ok",), "a step that failed has no result")
        if (
            isinstance(body, Map)
            and isinstance(value, OnItem)
            and "step" in body
            and "item" in body
        ):
            self._without_effect(body, ("step",), "'item' says which")

    def _which(self, item: Map, act: str) -> None:
        """Report a work item that is named twice, or where the trigger names it."""
        body = item.get(act)
        holders = [item, *([body] if isinstance(body, Map) and act not in ON_EXECUTION else [])]
        for holder in holders if act not in ("save", "comment") else [item]:
            if "when_open" in item:
                self._without_effect(holder, _WHICH, "'when_open' says which")
            elif holder is not item and any(word in item for word in _WHICH):
                self._without_effect(holder, _WHICH, "it is said beside the act already")
        if "item" in item:
            self._without_effect(item, ("step",), "'item' says which")

    # Scripts

    def _scripts(self, node: Tree, at: Mark) -> None:
        if isinstance(node, Seq):
            if not node:
                self._problems.error("P103", at, "the script is empty", "add what a try comes to")
            for number, entry in enumerate(node):
                self._script(entry, node.item_at(number))
        else:
            self._script(node, at)

    def _script(self, entry: Tree, at: Mark) -> None:
        if isinstance(entry, Map):
            self._one_of(
                entry, _OUTCOMES, at, "a script needs exactly one of " + ", ".join(_OUTCOMES)
            )
            self._not_false(entry, ("crash",))

    # Findings

    def _one_of(self, node: Map, words: tuple[str, ...], at: Mark, message: str) -> None:
        if sum(word in node for word in words) != 1:
            self._problems.error("P122", at, message, "")

    def _not_false(self, node: Map, words: Any) -> None:
        for word in words:
            if node.get(word) is False:
                self._problems.error(
                    "P106", node.value_at(word), f"'{word}: false' does nothing", "remove it"
                )

    def _without_effect(self, node: Map, words: tuple[str, ...], why: str) -> None:
        for word in words:
            if word in node:
                self._problems.error(
                    "P215", node.key_at(word), f"'{word}' has no effect here: {why}", "remove it"
                )


def _list(node: Tree) -> list[Any]:
    return node if isinstance(node, Seq) else []
