"""``petra`` as a forked program that has an application laid out (``forks.SERVER``): that is nearly all of a server's start.

It is what the server makes anew when it is not forked: of the same prefix, of the same version, and of nobody's service.
"""

from __future__ import annotations

from litestar import Litestar

from petra import __version__, cli
from petra.server import app

_PREFIX = ""
_laid_out = app.laid_out
_ready = _laid_out(_PREFIX, __version__)


def laid_out(prefix: str, version: str) -> Litestar:
    """Give the application that is there to the one server of this process, and make any other."""
    if (prefix, version) == (_PREFIX, __version__):
        assert not hasattr(_ready.state, "service"), "a process has one server"
        return _ready
    return _laid_out(prefix, version)


def main() -> None:
    app.laid_out = laid_out
    cli.main()
