"""A secret cannot be shown, written or copied by anything but reveal."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from petra.keychain import Secret

CANARY = "can4ry-secret-value"


@pytest.mark.spec("S20")
def test_no_way_of_printing_shows_it() -> None:
    secret = Secret(CANARY)
    shown = [
        str(secret),
        repr(secret),
        f"{secret}",
        f"{secret!r:>40}",
        "%s" % secret,  # noqa: UP031
        "{}".format(secret),  # noqa: UP032
        str([secret]),
        str({"a": secret}),
        logging.LogRecord("n", 1, "p", 1, "%s", (secret,), None).getMessage(),
    ]
    assert all("***" in text and CANARY not in text for text in shown)
    assert not hasattr(secret, "__dict__")
    assert secret.reveal() == CANARY


@pytest.mark.spec("S20")
@pytest.mark.parametrize(
    "write",
    [json.dumps, msgspec.json.encode, msgspec.msgpack.encode, msgspec.to_builtins, pickle.dumps,
     copy.copy, copy.deepcopy],
)  # fmt: skip
@pytest.mark.parametrize("around", [lambda s: s, lambda s: {"a": [s]}])
def test_nothing_that_writes_takes_it(
    write: Callable[[Any], Any], around: Callable[[Any], Any]
) -> None:
    value = around(Secret(CANARY))
    if write is copy.copy and isinstance(value, dict):
        return  # a shallow copy of the outside does not touch it
    with pytest.raises(TypeError) as caught:
        write(value)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_secrets_are_compared_by_value_and_have_no_hash() -> None:
    assert Secret(CANARY) == Secret(CANARY)
    assert Secret(CANARY) != Secret("other")
    assert Secret({"a": 1, "b": 2}) == Secret({"b": 2, "a": 1})
    assert Secret(CANARY) != CANARY
    with pytest.raises(TypeError):
        hash(Secret(CANARY))
