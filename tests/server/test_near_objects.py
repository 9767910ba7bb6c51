"""A worker that was given the bucket of its server stores and reads large results there; any other goes through the server."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest
from server.conftest import serve
from server.test_workers import BOOK, heard, run, worker
from support.aws import aws, aws_address, new_bucket

__all__ = ["aws", "aws_address"]
pytestmark = pytest.mark.slow


def keys_of(address: str, bucket: str) -> str:
    with urllib.request.urlopen(f"{address}/{bucket}?list-type=2") as answer:
        return str(answer.read().decode())


@pytest.mark.spec("S18")
@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("s3://large/petra", True),
        ("s3://large/petra/", True),
        ("s3://other/petra", False),
        ("", False),
    ],
    ids=["the bucket", "the bucket with a slash", "another bucket", "none"],
)
def test_large_results_go_straight_to_the_bucket_that_both_were_given(
    given: str, near: object, aws: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("large", "other"):
        new_bucket(aws, name)
    monkeypatch.setenv("PETRA_OBJECTS", "s3://large/petra")
    with serve(tmp_path / ".petra") as served:
        more = ("--objects", given) if given else ()
        with worker(served, *more) as process:
            heard(process, "works for")
            done = run(served, BOOK)
            assert done["status"] == "completed", done
            assert done["output"] == [300, process.pid]
            assert done["id"] in keys_of(aws, "large")
            assert done["id"] not in keys_of(aws, "other")
            with served.client() as api:
                metrics = api.get(f"{served.url}/metrics").text
            through = 'method="PUT"' in metrics  # nothing else puts something here
            assert through is not near
