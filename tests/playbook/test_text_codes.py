"""The codes of a text that is no playbook yet (P0)."""

from __future__ import annotations

import pytest
from rows import A, assert_told_once, row

from petra.playbook import Mark, read_bytes
from petra.playbook.codes import CODES

# fmt: off
TEXT = [
    row("P003", "S1", "a text of more than 1 MiB is refused", "larger than 1024 KiB; keep data in files",
        "☞" + A + "# " + "x" * 1024 * 1024 + "\n"),
    row("P003", "S1", "64 levels are the most", "nested deeper than 64 levels",
        "workload: {a: " + "[" * 62 + "☞" + "[" + "]" * 63 + "}\n" + A),
    row("P003", "S1", "aliases count as what they repeat", "more than 50,000 nodes once aliases are expanded",
        "workload:\n  a: &a [" + "x," * 999 + "]\n  b: [" + "*a, " * 48 + "☞*a, *a]\n" + A),
    row("P004", "S1", "a bracket that stays open is found", "not YAML: ',' or ']' is missing before this place; the '[' stands on line 1",
        "workflow: [{step: a}\n☞apiVersion: petra/v1\n"),
    row("P004", "S1", "text with a colon needs quotes", "quote the text if it holds ': '",
        "metadata: {name: x}\nworkload:\n  a: one☞: two\n"),
    row("P004", "S1", "tabs do not indent", "indent with spaces, not tabs",
        "workflow:\n☞\t- step: a\n"),
    row("P004", "S1", "a line out of its column is found", "indentation",
        "workload:\n  a: 1\n ☞b: 2\n"),
    row("P004", "S1", "a text that begins with a star needs quotes", "quotes",
        "workload:\n  a: ☞*.csv\n" + A),
    row("P004", "S1", "a quote that stays open is told where it opens", "a quote that is never closed",
        "workload:\n  a: ☞'open\n  b: 1\n" + A),
    row("P004", "S1", "a bracket open to the end is told where it opens", "this '[' is never closed; add ']'",
        A + "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: x}\nworkload: ☞[1, 2\n"),
    row("P004", "S1", "a quote inside quotes is told", "the text goes on after the closing quote; put all of it between one pair",
        "workload:\n  a: 'it'☞s'\n" + A),
    row("P004", "S1", "a key among entries is told", "a key stands among the entries of a list",
        "workload:\n  - a\n  ☞b: 1\n" + A),
    row("P004", "S1", "a key needs a space after its colon", "a key needs ':' and a space after it",
        "workload:\n  a: {x: 1}\n  ☞a:b\n" + A),
    row("P004", "S1", "an escape that is none is told", "a backslash in double quotes begins an escape; use single quotes",
        'workload:\n  a: "☞\\d+"\n' + A),
    row("P005", "S1", "a mapping merges once", "key '<<' is already written on line 2; give one '<<' a list",
        "workload:\n  <<: {a: 1}\n  ☞<<: {b: 1}\n" + A),
    row("P005", "S1", "a key stands once in a step", "key 'desc' is already written on line 2; remove one of the two",
        "workflow:\n- {step: a, desc: x, tool: {kind: noop},\n   ☞desc: y}\n"),
    row("P005", "S1", "a key stands once at the root", "key 'workload' is already written on line 1",
        "workload: {}\n☞workload: {}\n" + A),
    row("P005", "S1", "a key stands once in free data", "key 'x' is already written on line 1",
        "workload: {x: 1, ☞x: 2}\n" + A),
    row("P006", "S1", "a tag of another tool is refused", "tag '!env' is not allowed; remove it",
        "workload: {a: ☞!env HOME}\n" + A),
    row("P006", "S1", "a tag that builds objects is refused", "tag '!!python/name:os.system' is not allowed",
        "workload: {a: ☞!!python/name:os.system x}\n" + A),
    row("P006", "S1", "a tag on a mapping is refused", "tag '!vault' is not allowed",
        "workload: ☞!vault {a: 1}\n" + A),
    row("P006", "S1", "a core tag must fit its value", "'soon' is no !!int; remove the tag",
        "workload: {a: ☞!!int soon}\n" + A),
    row("P007", "S1", "braces at the start of a value need quotes", 'needs quotes; write "{{ workload.a }}"',
        "workflow:\n- step: a\n  tool:\n    kind: http\n    url: ☞{{ workload.a }}\n"),
    row("P007", "S1", "text after the braces needs quotes too", 'write "{{ workload.a }}/orders"',
        "workflow:\n- step: a\n  tool:\n    kind: http\n    url: ☞{{ workload.a }}/orders\n"),
    row("P007", "S1", "braces in a list need quotes", "a template at the start of a value needs quotes",
        "workflow:\n- step: a\n  loop:\n    in:\n    - ☞{{ workload.a }}\n"),
    row("P007", "S1", "a filter in the braces changes nothing", "needs quotes",
        "workflow:\n- step: a\n  tool:\n    kind: http\n    url: ☞{{ workload.a | default('x') }}\n"),
    row("P007", "S1", "the suggestion ends where the template does", 'write "{{ ctx.x }}"',
        "workflow:\n- step: a\n  next:\n    arcs:\n    - step: a\n      when: ☞{{ ctx.x }}  # why\n"),
    row("P007", "S1", "the suggestion can be pasted", "write '{{ ctx.x == \"y\" }}'",
        'workflow:\n- step: a\n  next:\n    arcs:\n    - step: a\n      when: ☞{{ ctx.x == "y" }}\n'),
    row("P007", "S1", "the suggestion ends with the value between brackets", 'write "{{ ctx.x }} z"',
        "workload: [a, ☞{{ ctx.x }} z, d]\n" + A),
    row("P007", "S1", "text before the braces needs quotes between braces", 'write "http://x/{{ y }}"',
        "workload: {a: ☞http://x/{{ y }}, b: 1}\n" + A),
    row("P007", "S1", "a statement needs quotes too", 'write "{% if x %}1{% endif %}"',
        "workload:\n  a: ☞{% if x %}1{% endif %}\n" + A),
    row("P008", "S1", "an empty file is no playbook", "the file is empty; a playbook has 'apiVersion: petra/v1'",
        "☞#no apiVersion:\n#no kind:\n#no metadata:\n"),
    row("P008", "S1", "a list is no playbook", "a playbook is a mapping, not a list",
        "☞- a\n#no apiVersion:\n#no kind:\n#no metadata:\n"),
    row("P008", "S1", "another mapping is no playbook", "this mapping is not a playbook",
        "☞image: x\n#no apiVersion:\n#no kind:\n#no metadata:\n"),
    row("P008", "S21", "a test is no playbook", "this is a test file, not a playbook; run it with 'petra test'",
        "☞kind: Test\nplaybook: a.yaml\n"),
    row("P008", "S1", "a file holds one document", "put the second one into a file of its own",
        A + "☞---\n" + A),
    row("P009", "S1", "an alias needs its anchor", "alias '*x' has no anchor '&x' before it",
        "workload: {a: ☞*x}\n" + A),
    row("P009", "S1", "an anchor comes before its alias", "alias '*x' has no anchor '&x' before it",
        "workload: {a: ☞*x, b: &x 1}\n" + A),
    row("P009", "S1", "an alias cannot hold itself", "alias '*x' stands inside what it repeats; write the value out",
        "workload: {a: &x [☞*x]}\n" + A),
    row("P009", "S1", "only mappings are merged", "'<<' takes a mapping or a list of them",
        "workload: {a: &x 1, b: {<<: ☞*x}}\n" + A),
    row("P010", "S1", "a list is no key", "a key must be plain text; write the key as a word or in quotes",
        "workload:\n  ☞[a, b]: 1\n" + A),
    row("P010", "S1", "a mapping is no key", "a key must be plain text",
        "workload:\n  ? ☞{a: 1}\n  : 1\n" + A),
    *(row("P011", "S1", f"{what} is no JSON", f"{written} is not a number JSON can hold", f"workload: {{a: ☞{written}}}\n" + A)
      for what, written in (("infinity", ".inf"), ("not-a-number", ".NaN"), ("an exponent beyond all floats", "1e999"))),
    row("P011", "S1", "thousands of digits are no JSON", "… is not a number JSON can hold",
        "workload: {a: ☞" + "9" * 5000 + "}\n" + A),
]
# fmt: on


# The shell reports that a file is missing; bytes that are no text have a test of their own.
ELSEWHERE = {"P001", "P002"}


def test_every_code_of_the_text_is_in_the_table() -> None:
    known = {code for code in CODES if code < "P1"}
    assert {param.values[0] for param in TEXT} | ELSEWHERE == known


@pytest.mark.spec("S1")
@pytest.mark.parametrize(
    ("raw", "place"),
    [
        pytest.param(b"a: 1\nb: caf\xe9\n", Mark(2, 7), id="Latin-1"),
        pytest.param("a: 1\n".encode("utf-16"), Mark(1, 1), id="UTF-16"),
        pytest.param(b"a: 1\nb: \x00\n", Mark(2, 4), id="a control character"),
    ],
)
def test_what_is_no_text_is_told_at_the_first_bad_byte(raw: bytes, place: Mark) -> None:
    (problem,) = read_bytes(raw).problems
    assert (problem.code, problem.mark) == ("P002", place)
    assert "UTF-8" in problem.hint


@pytest.mark.parametrize(("code", "words", "fragment", "warns"), TEXT)
def test_a_problem_of_the_text_is_told_once_at_its_place(
    code: str, words: str, fragment: str, *, warns: bool
) -> None:
    assert_told_once(code, words, fragment, warns=warns)
