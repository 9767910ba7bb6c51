"""Secrets: a playbook names them and never holds them, since everybody may read its text (S20)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from petra.playbook.checks.document import Document
from petra.playbook.decode import Path
from petra.playbook.leaves import strings

# Settings that name the entry which has the secret.
_NAMING = ("token", "password", "key", "client_secret")
# Settings with keys of the author's own, some of which hold secrets wherever they are sent.
_FREE = ("data", "headers")
_SECRET = re.compile(
    r"(.*[_-])?(password|passwd|secret|token|authorization|api[_-]?key|assertion)", re.IGNORECASE
)
_WITH_PASSWORD = re.compile(r"\w[\w+.-]*://[^/?#@\s]*:[^/?#@\s]+@|[?&]password=[^&\s]+")
# Headers whose value is a secret, whatever they are sent to.
_SECRET_HEADER = re.compile(r"(proxy-)?authorization|(x-)?api-?key", re.IGNORECASE)
_HINT = "name an entry that has it, e.g. '- {name: its_name, kind: env, var: ITS_VARIABLE}'"

_TASK_HINT = "give the keychain an entry that has it, and name it: 'auth: its_name'"


def check_secrets(document: Document) -> None:
    """Report secrets that stand in the keychain as plain text, in every dialect, and those in the fields of tasks."""
    names = {credential.name for credential in document.playbook.keychain}
    for index, credential in enumerate(document.playbook.keychain):
        for place, setting in _written(credential.settings, names):
            document.problems.error(
                "P129",
                document.at("keychain", index, *place),
                f"{setting} of '{credential.name}' is written as plain text",
                _HINT,
            )
    report = document.problems.warn if document.is_foreign else document.problems.error
    for path, _, tasks in document.pipelines():
        for index, task in enumerate(tasks):
            for place, what in _in_fields(task.fields):
                words = f"{what} of task '{task.name}' is written as plain text"
                report("P129", document.at(*path, index, *place), words, _TASK_HINT)


def _in_fields(fields: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for path, text in strings(dict(fields), ()):
        name = str(path[-1])
        if len(path) > 1 and path[-2] == "headers" and _SECRET_HEADER.fullmatch(name):
            if _is_plain(text):
                yield path, f"the header '{name}'"
        elif name == "url" and _is_plain(text) and _WITH_PASSWORD.search(text):
            yield path, "the password in url"


def _written(settings: Mapping[str, Any], names: set[str]) -> Iterator[tuple[Path, str]]:
    for setting in _NAMING:
        value = settings.get(setting)
        if isinstance(value, str | int) and _is_plain(value) and value not in names:
            yield (setting,), f"'{setting}'"
    for setting in _FREE:
        for path, text in strings(settings.get(setting), (setting,)):
            if len(path) > 1 and _SECRET.fullmatch(str(path[-1])) and _is_plain(text):
                yield path, f"'{'.'.join(map(str, path))}'"
    url = settings.get("url")
    if isinstance(url, str) and _is_plain(url) and _WITH_PASSWORD.search(url):
        yield ("url",), "the password in url"


def _is_plain(value: str | int) -> bool:
    return bool(value) and "{{" not in str(value)
