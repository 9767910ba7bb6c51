from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from petra.playbook import read, read_bytes
from petra.playbook.problems import Mark, Problems
from petra.playbook.tree import Map, Seq, Tree
from petra.playbook.yaml12 import DEPTH_MAX, NODES_MAX, TEXT_BYTES_MAX, parse

pytestmark = pytest.mark.spec("S1")


def tree(text: str) -> Tree:
    problems = Problems()
    found = parse(text, problems)
    assert not problems, list(problems)
    return found


def fault(text: str) -> tuple[str, int, int]:
    """The code and place of the only problem."""
    problems = Problems()
    parse(text, problems)
    (problem,) = problems
    assert problem.hint
    return problem.code, problem.line, problem.column


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *((word, word) for word in ("on", "off", "yes", "no", "On", "NO", "y", "n", "nullable")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        ("tRUE", "tRUE"),
        *((word, None) for word in ("null", "Null", "NULL", "~", "")),
        ("nULL", "nULL"),
        ("0", 0), ("-0", 0), ("+7", 7), ("017", 17), ("0o17", 15), ("0x1F", 31), ("0b11", "0b11"),
        ("-0o17", "-0o17"), ("0o18", "0o18"), ("1_000", "1_000"), ("12:30:45", "12:30:45"), ("1:20", "1:20"),
        ("1e3", 1000.0), ("1E-3", 0.001), (".5", 0.5), ("-.5e1", -5.0), ("5.", 5.0), ("1.5", 1.5), ("+1.5", 1.5),
        ("e3", "e3"), (".", "."), ("1.2.3", "1.2.3"), ("1e", "1e"), ("-", [None]), ("--1", "--1"),
        ("2024-01-31", "2024-01-31"), ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00Z"),
        ("=", "="), ("<<", "<<"), ("'1'", "1"), ('"true"', "true"), ("'~'", "~"), ("!!str 1", "1"),
        ("!!int '7'", 7), ("!!float 1.5", 1.5), ("!!null ''", None), ("!!bool true", True),
    ],
)  # fmt: skip
def test_a_scalar_resolves_by_the_core_schema(written: str, value: Any) -> None:
    found = tree(f"k:\n  {written}" if written == "-" else f"k: {written}")["k"]
    assert found == value
    assert type(found) in (type(value), Seq)


@pytest.mark.parametrize("written", [".inf", "-.INF", "+.Inf", ".nan", ".NaN", "1e999", "9" * 5000])
def test_a_number_that_json_cannot_hold_is_refused(written: str) -> None:
    assert fault(f"k: {written}") == ("P011", 1, 4)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_as_itself(value: float) -> None:
    found = tree(f"k: {value!r}")["k"]
    assert found == value
    assert math.copysign(1, found) == math.copysign(1, value)


PLAIN = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=8)
DATA = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=4)
)


def places(node: Tree, mark: Mark) -> list[tuple[Tree, Mark]]:
    """Every scalar and key of a tree with its mark."""
    if isinstance(node, Map):
        keys = [(key, node.key_at(key)) for key in node]
        return keys + [p for key in node for p in places(node[key], node.value_at(key))]
    if isinstance(node, Seq):
        return [p for i, item in enumerate(node) for p in places(item, node.item_at(i))]
    return [(node, mark)]


@given(DATA, st.booleans())
def test_the_mark_of_every_key_and_value_is_where_it_stands(data: Any, flow: bool) -> None:  # noqa: FBT001
    text = yaml.safe_dump(data, allow_unicode=True, default_flow_style=flow, width=10_000)
    lines = text.splitlines()
    for value, mark in places(tree(text), Mark(1, 1)):
        rest = lines[mark.line - 1][mark.column - 1 :]
        assert rest.startswith(("'", '"', "? ", str(value))) or not isinstance(value, str)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", "P005", 3, 1, id="a key twice"),
        pytest.param("a: {b: 1, 'b': 2}", "P005", 1, 11, id="a key twice, once quoted"),
        pytest.param("a:\n  b: 1\n  b: {c: 1}\n", "P005", 3, 3, id="a key twice, further in"),
        pytest.param("a: !secret x", "P006", 1, 4, id="a local tag"),
        pytest.param("a: !!python/object:os.system {}", "P006", 1, 4, id="a dangerous tag"),
        pytest.param("a: !!binary aGk=", "P006", 1, 4, id="a tag beyond the core"),
        pytest.param("a: !!timestamp 2024-01-01", "P006", 1, 4, id="dates are strings"),
        pytest.param("a: !!set {b}", "P006", 1, 4, id="no sets"),
        pytest.param("a: !!int x", "P006", 1, 4, id="a tag that does not fit"),
        pytest.param("a: *b", "P009", 1, 4, id="an alias without an anchor"),
        pytest.param("a: &a [*a]", "P009", 1, 8, id="an alias inside what it repeats"),
        pytest.param("a:\n  <<: 1\n", "P009", 2, 7, id="a merge of a scalar"),
        pytest.param("? [a, b]\n: c\n", "P010", 1, 3, id="a list as a key"),
        pytest.param("? {a: b}\n: c\n", "P010", 1, 3, id="a mapping as a key"),
        pytest.param("a: 1\n---\nb: 2\n", "P008", 2, 1, id="two documents"),
        pytest.param("a: 1\n\tb: 2\n", "P004", 2, 1, id="a tab as indentation"),
        pytest.param("a: [1, 2\nb: 3\n", "P004", 2, 2, id="a bracket left open"),
        pytest.param("a: 'x\n", "P004", 1, 4, id="a quote left open"),
        pytest.param("a: b: c\n", "P004", 1, 5, id="two keys on one line"),
        pytest.param("a: 1\n  b: 2\n", "P004", 2, 4, id="wrong indentation"),
        pytest.param("a: @b\n", "P004", 1, 4, id="a reserved sign"),
        pytest.param("a: %b\n", "P004", 1, 4, id="a percent sign"),
        pytest.param("a: \x00b\n", "P002", 1, 4, id="a control character"),
        pytest.param("a: \ud800\n", "P002", 1, 4, id="half a character"),
    ],
)
def test_a_fault_is_one_problem_at_its_place(text: str, code: str, line: int, column: int) -> None:
    assert fault(text) == (code, line, column)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        pytest.param("a: {{ b }}\n", 1, 4, id="as a value"),
        pytest.param("a: {{ b }}/c\n", 1, 4, id="at the start of a text"),
        pytest.param("a: {{b}}\n", 1, 4, id="without spaces"),
        pytest.param("a:\n  - {{ b }}\n", 2, 5, id="as an item"),
        pytest.param("a: [{{ b }}]\n", 1, 5, id="in a flow list"),
        pytest.param("a: [x, {{ b }}]\n", 1, 8, id="later in a flow list"),
        pytest.param("a: {b: {{ c }}}\n", 1, 8, id="in a flow mapping"),
        pytest.param("a: {{ b | default('x') }}\n", 1, 4, id="with a filter"),
        pytest.param("a: {{ b }} and {{ c }}\n", 1, 4, id="twice"),
        pytest.param("{{ a }}: b\n", 1, 1, id="as a key"),
        pytest.param("x: 1\na:   {{ b['c'] }}  # why\n", 2, 6, id="with a comment"),
        pytest.param("- when: {{ a == 'b' }}\n  then: c\n", 1, 9, id="in an item"),
        pytest.param("a:\n  {{ b }}\n", 2, 3, id="on a line of its own"),
    ],
)
def test_unquoted_braces_get_their_own_words(text: str, line: int, column: int) -> None:
    assert fault(text) == ("P007", line, column)


@pytest.mark.parametrize(
    ("written", "suggestion"),
    [
        ("{{ b }}  # why", 'write "{{ b }}"'),
        ('{{ b == "c" }}', "write '{{ b == \"c\" }}'"),
        ("{{ b }}/c", 'write "{{ b }}/c"'),
        ("{{ " + "b" * 80 + " }}", 'write "{{ … }}"'),
    ],
)
def test_the_suggestion_can_be_pasted(written: str, suggestion: str) -> None:
    problems = Problems()
    parse(f"a: {written}\n", problems)
    assert [problem.hint for problem in problems] == [suggestion]


def test_braces_inside_a_text_need_no_quotes() -> None:
    assert tree("a: b {{ c }}")["a"] == "b {{ c }}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: &x {k: 1}\nb: *x\n", {"a": {"k": 1}, "b": {"k": 1}}, id="an alias"),
        pytest.param("a: &x 1\n*x : 2\n", {"a": 1, "1": 2}, id="an alias as a key"),
        pytest.param("a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\n", {"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}}, id="the key written here wins"),
        pytest.param("a: &x {k: 1, l: 2}\nb: {k: 3, <<: *x}\n", {"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}}, id="wherever '<<' stands"),
        pytest.param("a: &x {k: 1}\nb: &y {k: 2, m: 3}\nc: {<<: [*x, *y]}\n", {"a": {"k": 1}, "b": {"k": 2, "m": 3}, "c": {"k": 1, "m": 3}}, id="the earlier source wins"),
        pytest.param("a: &x {k: 1}\nb: &y {<<: *x, l: 2}\nc: {<<: *y}\n", {"a": {"k": 1}, "b": {"k": 1, "l": 2}, "c": {"k": 1, "l": 2}}, id="merges of merges"),
        pytest.param("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}, id="the latest anchor counts"),
        pytest.param("a: {<<: {k: 1}}\n", {"a": {"k": 1}}, id="a mapping in place"),
        pytest.param("1: a\ntrue: b\nnull: c\n", {"1": "a", "true": "b", "null": "c"}, id="keys are text"),
        pytest.param("\ufeffa: 1\n", {"a": 1}, id="a byte order mark"),
        pytest.param("a: 1\r\nb:\r\n  - 2\r\n", {"a": 1, "b": [2]}, id="lines of Windows"),
        pytest.param("---\na: 1\n...\n", {"a": 1}, id="document marks"),
        pytest.param("%YAML 1.2\n---\na: 1\n", {"a": 1}, id="a directive"),
        pytest.param("a:\t1\n", {"a": 1}, id="a tab between key and value"),
        pytest.param("a: |\n  x\n   y\nb: >-\n  x\n  y\n", {"a": "x\n y\n", "b": "x y"}, id="block scalars"),
    ],
)  # fmt: skip
def test_a_document_reads_as(text: str, value: Any) -> None:
    assert tree(text) == value


def test_what_an_alias_repeats_is_a_copy() -> None:
    found = tree("a: &x {k: [1]}\nb: *x\n")
    found["b"]["k"].append(2)
    assert found["a"] == {"k": [1]}


def laughs(levels: int = 12) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


def merge_bomb(levels: int = 12) -> str:
    lines = ["m0: &m0 {k: v}"]
    lines += [f"m{i}: &m{i} {{<<: [{', '.join([f'*m{i - 1}'] * 9)}]}}" for i in range(1, levels)]
    return "\n".join(lines)


BOMBS = {
    "billion laughs": (laughs(), "P003"),
    "merge keys": (merge_bomb(), "P003"),
    "wide merges": ("a: &a {" + ", ".join(f"k{i}: 1" for i in range(2000)) + "}\nb: {<<: [" + "*a, " * 5000 + "]}", "P003"),
    "200 levels of keys": ("\n".join(" " * i + "a:" for i in range(200)), "P003"),
    "200 levels of items": ("- " * 200 + "x", "P003"),
    "brackets": ("[" * 50_000, "P003"),
    "braces": ("{a: " * 50_000, "P003"),
    "double braces": ("{" * 50_000, "P007"),
    "complex keys": ("? " * 50_000 + "x", "P010"),
    "complex keys, one per line": ("\n".join("  " * i + "? " for i in range(200)), "P010"),
    "one long line": ("a: " + "x" * (TEXT_BYTES_MAX - 4), "P008"),
    "one long list": ("a: [" + "1," * 500_000 + "]", "P003"),
    "100,000 anchors": ("[" + ",".join(f"&a{i} 1" for i in range(90_000)) + "]", "P003"),
    "40,000 aliases of a long text": ("a: &a " + "x" * 100_000 + "\nb: [" + "*a," * 40_000 + "]", "P008"),
    "a million new lines": ("\n" * 1_000_000, "P008"),
    "a million quotes": ('"' * 1_000_000, "P004"),
    "a million digits": ("a: " + "9" * 1_000_000, "P011"),
    "a tag of 100,000 signs": ("!" * 100_000, "P006"),
    "more than 1 MiB": ("a: " + "é" * (TEXT_BYTES_MAX // 2), "P003"),
    "zero bytes": ("\0" * 1_000_000, "P002"),
    "short forms": ("workflow:\n- input: {" + ", ".join(f"a{i}: 1" for i in range(3000)) + "}\n  tool:\n" + "  - {kind: noop}\n" * 10_000, "P003"),
}  # fmt: skip

CALLS_MAX = 4_000_000
"""Calls of functions that a text of a mebibyte may cost: a third of a second of Python."""
HANGS_S = 120
"""Seconds of a processor after which the child hangs in something that calls nothing."""

# One child reads them all, so its peak of memory is a bound for each.
CHILD = """
import json, re, sys
sys.path.insert(0, sys.argv[1])
from petra.playbook import read
from support.calls import counted

def peak():  # not ru_maxrss: a child begins with that of the process it was forked from
    return int(re.search("VmHWM:[ \\t]*([0-9]+)", open("/proc/self/status").read())[1]) // 1024

found = {}
for name, text in json.load(sys.stdin).items():
    problems, calls = counted(lambda: read(text).problems, int(sys.argv[2]))
    found[name] = [[p.code for p in problems], max(len(p.message) for p in problems), calls, peak()]
print(json.dumps(found))
"""


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))
    resource.setrlimit(resource.RLIMIT_CPU, (HANGS_S, HANGS_S))


@pytest.fixture(scope="module")
def defused() -> Any:
    bombs = json.dumps({name: text for name, (text, _) in BOMBS.items()}).encode()
    run = [sys.executable, "-c", CHILD, str(Path(__file__).parents[1]), str(CALLS_MAX)]
    child = subprocess.run(run, input=bombs, capture_output=True, check=True, preexec_fn=limit_memory)  # fmt: skip
    return json.loads(child.stdout)


@pytest.mark.slow
def test_every_bomb_is_one_problem_in_4_million_calls_and_256_mb(defused: Any) -> None:
    assert {name: codes for name, (codes, *_) in defused.items()} == {
        name: [code] for name, (_, code) in BOMBS.items()
    }
    assert max(longest for _, longest, _, _ in defused.values()) <= 300
    assert {name: calls for name, (_, _, calls, _) in defused.items() if calls > CALLS_MAX} == {}
    assert max(megabytes for *_, megabytes in defused.values()) < 256


def test_a_document_may_have_64_levels_and_no_more() -> None:
    assert tree("[" * DEPTH_MAX + "]" * DEPTH_MAX)
    assert fault("[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1)) == ("P003", 1, DEPTH_MAX + 1)


@pytest.mark.slow
def test_a_document_may_have_50000_nodes_and_no_more() -> None:
    assert len(tree("[" + "1," * (NODES_MAX - 1) + "]")) == NODES_MAX - 1
    assert fault("[" + "1," * NODES_MAX + "]")[0] == "P003"
    doubled = "a: &a [" + "1," * (NODES_MAX // 2 - 3) + "]\nb: *a"
    assert len(tree(doubled)["b"]) == NODES_MAX // 2 - 3
    assert fault(doubled + "\nc: 1\nd: 1\n")[0] == "P003"


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (b"", "P008", "empty"),
        (b"# nothing\n", "P008", "empty"),
        (b"---\n", "P008", "empty"),
        (b"- a\n- b\n", "P008", "a list"),
        (b"hello", "P008", "'hello'"),
        (b"42", "P008", "42"),
        (b"a: b", "P008", "not a playbook"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "P002", "UTF-8"),
        (b"a: 1\nb: \xff\n", "P002", "UTF-8"),
        ("a: 1".encode("utf-16"), "P002", "UTF-8"),
    ],
)
def test_what_is_no_playbook_is_one_problem(raw: bytes, code: str, words: str) -> None:
    (problem,) = read_bytes(raw).problems
    assert problem.code == code
    assert words in problem.message


def test_a_bad_byte_is_shown_where_it_stands() -> None:
    (problem,) = read_bytes(b"a: 1\nbc: \xff\n").problems
    assert (problem.line, problem.column) == (2, 5)


def test_duplicate_keys_are_reported_beside_other_problems() -> None:
    found = [
        p.code for p in read("kind: Playbook\nkind: Playbook\nworkflow: []\nfoo: 1\n").problems
    ]
    assert found == ["P102", "P102", "P005", "P103", "P101"]
