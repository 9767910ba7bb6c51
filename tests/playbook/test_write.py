from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from texts import corpus
from thoroughness import few, some

from petra.kinds import KINDS, Knobs
from petra.playbook import model, read
from petra.playbook.credentials import CREDENTIAL_KINDS
from petra.playbook.decode import Decoder
from petra.playbook.grammar import Shape, extra_of, fields_of
from petra.playbook.problems import START, Problems
from petra.playbook.tree import Map
from petra.playbook.unknown import UnknownKeys
from petra.playbook.write import to_plain, to_yaml
from petra.playbook.yaml12 import parse

pytestmark = pytest.mark.spec("S1")

HOSTILE = [
    "on", "off", "no", "yes", "true", "True", "null", "~", "", " ", "1", "-1", "1e3", "0o7", "0x1F", ".5", ".inf", "5.",
    "2024-01-01", "12:30", "1_000", "=", "<<", "- x", "-", "? x", ": x", "a: b", "a:", "a #b", "# x", "#x", " lead",
    "trail ", "\tx", "x\t", "x\ty", "a\nb", "a\n", "\na", "a\n\nb\n\n", " a\nb", "a\n b", "a \nb", "a\r\nb", "a\rb",
    "'", '"', "''", "it's", "{{ ctx.x }}", "{{ ctx.x }}\n", "{a: b}", "[a]", "{", "]", ",", "&a", "*a", "!t", "!!str x",
    "|", ">", "|-", "%x", "@x", "`x`", "---", "...", "--- a", "\u00e9", "\U0001f600", "\u2028", "\u2029", "\u0085", "\u00a0", "\ufeff", "\ufeffa",
    "\x07", "\x1b[31m", "\x7f", "\x80", "\\", "\\n", "a\\\nb", "x" * 300, "word " * 60, "x" * 120 + "\n" + "y " * 80, "?", "!", "a\u2028b", "\ud7ff", "\ue000",
    "a\n#b", "a\n---\nb", "a\n...\nb", "a\n\tb", "\ta\nb", "a\n ", "a\n\n", "\n", "\n\n", " \n ", "a:\n  b", "{{ a\n }}", "café\nthé",
]  # fmt: skip
TEXT = st.sampled_from(HOSTILE) | st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20
)
SCALAR = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
DATA = st.recursive(
    SCALAR, lambda d: st.lists(d, max_size=3) | st.dictionaries(TEXT, d, max_size=3), max_leaves=5
)
_made: dict[tuple[int, int], st.SearchStrategy[Any]] = {}


def values(shape: Shape, depth: int) -> st.SearchStrategy[Any]:
    """Values that a shape allows, as parts of the model; each strategy is made once."""
    key = (id(shape), depth)
    if key not in _made:
        _made[key] = new_values(shape, depth)
    return _made[key]


def new_values(shape: Shape, depth: int) -> st.SearchStrategy[Any]:
    note = shape.note
    match shape.kind:
        case "any":
            return st.none() if note.facts.get("placeholder") else DATA
        case "struct":
            assert shape.struct is not None
            return parts(shape.struct, depth)
        case "union":
            return st.one_of([values(option, depth) for option in shape.options])
        case "choice":
            return st.sampled_from(shape.choices)
        case "list":
            assert shape.item is not None
            most = 0 if note.longest == 0 else 2
            inner = values(shape.item, depth + 1)
            return st.lists(inner, min_size=note.shortest or 0, max_size=most)
        case "map":
            assert shape.item is not None
            most = 0 if note.longest == 0 else 2
            return st.dictionaries(TEXT, values(shape.item, depth + 1), max_size=most)
        case _:
            return scalars(shape)


def scalars(shape: Shape) -> st.SearchStrategy[Any]:
    note = shape.note
    match shape.kind:
        case "null":
            return st.none()
        case "bool":
            return st.booleans()
        case "int":
            return st.integers(
                min_value=int(note.least) if note.least is not None else None,
                max_value=int(note.most) if note.most is not None else None,
            )
        case "number":
            least = note.least if note.least is not None else note.above
            most = note.most if note.most is not None else 10**6
            return st.floats(
                least,
                most if note.most is not None else None,
                allow_nan=False,
                allow_infinity=False,
                exclude_min=note.above is not None,
            ) | st.integers(1, int(most))
        case _:
            long_enough = TEXT.filter(lambda t: len(t) >= (note.shortest or 0))
            return long_enough.filter(lambda t: len(t) <= (note.longest or 10**6))


@st.composite
def parts(draw: st.DrawFn, struct: type[msgspec.Struct], depth: int = 0) -> msgspec.Struct:
    """Any valid part of the model; deep parts stay at their defaults, so that it ends."""
    given_: dict[str, Any] = {}
    for found in fields_of(struct).values():
        if found.required or (depth < 9 and draw(st.integers(0, 2)) == 0):
            given_[found.name] = draw(values(found.shape, depth + 1))
    extra = extra_of(struct)
    if struct is model.Credential:
        given_["kind"] = draw(st.sampled_from([*CREDENTIAL_KINDS]))
    if extra is not None and struct is not model.Task:
        given_[extra] = draw(extras(struct, str(given_.get("kind", ""))))
    if struct is model.Task:
        given_["kind"] = draw(st.sampled_from([*KINDS]))
        kind: Any = KINDS[given_["kind"]]
        given_["fields"] = draw(fields(kind))
    return struct(**given_)


@st.composite
def fields(draw: st.DrawFn, struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The keys of a kind, as plain data; null stands for a key that is not there."""
    return {
        key: to_plain(
            draw(values(found.shape, 9).filter(lambda value: value is not None or not needed))
        )
        for key, found in fields_of(struct).items()
        if (needed := found.required) or draw(st.integers(0, 3)) == 0
    }


@st.composite
def extras(draw: st.DrawFn, struct: type[msgspec.Struct], kind: str) -> dict[str, Any]:
    if extra_of(struct) == "knobs":
        return draw(fields(Knobs))
    if struct is model.Credential:
        allowed = CREDENTIAL_KINDS[kind]
        return {key: draw(DATA) for key in allowed if draw(st.booleans())}
    free = TEXT.filter(lambda key: key not in fields_of(struct))
    return draw(st.dictionaries(free, DATA, max_size=2))


def decoded(text: str) -> model.Playbook:
    """Read the canonical form, without the checks: an arbitrary model need not make sense."""
    problems = Problems()
    tree = parse(text, problems)
    assert isinstance(tree, Map), (text, list(problems))
    playbook = Decoder(problems, UnknownKeys(problems, foreign=False)).struct(
        tree, model.Playbook, (), START
    )
    assert not problems.has_errors, (text, list(problems))
    return playbook


@settings(
    max_examples=few(150),
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
@given(parts(model.Playbook))
def test_model_to_canonical_yaml_to_model_is_the_identity(playbook: msgspec.Struct) -> None:
    assert isinstance(playbook, model.Playbook)
    assert decoded(to_yaml(playbook)) == playbook


@settings(max_examples=few(150))
@given(DATA)
def test_data_survives_being_written(data: Any) -> None:
    metadata = model.Metadata(name="x", more={"data": data})
    playbook = model.Playbook(
        api_version="petra/v1", kind="Playbook", metadata=metadata, workflow=[model.Step(step="a")]
    )
    found = decoded(to_yaml(playbook)).metadata.more["data"]
    assert found == data
    assert repr(found) == repr(data)  # 1 and 1.0 and True are told apart


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
def test_a_hostile_text_survives_as_key_and_value(text: str) -> None:
    metadata = model.Metadata(name="x", more={"data": {text: text}})
    playbook = model.Playbook(
        api_version="petra/v1", kind="Playbook", metadata=metadata, workflow=[model.Step(step="a")]
    )
    assert decoded(to_yaml(playbook)) == playbook


@pytest.mark.parametrize("path", some(corpus()), ids=lambda path: path.name)
def test_a_playbook_of_the_corpus_reads_back_as_the_same_model(path: Path) -> None:
    reading = read(path.read_text("utf-8"))
    if not reading.ok:
        pytest.skip("it has errors")
    assert read(to_yaml(reading.checked())).checked() == reading.playbook


@pytest.mark.spec("S8")
def test_set_branch_null_is_written_and_its_absence_is_not() -> None:
    head = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\nworkflow:\n"
    step = (
        "- {step: a, tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: break%s}}}]}}}}"
    )
    for more, is_there in ((", set_branch: null", True), ("", False)):
        book = read(head + step % more).checked()
        assert ("set_branch: null" in to_yaml(book)) is is_there
        assert read(to_yaml(book)).checked() == book
