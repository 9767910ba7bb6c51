"""What tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli.processes import end_what_is_left
from click.testing import CliRunner, Result

from petra.cli import petra

Command = Callable[..., Result]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run ``petra`` in an empty folder; an exception is an exception of the test."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, typed: str | None = None) -> Result:
        result = CliRunner().invoke(petra, arguments, input=typed)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    yield
    end_what_is_left()
