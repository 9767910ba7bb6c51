"""Model to canonical YAML: every key in the order of the grammar, defaults left out."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from petra.playbook import yaml12
from petra.playbook.grammar import extra_of, fields_of
from petra.playbook.model import Playbook
from petra.playbook.origins import comment


def to_plain(part: Any) -> Any:
    """Turn a part of the model into the plain data its author would write."""
    if isinstance(part, msgspec.Struct):
        return _struct(part)
    if isinstance(part, dict):
        return {key: to_plain(value) for key, value in part.items()}
    if isinstance(part, list):
        return [to_plain(value) for value in part]
    return part


def _struct(part: msgspec.Struct) -> dict[str, Any]:
    written = {}
    for key, field in fields_of(type(part)).items():
        value = getattr(part, field.name)
        if field.required or value != field.default():
            written[key] = to_plain(value)
    extra = extra_of(type(part))
    if extra is not None:
        written.update(getattr(part, extra))
    return written


def to_yaml(playbook: Playbook) -> str:
    """Write a playbook as canonical YAML; reading it back gives the same model, and the same origins."""
    text: str = yaml.dump(
        to_plain(playbook), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return text + comment(text, playbook.origins)


def document_yaml(document: msgspec.Struct) -> str:
    """Write a document that is no playbook as canonical YAML."""
    text: str = yaml.dump(
        to_plain(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return text


class _Dumper(yaml.SafeDumper):
    """Quotes exactly what the YAML 1.2 reader would otherwise take for something else."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Write shared values out: an alias would surprise a reader."""
        return True


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = None
    if not all(character.isprintable() or character == "\n" for character in value):
        style = '"'  # the only style that can name every character
    elif "\n" in value and not value.startswith((" ", "\n")):
        style = "|"
    elif _reads_otherwise(value):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _reads_otherwise(value: str) -> bool:
    if value == "<<":
        return True
    patterns = (yaml12.NULL, yaml12.BOOL, yaml12.INT, yaml12.FLOAT, yaml12.NON_FINITE)
    return any(pattern.match(value) for pattern in patterns)


def _float(dumper: _Dumper, value: float) -> yaml.ScalarNode:
    # PyYAML writes 1.0e+16 for YAML 1.1; the shortest form reads back as the same float
    text = repr(value)
    return dumper.represent_scalar(
        "tag:yaml.org,2002:float", text if "." in text or "e" in text else text + ".0"
    )


_Dumper.yaml_implicit_resolvers = {}
_Dumper.add_representer(str, _text)
_Dumper.add_representer(float, _float)
for _tag, _pattern, _first in (
    ("null", yaml12.NULL, ["~", "n", "N", ""]),
    ("bool", yaml12.BOOL, list("tTfF")),
    ("int", yaml12.INT, list("-+0123456789")),
    ("float", yaml12.FLOAT, list("-+0123456789.")),
):
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _pattern, _first)
