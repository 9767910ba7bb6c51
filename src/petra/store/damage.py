"""What SQLite says of a file that it cannot work with any more, in words of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import apsw

KINDS: Final = (
    apsw.IOError,
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.CantOpenError,
    apsw.ReadOnlyError,
)


def words(path: Path, error: apsw.Error) -> str:
    """Say what is wrong with a file, and the next move."""
    if isinstance(error, apsw.NotADBError):
        return f"{path} is no database of SQLite; put a copy in its place, or choose another --home"
    return (
        f"{path} cannot be trusted any more ({error}); end this process, look at the disk, start again:"
        " whatever was acknowledged is in the log"
    )
