"""The pages about agents: their playbooks are good, their commands and tools are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from petra.agents.acting import ACTING
from petra.agents.reading import READING
from petra.cli import petra
from petra.playbook import read
from petra.playbook.problems import headline

ROOT = Path(__file__).parents[2]
PAGES = ("docs/how-to/let-agents-call-petra.md", "docs/how-to/use-models-and-mcp-tools.md")
FENCE = re.compile(r"^```(?P<info>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: example}
workload: {complaint: x, order: y}
keychain:
  - {name: key, kind: env, var: KEY}
  - {name: api, kind: bearer, token: key}
workflow:
"""


def fences(page: str, info: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [match["body"] for match in FENCE.finditer(text) if match["info"] == info]


@pytest.mark.parametrize("page", PAGES)
def test_playbooks_of_a_page_are_good(page: str) -> None:
    found = fences(page, "yaml")
    assert found
    for text in found:
        reading = read(text if text.startswith("apiVersion") else HEAD + text)
        assert [headline(one, page) for one in reading.problems if one.severity == "error"] == []


def test_the_commands_of_the_page_are_there() -> None:
    [config] = fences(PAGES[0], "json")
    lines = [one.split() for body in fences(PAGES[0], "") for one in body.splitlines()]
    started = json.loads(config)["mcpServers"]["petra"]
    for program, *words in [[started["command"], *started["args"]], *lines]:
        assert program == "petra"
        verbs = [word for word in words[:2] if re.fullmatch(r"[a-z]+", word)][
            : 1 + (words[0] != "mcp")
        ]
        shown = CliRunner().invoke(petra, [*verbs, "--help"])
        assert shown.exit_code == 0, shown.output
        options = [word for word in words if word.startswith("--")]
        assert [one for one in options if one not in shown.output] == []


def test_the_table_of_tools_names_all_of_them() -> None:
    page = (ROOT / PAGES[0]).read_text(encoding="utf-8")
    assert [tool.name for tool in (*READING, *ACTING) if f"`{tool.name}`" not in page] == []
