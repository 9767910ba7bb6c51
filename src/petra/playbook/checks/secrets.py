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
_HINT = "name an entry that has it, e.g. '- {name: its_name, kind: env, var: ITS_VARIABLE}'"


def check_secrets(document: Document) -> None:
    """Report secrets that stand in the keychain as plain text, in every dialect."""
    names = {credential.name for credential in document.playbook.keychain}
    for index, credential in enumerate(document.playbook.keychain):
        for place, setting in _written(credential.settings, names):
            document.problems.error(
                "P129",
                document.at("keychain", index, *place),
                f"{setting} of '{credential.name}' is written as plain text",
                _HINT,
            )


def _written(settings: Mapping[str, Any], names: set[str]) -> Iterator[tuple[Path, str]]:
    for setting in _NAMING:
        given = settings.get(setting)
        if isinstance(given, str | int) and _is_plain(given) and given not in names:
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
