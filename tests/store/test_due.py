"""Due dates that somebody looks for."""

from __future__ import annotations

import pytest

from petra.errors import MalformedError
from petra.store.due import due_of


@pytest.mark.parametrize("given", ["soon", "0001-01-01T00:00:00", "2026-13-01T00:00:00Z"])
def test_what_is_no_time_that_can_be_counted_is_refused_in_words(given: str) -> None:
    with pytest.raises(MalformedError, match="one of overdue, day, week, none, or a time"):
        due_of(given, 0.0)
