"""The errors Petra raises on purpose.

```
PetraError
├── PlaybookError    the author's document is wrong; carries every problem found in it
├── ExpressionError  an expression could not be compiled or evaluated
├── NetError         a net, a marking or a firing was asked for what it cannot do
├── UnreadableError  something that a template or a tool reads cannot be had; has the kind of an outcome's error
│   └── ObjectError  a large result could not be stored or read
└── UsageError       a command or a call was given something it cannot use
```

Anything else that escapes is a bug in Petra. Each error says where, what and the next move.
"""

from __future__ import annotations


class PetraError(Exception):
    """The root of every deliberate error."""


class PlaybookError(PetraError):
    """The author's document is wrong."""


class ExpressionError(PetraError):
    """An expression could not be compiled or evaluated.

    ``kind`` is one of syntax, statement, unknown_filter, unknown_test, unknown_function,
    unknown_method, unknown_zone, limit, undefined, type. ``offset`` counts characters into ``source``; ``place``
    leads to that string when it stands inside a larger value.
    """

    def __init__(  # noqa: PLR0913 - all that a report needs
        self,
        message: str,
        *,
        kind: str = "type",
        offset: int | None = None,
        hint: str | None = None,
        source: str | None = None,
        place: tuple[str | int, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.offset = offset
        self.hint = hint
        self.source = source
        self.place = place

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class NetError(PetraError):
    """A net, a marking or a firing was asked for what it cannot do."""


class UnreadableError(PetraError):
    """Something that a template or a tool reads cannot be had; ``kind`` is that of an outcome's error.

    It is no fault of the template: asked again it may be there, so a policy may decide about it.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class ObjectError(UnreadableError):
    """A large result could not be stored or read."""


class UsageError(PetraError):
    """A command or a call was given something it cannot use."""


class MalformedError(UsageError):
    """What was given can never be used, however things stand: a name that is none, a number out of its bounds."""
