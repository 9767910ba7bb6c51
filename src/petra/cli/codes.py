"""The page of a code: how a problem comes about, and how to mend it.

The pages are those under docs/reference/errors; they come with the package.
"""

from __future__ import annotations

import re
from importlib.resources import files

import click

from petra.cli.output import folded, print_json, print_text
from petra.playbook.codes import CODES

_CODE = re.compile(r"[Pp]\d+\Z")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def is_code(word: str) -> bool:
    """Whether a word looks like a code of a problem; no execution has such an id."""
    return _CODE.match(word) is not None


def explain_code(code: str, output: str) -> None:
    """Print the page of a code.

    Raises:
        UsageError: there is no such code; the message names the nearest.
    """
    code = code.upper()
    if code not in CODES:
        near = min(CODES, key=lambda known: (abs(int(known[1:]) - int(code[1:])), known))
        raise click.UsageError(
            f"there is no code '{code}'; the nearest is {near}: {CODES[near]}", ctx=None
        )
    page = (files("petra") / "pages" / f"{code}.md").read_text("utf-8")
    if output == "json":
        print_json({"code": code, "title": CODES[code], "page": page})
        return
    print_text(_for_reading(page))


def _for_reading(page: str) -> str:
    """Return a page as one reads it on a terminal: paragraphs in its width, playbooks as they are."""
    shown: list[str] = []
    paragraph: list[str] = []
    in_fence = False
    for line in [*page.rstrip().split("\n"), ""]:
        is_fence = line.startswith("```")
        if not in_fence and not is_fence and line and not line.startswith(("#", "|", "- ")):
            paragraph.append(line)
            continue
        if paragraph:
            shown.append(folded(_LINK.sub(r"\1", " ".join(paragraph)), hang=""))
            paragraph = []
        if is_fence:
            in_fence = not in_fence
        elif in_fence:
            shown.append(f"    {line}".rstrip())
        else:
            shown.append(_LINK.sub(r"\1", line.lstrip("# ")) if line.startswith("#") else line)
    return "\n".join(shown).rstrip()
