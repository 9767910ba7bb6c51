"""Secrets are compared in a time that tells nothing of them: by a function made for that, or by a key that is a hash."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from petra.accounts.attempts import PER_ACCOUNT, PER_ADDRESS, Attempts, TooManyError

SECRET = ("token", "secret", "password", "csrf", "cookie", "mac", "seal", "signature")
PLACES = ("accounts", "server", "notify", "triggers")


def compared(path: Path) -> Iterator[str]:
    """Yield names like those of secrets that a file compares with == or !=, other than with what is written down."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Compare):
            continue
        if not all(isinstance(one, ast.Eq | ast.NotEq) for one in node.ops):
            continue
        sides = [node.left, *node.comparators]
        if any(isinstance(side, ast.Constant) for side in sides):
            continue
        names = [side.attr if isinstance(side, ast.Attribute) else getattr(side, "id", "") for side in sides]  # fmt: skip
        yield from (f"{path.name}:{node.lineno} {name}" for name in names if name in SECRET)


def test_no_secret_is_compared_byte_by_byte(root: Path) -> None:
    files = [path for place in PLACES for path in (root / "src/petra" / place).rglob("*.py")]
    assert files
    assert [found for path in files for found in compared(path)] == []


def test_such_a_comparison_would_be_found(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text("def f(given, token):\n    return given == token\n")
    assert list(compared(file)) == ["bad.py:2 token"]


class _Still:
    def monotonic(self) -> float:
        return 0.0


@pytest.mark.parametrize("names", [1, 1_000], ids=["one account", "many accounts"])
def test_of_a_thousand_attempts_few_get_to_a_password(names: int) -> None:
    attempts, looked_at = Attempts(_Still()), 0  # type: ignore[arg-type]
    for number in range(1_000):
        try:
            attempts.count(f"user{number % names}", "198.51.100.7")
        except TooManyError:
            continue
        looked_at += 1
    assert looked_at == (PER_ACCOUNT if names == 1 else PER_ADDRESS)
