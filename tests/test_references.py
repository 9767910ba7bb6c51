"""What a reference is, and how one is looked through (S18)."""

from __future__ import annotations

from typing import Any

import pytest

from petra.errors import UnreadableError
from petra.references import (
    Followed,
    NeededError,
    Reference,
    is_reference,
    part_of,
    read_reference,
    walk,
)

pytestmark = pytest.mark.spec("S18")

WHOLE: dict[str, Any] = Reference(
    store="local", key=f"e1/{'0' * 64}.json", checksum="0" * 64, size=9
).as_data()


def test_a_whole_reference_has_no_path_in_its_data() -> None:
    assert "path" not in WHOLE
    assert read_reference(WHOLE).execution == "e1"


def test_a_part_of_a_reference_is_the_same_reference_with_a_path() -> None:
    part = part_of(part_of(WHOLE, "rows"), 3, "id")
    assert part == {**WHOLE, "path": ["rows", 3, "id"]}
    assert is_reference(part)
    assert read_reference(part).as_data() == part


@pytest.mark.parametrize("path", ["rows", [1.5], [None], [True], [["a"]], ["a"] * 65, None])
def test_a_path_is_keys_and_indices(path: object) -> None:
    assert not is_reference({**WHOLE, "path": path})


def test_a_path_leads_into_the_object() -> None:
    found = {"rows": [{"id": 7}, {"id": 8}]}
    assert walk(part_of(WHOLE, "rows", 1, "id"), found) == 8
    assert walk(WHOLE, found) is found


@pytest.mark.parametrize("path", [["gone"], ["rows", 2], ["rows", "id"], ["rows", 0, "id", "x"]])
def test_a_path_that_leads_nowhere_is_unreadable(path: list[str | int]) -> None:
    with pytest.raises(UnreadableError, match="has nothing at"):
        walk({**WHOLE, "path": path}, {"rows": [{"id": 7}]})


def test_what_was_not_brought_is_asked_for_and_what_was_is_walked() -> None:
    followed = Followed()
    part = part_of(WHOLE, "rows")
    with pytest.raises(NeededError) as needed:
        followed(part)
    followed.put(needed.value.reference, {"rows": [1, 2]})
    assert followed(part) == [1, 2]
    assert followed(WHOLE) == {"rows": [1, 2]}
    assert followed({"rows": 1}) == {"rows": 1}


def test_what_could_not_be_read_is_an_error_until_it_is_tried_again() -> None:
    followed = Followed()
    followed.put(WHOLE, UnreadableError("not_found", "gone"))
    with pytest.raises(UnreadableError, match="gone"):
        followed(WHOLE)
    followed.try_again()
    with pytest.raises(NeededError):
        followed(WHOLE)
