"""What can go wrong in a store, by what the caller does next.

```
StoreError
├── HeldError         another process has the file: stop it, or only read
├── LossError         what had been stored is not there: bring it back, or accept that it is lost
├── SchemaError       the schema is not the one this code was written for: migrate, or upgrade Petra
├── FullError         no space left: nothing of the batch is stored, reading goes on
├── UnavailableError  the database cannot be reached: nothing of the batch is stored, try again later
├── UncertainError    the batch may be stored or not: commit the very same batch again to find out
└── BrokenError       the disk lied or a file is damaged: end the process and start anew from the log
```

``UncertainError`` and ``BrokenError`` are the only ones after which a batch may have happened.
"""

from __future__ import annotations

from petra.errors import PetraError


class StoreError(PetraError):
    """A store could not do what was asked of it."""


class HeldError(StoreError):
    """Another process owns the store."""


class LossError(StoreError):
    """The store holds less than it did; nobody goes on from there without saying so."""


class SchemaError(StoreError):
    """The schema of the store and the code do not fit."""


class FullError(StoreError):
    """There is no space left; nothing was stored."""


class UnavailableError(StoreError):
    """The store cannot be reached; nothing was stored."""


class UncertainError(StoreError):
    """Nobody knows whether the batch was stored; committing it again tells."""


class BrokenError(StoreError):
    """The store cannot be trusted any more; this process must not use it again."""
