"""Cursors of lists of work items."""

from __future__ import annotations

import base64
import json

import pytest

from petra.errors import MalformedError
from petra.store.item_order import order_of


def cursor(*parts: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


@pytest.mark.parametrize("priority", [2**63, -(2**63) - 1, 10**30])
def test_a_cursor_with_a_number_that_no_database_takes_is_none(priority: int) -> None:
    with pytest.raises(MalformedError, match="is not a cursor of this list"):
        order_of("priority").read(cursor(priority, 1.0, "e", "i"))
    with pytest.raises(MalformedError, match="is not a cursor of this list"):
        order_of("due").read(cursor("due", 1.0, priority, 1.0, "e", "i"))
    assert order_of("priority").read(cursor(7, 1.0, "e", "i")) == (7, 1.0, "e", "i")
