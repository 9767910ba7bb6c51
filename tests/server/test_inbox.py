"""The inbox over HTTP: what of it is wanted, in which order, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest
from server.conftest import serve

pytestmark = pytest.mark.spec("S14")

BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {{name: {name}, path: inbox/{name}-book}}
workload: {{title: "", due: null, priority: 0}}
workflow:
  - step: decide
    tool:
      kind: human
      title: "{{{{ workload.title }}}}"
      due_s: "{{{{ workload.due }}}}"
      priority: "{{{{ workload.priority }}}}"
"""
DAY_S = 86_400
ASKED = (
    ("bills", "Pay 12 500?", 10 * DAY_S, 3),
    ("bills", "Pay 100 %?", DAY_S // 2, 5),
    ("releases", "Release 4.2?", 3 * DAY_S, 1),
    ("releases", "Größer?", None, 4),
)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Yield a client of a server that asks four things, in this order."""
    with serve(tmp_path_factory.mktemp("inbox") / ".petra") as served, served.client() as api:
        for name in ("bills", "releases"):
            text = {"text": BOOK.format(name=name)}
            assert api.put(f"/playbooks/inbox/{name}-book", json=text).status_code == 201
        for name, title, due, priority in ASKED:
            body: dict[str, Any] = {"playbook": f"inbox/{name}-book", "workload": {"title": title, "due": due, "priority": priority}}  # fmt: skip
            begun = api.post("/executions", json=body, headers={"Prefer": "wait=60"})
            assert begun.json()["status"] == "waiting", begun.text
        yield api


def titles(api: httpx2.Client, **wanted: Any) -> list[str]:
    """Return what is asked, taken from as many pages as there are."""
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = api.get("/work-items", params={**wanted, **cursor})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += [item["title"] for item in page["items"]]
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}


PAY, SOON, RELEASE, LARGER = (title for _, title, _, _ in ASKED)
ORDERS = {
    "priority": [RELEASE, PAY, LARGER, SOON],
    "due": [SOON, RELEASE, PAY, LARGER],
    "age": [PAY, SOON, RELEASE, LARGER],
    "newest": [LARGER, RELEASE, SOON, PAY],
}


@pytest.mark.parametrize("sort", ORDERS)
def test_the_inbox_is_listed_in_every_order_across_pages(sort: str, asked: httpx2.Client) -> None:
    for limit in (1, 3, 100):
        assert titles(asked, sort=sort, limit=limit) == ORDERS[sort]
    assert titles(asked) == ORDERS["priority"], "as it always was"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"playbook": "inbox/bills-book"}, [PAY, SOON]),
        ({"playbook": "releases"}, [RELEASE, LARGER]),
        ({"playbook": "inbox/other"}, []),
        ({"q": "PAY 1"}, [PAY, SOON]),
        ({"q": "100 %"}, [SOON]),
        ({"q": "grÖSSER"}, [LARGER]),
        ({"q": "decide", "playbook": "bills"}, [PAY, SOON]),
        ({"due": "overdue"}, []),
        ({"due": "day"}, [SOON]),
        ({"due": "week"}, [RELEASE, SOON]),
        ({"due": "none"}, [LARGER]),
        ({"due": "week", "q": "release", "playbook": "releases"}, [RELEASE]),
        ({"box": "mine", "due": "day"}, [SOON]),
        ({"box": "done", "due": "day"}, []),
    ],
)
def test_the_inbox_is_narrowed_and_counted_alike(
    wanted: dict[str, str], found: list[str], asked: httpx2.Client
) -> None:
    assert titles(asked, **wanted) == found
    narrow = {name: value for name, value in wanted.items() if name != "box"}
    counts = asked.get("/work-items/counts", params=narrow).json()
    if "box" not in wanted:
        assert counts.get("offered", 0) == len(found)


def test_due_may_be_a_time_before_which_it_is(asked: httpx2.Client) -> None:
    [release] = asked.get("/work-items", params={"q": RELEASE}).json()["items"]
    until = (datetime.fromisoformat(release["due"]) + timedelta(seconds=1)).isoformat()
    assert titles(asked, due=until, sort="due") == [SOON, RELEASE]


def test_what_is_no_due_date_no_order_and_no_cursor_of_it_is_refused(asked: httpx2.Client) -> None:
    soon = asked.get("/work-items", params={"due": "soon"})
    assert (soon.status_code, soon.json()["code"]) == (422, "invalid-input")
    assert "overdue, day, week, none" in soon.json()["detail"]
    assert asked.get("/work-items/counts", params={"due": "soon"}).status_code == 422
    assert asked.get("/work-items", params={"sort": "colour"}).status_code == 400
    page = asked.get("/work-items", params={"sort": "age", "limit": 1}).json()
    other = asked.get("/work-items", params={"sort": "newest", "cursor": page["next"]})
    assert (other.status_code, other.json()["code"]) == (422, "invalid-input")


def test_a_work_item_says_which_playbook_asks(asked: httpx2.Client) -> None:
    items = asked.get("/work-items", params={"sort": "age"}).json()["items"]
    assert [one["body"]["playbook"] for one in items] == [name for name, _, _, _ in ASKED]
