"""States that can be compared."""

from __future__ import annotations

from typing import Any

import msgspec

from petra.kernel import State


def as_data(state: State) -> Any:
    """Return a state as plain data, its sets in order."""
    return msgspec.to_builtins(state, builtin_types=(set,), enc_hook=_plain, str_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, set):
        return sorted(value)
    raise NotImplementedError(type(value))
