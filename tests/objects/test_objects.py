"""Large results: durable before they are referred to, verified when read, gone with their execution."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import obstore
import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import S3Store
from support.attempts import bad, good, run
from support.aws import new_bucket

import petra
from petra.errors import ObjectError, UsageError
from petra.objects import (
    ExecutionObjects,
    LocalObjects,
    ObjectStore,
    Reference,
    is_reference,
    open_objects,
)
from petra.objects.base import encode
from petra.objects.bucket import BucketObjects

T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """A store, and ways to damage what it keeps."""

    objects: ObjectStore
    write: Callable[[str, bytes], object]
    remove: Callable[[str], object]
    keys: Callable[[], set[str]]


def local(folder: Path) -> Place:
    return Place(
        LocalObjects(folder),
        lambda key, content: (folder / key).write_bytes(content),
        lambda key: (folder / key).unlink(),
        lambda: {str(path.relative_to(folder)) for path in folder.rglob("*.*")},
    )


def s3(address: str, bucket: str) -> Place:
    new_bucket(address, bucket)
    store = S3Store(
        bucket,
        endpoint=address,
        access_key_id="test",
        secret_access_key="test",
        region="us-east-1",
        client_options={"allow_http": True},
    )
    return Place(
        BucketObjects(store),
        lambda key, content: obstore.put(store, key, content),
        lambda key: obstore.delete(store, key),
        lambda: {item["path"] for chunk in obstore.list(store) for item in chunk},
    )


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "local":
        return local(tmp_path)
    return s3(request.getfixturevalue("aws_address"), f"b{abs(hash(request.node.name)) % 10**9}")


def wait(awaitable: Awaitable[T]) -> T:
    async def inside() -> T:
        return await awaitable

    return asyncio.run(inside())


def kind_of(awaitable: Awaitable[Any]) -> str:
    with pytest.raises(ObjectError) as caught:
        wait(awaitable)
    return caught.value.kind


def changed(reference: Reference, **parts: Any) -> Reference:
    return Reference(**{**reference.as_data(), **parts})


@pytest.mark.spec("S18")
@pytest.mark.parametrize("value", [{"a": [1, 2.5, "é", None]}, [], "text", 7, b"\0\xff", b""])
def test_what_is_stored_is_read_back(place: Place, value: Any) -> None:
    reference = wait(place.objects.put("e1", value, schema_hint="thing"))
    assert wait(place.objects.get(reference)) == value
    assert reference.schema_hint == "thing"
    assert is_reference(reference.as_data())


@pytest.mark.spec("S18")
def test_equal_values_of_an_execution_are_one_object(place: Place) -> None:
    first = wait(place.objects.put("e1", {"a": 1, "b": 2}))
    assert wait(place.objects.put("e1", {"b": 2, "a": 1})) == first
    assert place.keys() == {first.key}


@pytest.mark.spec("S18")
def test_a_missing_object_is_not_found(place: Place) -> None:
    reference = wait(place.objects.put("e1", [1]))
    place.remove(reference.key)
    assert kind_of(place.objects.get(reference)) == "not_found"


@pytest.mark.spec("S18")
@pytest.mark.parametrize("content", [b"", b"[2]", b"[1", b"[1]x" * 1000])
@pytest.mark.parametrize("value", [[1], b""])
def test_a_damaged_object_is_never_returned(place: Place, value: Any, content: bytes) -> None:
    if value == content:
        return
    reference = wait(place.objects.put("e1", value))
    place.write(reference.key, content)
    assert kind_of(place.objects.get(reference)) == "parse"


@pytest.mark.spec("S18")
@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ({"size": 4}, "parse"),
        ({"size": -1}, "parse"),
        ({"checksum": "0" * 64}, "parse"),
        ({"store": "elsewhere"}, "not_found"),
        ({"key": "../../etc/passwd"}, "parse"),
        ({"key": "/etc/passwd"}, "parse"),
        ({"key": f"../{'0' * 64}.json"}, "parse"),
        ({"key": f"e1/{'0' * 64}.json"}, "not_found"),
    ],
)
def test_a_forged_reference_leads_nowhere(place: Place, parts: dict[str, Any], kind: str) -> None:
    reference = wait(place.objects.put("e1", [1]))
    assert kind_of(place.objects.get(changed(reference, **parts))) == kind


@pytest.mark.spec("S18")
def test_an_execution_takes_its_objects_with_it_and_no_others(place: Place) -> None:
    for value in range(3):
        wait(place.objects.put("e1", value))
    kept = wait(place.objects.put("e11", 0))
    assert wait(place.objects.remove("e1")) == 3
    assert place.keys() == {kept.key}
    assert wait(place.objects.remove("e1")) == 0


@pytest.mark.spec("S18")
@pytest.mark.parametrize("execution", ["", "..", "a/b", "/", "a\0b", "x" * 500])
def test_an_execution_id_cannot_lead_out_of_the_store(place: Place, execution: str) -> None:
    assert kind_of(place.objects.put(execution, 1)) == "client_error"
    assert kind_of(place.objects.remove(execution)) == "client_error"


def test_a_store_that_does_not_answer_is_a_connection_error() -> None:
    bucket = S3Store(
        "b",
        endpoint="http://127.0.0.1:1",
        access_key_id="a",
        secret_access_key="b",
        region="us-east-1",
        client_options={"allow_http": True, "connect_timeout": "1s"},
        retry_config={"max_retries": 0},
    )
    assert kind_of(BucketObjects(bucket).put("e1", 1)) == "connection"


@pytest.mark.spec("S18")
def test_content_and_folder_are_synced_before_the_reference_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, rename = os.fsync, Path.rename

    def synced(handle: int) -> None:
        steps.append("folder" if Path(f"/proc/self/fd/{handle}").resolve().is_dir() else "file")
        sync(handle)

    def renamed(path: Path, to: Path) -> Path:
        steps.append("rename")
        return rename(path, to)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    wait(LocalObjects(tmp_path).put("e1", [1]))
    assert steps == ["file", "rename", "folder", "folder"]


@pytest.mark.spec("S18")
def test_a_disk_that_fails_leaves_no_object_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert kind_of(LocalObjects(tmp_path).put("e1", [1])) == "quota"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.spec("S18")
def test_lists_are_joined_into_one_object_as_if_it_had_been_stored_whole(place: Place) -> None:
    async def joined() -> None:
        objects = place.objects
        pieces = [await objects.put("e1", piece) for piece in ([1, {"a": 2}], [], ["x"])]
        whole = await objects.join("e1", pieces)
        assert await objects.get(whole) == [1, {"a": 2}, "x"]
        assert whole == await objects.put("e1", [1, {"a": 2}, "x"])
        assert await objects.get(await objects.join("e1", [])) == []
        for wrong in (await objects.put("e1", {"a": 1}), changed(pieces[0], size=3)):
            with pytest.raises(ObjectError, match=r"list|bytes"):
                await objects.join("e1", [pieces[0], wrong])

    wait(joined())


# The view of one execution


@pytest.mark.spec("S18", "S16")
def test_an_execution_reads_its_own_objects_and_those_it_inherits(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    parents = wait(ExecutionObjects(objects, "parent").put([1]))
    assert kind_of(ExecutionObjects(objects, "child").get(parents)) == "denied"
    inheriting = ExecutionObjects(objects, "child", readable=frozenset({"parent"}))
    assert wait(inheriting.get(parents)) == [1]


@pytest.mark.spec("S18")
@pytest.mark.parametrize(
    "value", [{}, [], "x", {"store": "s", "key": "k", "checksum": "c", "size": 1}]
)
def test_other_values_are_no_references(value: Any) -> None:
    assert not is_reference(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip


@pytest.mark.spec("S18")
@given(value=JSON)
def test_any_json_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    view = ExecutionObjects(LocalObjects(tmp_path_factory.getbasetemp() / "any"), "e1")
    assert wait(view.get(wait(view.put(value)))) == value


# The tool


@pytest.mark.spec("S18", "S22")
def test_an_artifact_is_put_and_got_by_reference(tmp_path: Path) -> None:
    view = ExecutionObjects(LocalObjects(tmp_path), "e1")
    put = {"action": "put", "value": {"a": 1}, "schema_hint": "order"}
    reference = good(run("artifact", put, objects=view))
    assert reference["schema_hint"] == "order"
    assert good(run("artifact", {"action": "get", "ref": reference}, objects=view)) == {"a": 1}


@pytest.mark.spec("S18")
@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"action": "get"}, "client_error"),
        ({"action": "sell"}, "schema"),
        (
            {
                "action": "get",
                "ref": {
                    "store": "local",
                    "key": f"e1/{'0' * 64}.json",
                    "checksum": "0" * 64,
                    "size": 1,
                },
            },
            "not_found",
        ),
    ],
)
def test_a_broken_reference_is_an_error_outcome(
    tmp_path: Path, fields: dict[str, Any], kind: str
) -> None:
    view = ExecutionObjects(LocalObjects(tmp_path), "e1")
    assert bad(run("artifact", fields, objects=view)).kind == kind


@pytest.mark.spec("S18")
@pytest.mark.parametrize("value", [{"a": 1}, "key", [1, 2]])
def test_a_value_that_is_small_enough_to_have_no_reference_is_read_as_itself(
    tmp_path: Path, value: Any
) -> None:
    view = ExecutionObjects(LocalObjects(tmp_path), "e1")
    assert good(run("artifact", {"action": "get", "ref": value}, objects=view)) == value


def test_a_worker_without_a_store_says_so() -> None:
    assert bad(run("artifact", {"action": "put", "value": 1})).kind == "client_error"


@pytest.mark.spec("S18")
def test_a_file_is_stored_and_read_block_by_block(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "given"
    content = bytes(range(256)) * 10_000
    file.write_bytes(content)

    async def scenario() -> None:
        mine = ExecutionObjects(place.objects, "e1")
        stored = await mine.put_file(file, schema_hint="image/png")
        file.unlink()
        assert (stored["size"], stored["schema_hint"]) == (len(content), "image/png")
        assert stored["key"].endswith(".bin")
        assert await mine.get(stored) == content
        blocks = [block async for block in mine.blocks(stored)]
        assert b"".join(blocks) == content
        with pytest.raises(ObjectError, match="another execution"):
            [block async for block in ExecutionObjects(place.objects, "e2").blocks(stored)]
        with pytest.raises(ObjectError, match="no file"):
            [block async for block in mine.blocks({**stored, "path": ["a"]})]
        place.write(stored["key"], b"damaged")
        with pytest.raises(ObjectError, match="not what was stored"):
            [block async for block in mine.blocks(stored)]

    asyncio.run(scenario())


@pytest.mark.spec("S18")
def test_a_file_is_kept_under_the_key_that_its_content_has_and_under_no_other(
    place: Place, tmp_path: Path
) -> None:
    key, checksum, content = encode("e1", [1, 2, 3])
    file, other = tmp_path / "given", tmp_path / "other"
    file.write_bytes(content)
    other.write_bytes(b"[1]")
    wait(place.objects.keep(key, file))
    stored = Reference(store=place.objects.name, key=key, checksum=checksum, size=len(content))
    assert wait(place.objects.get(stored)) == [1, 2, 3]
    assert kind_of(place.objects.keep(f"e1/{'0' * 64}.json", other)) == "parse"
    assert kind_of(place.objects.keep("../e1/x.json", other)) == "parse"


LARGE = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: large}
workflow:
  - step: make
    tool: {kind: python, code: "result = ['row'] * 100000"}
    next: {arcs: [{step: count}]}
  - step: count
    tool: {kind: python, args: {rows: "{{ make }}"}, code: "result = len(rows)"}
"""


@pytest.mark.slow
def test_large_results_of_an_engine_and_its_worker_go_to_the_bucket_that_the_environment_names(
    aws: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = s3(aws, "for-an-engine")
    monkeypatch.setenv("PETRA_OBJECTS", "s3://for-an-engine/some/where")
    (tmp_path / "large.yaml").write_text(LARGE)
    result = petra.run(tmp_path / "large.yaml", home=tmp_path / "home")
    assert (result.status, result.output) == ("completed", 100_000)
    stored = bucket.keys()
    assert {key.partition(result.id)[0] for key in stored} == {"some/where/"}
    assert not (tmp_path / "home" / "objects").exists()


@pytest.mark.parametrize("address", ["ftp://somewhere", "s4://bucket"])
def test_an_address_that_is_none_is_refused_with_those_there_are(address: str) -> None:
    with pytest.raises(UsageError, match="s3://bucket, gs://bucket or az://container"):
        open_objects(address)


def test_google_and_azure_are_opened_by_their_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "ours")
    for scheme in ("s3", "gs", "az"):
        assert open_objects(f"{scheme}://bucket/prefix").name == scheme
