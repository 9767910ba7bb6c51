"""The cases of a file ``S08.test.yaml`` carry rule S8; each name is the claim that its case checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        rule = re.match(r"S(\d\d)", item.path.name)
        if rule and item.path.parent == HERE:
            item.add_marker(pytest.mark.spec(f"S{int(rule[1])}"))
