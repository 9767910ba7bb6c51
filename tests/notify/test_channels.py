"""notify.yaml: what is wrong in it is said with its place, before anything is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from petra.errors import UsageError
from petra.notify import read_notify
from petra.notify.channels import notify_schema
from petra.playbook.decode import plain
from petra.playbook.problems import Problems
from petra.playbook.yaml12 import parse

GOOD = """\
apiVersion: petra/v1
kind: Notify
url: https://petra.example.org
channels:
  ops: {kind: slack, url_secret: slack-address}
  audit: {kind: webhook, url: https://audit.example.org/in, secret: audit-key, per_minute: 30}
  mail:
    kind: email
    host: smtp.example.org
    from: Petra <petra@example.org>
    username: petra
    password: smtp
    people: {ada: ada@example.org}
    roles: {finance: [ada]}
    digest_s: 300
rules:
  - on: [failed, stuck]
    to: [ops]
    playbook: billing/*
    title: "{{ execution.playbook }} {{ event.about }}"
  - {on: [offered, reminder, escalated], to: [mail]}
"""


def test_channels_and_rules_are_read(tmp_path: Path) -> None:
    file = tmp_path / "notify.yaml"
    file.write_text(GOOD)
    found = read_notify(file)
    assert list(found.channels) == ["ops", "audit", "mail"]
    assert found.channels["mail"].sender == "Petra <petra@example.org>"
    assert found.rules[0].playbook == "billing/*"
    assert read_notify(tmp_path / "none.yaml").channels == {}


def test_the_schema_takes_what_is_read_and_refuses_what_is_not() -> None:
    validator = Draft202012Validator(notify_schema())
    good = yaml(GOOD)
    assert list(validator.iter_errors(good)) == []
    good["channels"]["ops"]["kind"] = "slak"
    assert list(validator.iter_errors(good))


def yaml(text: str) -> Any:
    return plain(parse(text, Problems()))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("url_secret: slack-address", "", "5:3: channel 'ops': it needs one address"),
        ("per_minute: 30", "per_minit: 30", "unknown key 'per_minit'; did you mean 'per_minute'?"),
        ("kind: slack", "kind: slak", "5:15:"),
        ("host: smtp.example.org", "", "7:3: channel 'mail': it has no 'host'; add 'host:'"),
        ("digest_s: 300", "tls: none", "a password would go unencrypted"),
        ("to: [ops]", "to: [opps]", "there is no channel 'opps'; did you mean 'ops'?"),
        ("[failed, stuck]", "[failed, stucck]", "'stucck'"),
        ("event.about }}", "event.about }", "rule 1:"),
        ("kind: Notify", "kind: Notifi", "2:7:"),
        ("channels:", "- x", "notify.yaml:"),
        ("secret: audit-key", "secret: audit-key, timeout_s: 0", "timeout_s"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    file = tmp_path / "notify.yaml"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        read_notify(file)
    assert said in str(caught.value)
