"""Numbers: a field that takes one, or a template that gives one, takes no other text."""

from __future__ import annotations

from petra.playbook.checks.document import Document
from petra.playbook.durations import as_seconds


def check_numbers(document: Document) -> None:
    """Check every text that stands where a number belongs.

    Files of another engine are taken as they are: they may have a time with its unit in a step that never runs.
    """
    if document.is_foreign:
        return
    for leaf in document.leaves:
        text = leaf.value
        if (
            not leaf.facts.get("number")
            or not isinstance(text, str)
            or "{{" in text
            or "{%" in text
        ):
            continue
        try:
            float(text)
        except ValueError:
            words = f"'{leaf.path[-1]}' cannot be '{text}'"
            hint = as_seconds(text) or "write a number, or a template that gives one"
            document.problems.error("P106", document.at(*leaf.path), words, hint)
