"""Work items as stores list them: the orders of lists, and the cursors that go on behind one of them.

Rule 1: an order ends with execution and id, so that no two work items stand at the same place.
Rule 2: what has no due date comes after all that have one.
Rule 3: a cursor is of one order; another order does not take it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from petra.store.judge import read_cursor, write_cursor
from petra.store.rows import ItemSort, Row, WorkItemRow

NEVER: Final = 1e300
"""When that is due which has no due date, as cursors say it: JSON has no infinity."""
_AGE: Final = ("created", "execution", "id")
_KEYS: Final[dict[ItemSort, tuple[str, ...]]] = {
    "priority": ("priority", *_AGE),
    "due": ("due", "priority", *_AGE),
    "age": _AGE,
    "newest": _AGE,
}
_Priority = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""What a database takes for a number at all."""
_CURSORS: Final[dict[ItemSort, Any]] = {
    "priority": tuple[_Priority, float, str, str],
    "due": tuple[Literal["due"], float, _Priority, float, str, str],
    "age": tuple[Literal["age"], float, str, str],
    "newest": tuple[Literal["newest"], float, str, str],
}

Place = tuple[Any, ...]
"""Where a work item stands: what its order compares."""


class ItemOrder(Row, frozen=True):
    """An order of work items."""

    sort: ItemSort

    @property
    def descending(self) -> bool:
        """Whether what is greater comes first."""
        return self.sort == "newest"

    def place(self, item: WorkItemRow) -> Place:
        """Return where a work item stands."""
        due = NEVER if item.due is None else item.due
        return tuple(due if key == "due" else getattr(item, key) for key in _KEYS[self.sort])

    def is_behind(self, item: WorkItemRow, last: Place) -> bool:
        """Tell whether a work item comes after a place."""
        place = self.place(item)
        return place < last if self.descending else place > last

    def cursor(self, item: WorkItemRow) -> str:
        """Return a cursor that goes on behind a work item."""
        place = self.place(item)
        return write_cursor(*(place if self.sort == "priority" else (self.sort, *place)))

    def read(self, cursor: str) -> Place:
        """Return the place that a cursor goes on behind.

        Raises:
            MalformedError: it is none of this order.
        """
        place: Place = read_cursor(cursor, _CURSORS[self.sort])
        return place if self.sort == "priority" else place[1:]

    # In SQL, of both dialects

    @property
    def columns(self) -> list[str]:
        """Return what is compared."""
        return [f"coalesce(due, {NEVER})" if key == "due" else key for key in _KEYS[self.sort]]

    @property
    def sql(self) -> str:
        """Return what stands behind ORDER BY."""
        end = " DESC" if self.descending else ""
        return ", ".join(f"{column}{end}" for column in self.columns)

    def behind(self, marks: list[str]) -> str:
        """Return the condition that a row comes after the place whose values the marks stand for."""
        than = "<" if self.descending else ">"
        return f"({', '.join(self.columns)}) {than} ({', '.join(marks)})"


def order_of(sort: ItemSort) -> ItemOrder:
    """Return an order."""
    return ItemOrder(sort=sort)


def stored_item(row: Sequence[Any], names: Callable[[Any], tuple[str, ...]]) -> WorkItemRow:
    """Return a work item as it was stored; ``names`` reads a column with those of people."""
    return WorkItemRow(
        id=row[0],
        execution=row[1],
        step=row[2],
        state=row[3],
        created=row[4],
        updated=row[5],
        title=row[6],
        users=names(row[7]),
        roles=names(row[8]),
        excluded=names(row[9]),
        holder=row[10],
        priority=row[11],
        due=row[12],
        body=row[13],
        namespace=row[14],
    )
