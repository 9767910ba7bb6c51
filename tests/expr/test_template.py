from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template, compile_value
from petra.expr.limits import FUEL, MAX_RESULT, MAX_SOURCE

if TYPE_CHECKING:
    from petra.values import Json

SCOPE: dict[str, Any] = {
    "ctx": {
        "n": 5, "f": 1.5, "s": "text", "l": [3, 1, 2], "none": None, "yes": True, "empty": [],
        "rows": [{"id": 1, "k": "a", "v": 2}, {"id": 2, "k": "b", "v": 3}, {"id": 3, "k": "a", "v": 4}],
        "d": {"b": 2, "a": 1}, "digits": "42", "items": "a key",
    },
    "event": {"name": "step.done", "status": "ok"},
    "done": lambda step: step == "a",
    "all_done": lambda steps: steps == ["a"],
}  # fmt: skip


def render(source: str, **extra: Any) -> Json:
    return compile_template(source, Profile.WORKER).render({**SCOPE, **extra})


def holds(source: str, **extra: Any) -> bool:
    return compile_template(source, Profile.SERVER).test({**SCOPE, **extra})


def fault(source: str, profile: Profile = Profile.WORKER) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        compile_template(source, profile).render(SCOPE)
    assert caught.value.source == source
    return caught.value


@pytest.mark.spec("S6")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("plain", "plain", id="a text without braces is itself"),
        pytest.param("{{ ctx.n }}", 5, id="an int stays an int"),
        pytest.param(" {{ ctx.l }}\n", [3, 1, 2], id="white space around does not make a text"),
        pytest.param("{{ ctx.d }}", {"b": 2, "a": 1}, id="an object stays an object"),
        pytest.param("{{ ctx.none }}", None, id="null is a value"),
        pytest.param("{{ ctx.yes }}", True, id="a boolean stays a boolean"),
        pytest.param("n={{ ctx.n }}", "n=5", id="text around makes a text"),
        pytest.param("{{ ctx.n }}{{ ctx.n }}", "55", id="two outputs make a text"),
        pytest.param("x{{ ctx.l }}{{ ctx.yes }}{{ ctx.none }}", "x[3, 1, 2]TrueNone", id="text is spelled as in Jinja"),
        pytest.param("{{ (1, 2) }}", [1, 2], id="a tuple is a list"),
        pytest.param("{{ ctx.d.items() }}", [["b", 2], ["a", 1]], id="a view is a list"),
        pytest.param("{{ ctx.items }}", "a key", id="a key wins over a method"),
        pytest.param("{{ ctx['s'][0] ~ ctx.l[-1] ~ ctx.l.0 }}", "t23", id="subscripts"),
        pytest.param("{{ ctx.l[1:] + ctx.l[:1] }}", [1, 2, 3], id="slices"),
        pytest.param("{{ 1 + 2 * 3 - 4 / 2 }}", 5.0, id="precedence"),
        pytest.param("{{ 2 ** 3 ** 2 }}", 64, id="powers group from the left, as in Jinja"),
        pytest.param("{{ -2|abs }}", 2, id="a filter comes after the sign"),
        pytest.param("{{ 7 // 2 ~ '-' ~ 7 % 4 }}", "3-3", id="tilde joins texts"),
        pytest.param("{{ 1 < 2 < 3 and 3 > 2 >= 2 }}", True, id="comparisons chain"),
        pytest.param("{{ 'b' if ctx.none else 'c' }}", "c", id="choice"),
        pytest.param("{{ not not ctx.n }}", True, id="two nots make a boolean"),
        pytest.param("{{ ctx.none or 'x' }}", "x", id="or gives the operand"),
        pytest.param("{{ 'ex' in ctx.s and 'a' in ctx.d and 9 not in ctx.l }}", True, id="in"),
        pytest.param("{{ {'a': [1, {}]}['a'][1] }}", {}, id="nested literals and closing braces"),
        pytest.param("{{ 'a' 'b' \"c\" }}", "abc", id="strings side by side"),
        pytest.param("{{ '\\n\\u00e9\\d' }}", "\né\\d", id="escapes; an unknown one stays"),
        pytest.param("{# x #}a{% raw %}{{ b }}{% endraw %}", "a{{ b }}", id="comments and raw"),
        pytest.param("a {{- 1 -}} b", "a1b", id="white space control"),
        pytest.param("line {{ 1 }}\n", "line 1\n", id="a text keeps its last line break"),
    ],
)  # fmt: skip
def test_rendering(source: str, expected: Json) -> None:
    result = render(source)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.spec("S6")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ ctx.q|default(3) }}", 3), ("{{ ctx.q.w.e|d('x') }}", "x"), ("{{ ctx.none|default(1) }}", None),
        ("{{ ctx.empty|default([1], true) }}", [1]), ("{{ ctx.digits|int + 1 }}", 43), ("{{ 'x'|int(0) }}", 0),
        ("{{ '1.5'|float }}", 1.5), ("{{ 'no'|bool }}", False), ("{{ ctx.l|length + ctx.s|count }}", 7),
        ("{{ ctx.s|upper|lower|title|trim('T') }}", "ext"), ("{{ 'a-b'|replace('-', '+') }}", "a+b"),
        ("{{ ctx.l|sort|join('-') }}", "1-2-3"), ("{{ 'a,b'|split(',') }}", ["a", "b"]),
        ("{{ ctx.l|first ~ ctx.l|last ~ ctx.l|min ~ ctx.l|max ~ ctx.l|sum }}", "32136"),
        ("{{ ['b', 'A', 'b']|unique|sort }}", ["A", "b"]), ("{{ ctx.l|map('string')|list }}", ["3", "1", "2"]),
        ("{{ ctx.rows|map(attribute='id')|list }}", [1, 2, 3]), ("{{ ctx.l|select('gt', 1)|list }}", [3, 2]),
        ("{{ ctx.l|reject('odd') }}", [2]), ("{{ ctx.rows|selectattr('k', '==', 'a')|map(attribute='id') }}", [1, 3]),
        ("{{ ctx.rows|rejectattr('k', 'equalto', 'a')|length }}", 1), ("{{ ctx.rows|sum(attribute='v') }}", 9),
        ("{{ ctx.f|round }}", 2.0), ("{{ 1.25|round(1, 'floor') }}", 1.2), ("{{ ctx.d|tojson }}", '{"b":2,"a":1}'),
        ("{{ '[1, {}]'|fromjson }}", [1, {}]), ("{{ 'é'|b64encode }}", "w6k="), ("{{ 'w6k='|b64decode }}", "é"),
        ("{{ ctx.d|items|first }}", ["b", 2]), ("{{ ctx.d|keys|sort }}", ["a", "b"]), ("{{ ctx.d|values|sum }}", 3),
        ("{{ ctx.d|dictsort }}", [["a", 1], ["b", 2]]), ("{{ ctx.l|reverse }}", [2, 1, 3]), ("{{ 'ab'|reverse }}", "ba"),
        ("{{ range(5)|batch(2, 0) }}", [[0, 1], [2, 3], [4, 0]]), ("{{ range(5)|slice(2) }}", [[0, 1, 2], [3, 4]]),
        ("{{ 'a b/ü'|urlencode }}", "a%20b/%C3%BC"), ("{{ {'a': 'x y'}|urlencode }}", "a=x%20y"),
        ("{{ {'a': 1, 'b': none, 'c': ''}|urlencode }}", "a=1&c="),
        ("{{ [['a', 'x y'], ['b', none], ['c', 2]]|urlencode }}", "a=x%20y&c=2"), ("{{ 'abc'|truncate(2) }}", ".."),
        ("{{ 'a\nb'|indent(2) }}", "a\n  b"), ("{{ 'a\nb'|indent(2, true) }}", "  a\n  b"),
        ("{{ ctx.rows|groupby('k')|map('first') }}", ["a", "b"]), ("{{ '%s:%03d:%.1f%%'|format('a', 7, 1.25) }}", "a:007:1.2%"),
        ("{{ ctx.s.startswith('te') and ctx.s.endswith('xt') }}", True), ("{{ '-'.join(['a', 1]) }}", "a-1"),
        ("{{ ctx.d.get('a') ~ ctx.d.get('zz', 9) }}", "19"), ("{{ ' a '.strip() ~ 'A'.lower() }}", "aa"),
        ("{{ ctx.l is iterable and ctx.d is mapping and ctx.n is divisibleby 5 }}", True),
        ("{{ ctx.q is defined or ctx.none is not none }}", False), ("{{ ctx.s is in ['text'] }}", True),
        ("{{ 'abcdef'|truncate(5, true) }}", "ab..."), ("{{ dict(a=1) }}", {"a": 1}), ("{{ 'a'|center(3) }}", " a "),
    ],
)  # fmt: skip
def test_the_library(source: str, expected: Json) -> None:
    assert render(source) == expected


@pytest.mark.spec("S6")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% for x in ctx.l %}{{ loop.index }}:{{ x }}{{ '' if loop.last else ',' }}{% endfor %}", "1:3,2:1,3:2"),
        ("{% for k, v in ctx.d|dictsort %}{{ k }}{{ v }}{% endfor %}", "a1b2"),
        ("{% for x in ctx.l if x > 1 %}{{ x }}{% else %}none{% endfor %}", "32"),
        ("{% for x in ctx.empty %}{{ x }}{% else %}none{% endfor %}", "none"),
        ("{% if ctx.q %}a{% elif ctx.n == 5 %}b{% else %}c{% endif %}", "b"),
        ("{% set a = 1 %}{% if true %}{% set a = 2 %}{% endif %}{{ a }}.", "2."),
        ("{% set a = 1 %}{% for x in ctx.l %}{% set a = x %}{% endfor %}{{ a }}.", "1."),
        ("{% set n = namespace(a=0) %}{% for x in ctx.l %}{% set n.a = n.a + x %}{% endfor %}{{ n.a }}.", "6."),
        ("{% set a %}x{{ ctx.n }}{% endset %}{{ a|upper }}.", "X5."),
        ("{% with a = 1, b = a + 1 %}{{ b }}{% endwith %}{{ a|default('-') }}", "2-"),
    ],
)  # fmt: skip
def test_statements_on_a_worker(source: str, expected: str) -> None:
    assert render(source) == expected
    assert fault(source, Profile.SERVER).kind == "statement"


@pytest.mark.spec("S4", "S6")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ ctx.x }}", False), ("{{ nothing.at.all['x'][3] }}", False), ("{{ ctx.x > 3 }}", False),
        ("{{ ctx.x == 3 }}", False), ("{{ ctx.x == ctx.y }}", False), ("{{ ctx.x != 3 }}", True),
        ("{{ 'a' in ctx.x }}", False), ("{{ 'a' not in ctx.x }}", True), ("{{ ctx.x + 1 }}", False),
        ("{{ ctx.x + 1 > 0 or ctx.n == 5 }}", True), ("{{ not ctx.x }}", True), ("{{ ctx.x|length > 0 }}", False),
        ("{{ ctx.x.split(',') }}", False), ("{{ done(ctx.x) }}", False), ("{{ [ctx.x]|join }}", False),
        ("{{ ctx.n in [ctx.x, 5] }}", True), ("{{ ctx.x == none }}", False), ("{{ ctx.none == none }}", True),
        ("{{ ctx.x is none }}", False), ("{{ ctx.x is not defined }}", True), ("{{ ctx.x|default(true) }}", True),
        ("{{ ctx.none.x }}", False), ("{{ ctx.n.x }}", False), ("true", True), ("False", False), ("", False),
        ("{{ done('a') and not done('b') and all_done(['a']) }}", True), ("{{ ctx.yes }} ", True),
    ],
)  # fmt: skip
def test_a_guard_takes_undefined_for_false(source: str, expected: bool) -> None:  # noqa: FBT001
    assert holds(source) is expected


@pytest.mark.spec("S6")
@pytest.mark.parametrize(
    "words", ["ctx.x > 3", "3 <= ctx.x", "ctx.x + 1", "-ctx.x", "1 < 2 < ctx.x"]
)
def test_an_exact_guard_refuses_to_order_or_count_what_is_undefined(words: str) -> None:
    template = compile_template(f"{{{{ {words} }}}}", Profile.SERVER)
    assert template.test({"ctx": {}}) is False
    with pytest.raises(ExpressionError, match=r"ctx\.x"):
        template.test({"ctx": {}}, exact=True)
    assert template.test({"ctx": {"x": 5}}, exact=True) is True


@pytest.mark.spec("S6")
@pytest.mark.parametrize(
    "source",
    [
        "{{ ctx.x.y }}", "a{{ ctx.x.y }}", "{{ ctx.x.y > 3 }}", "{{ 3 == ctx.x.y }}", "{{ 'a' in ctx.x.y }}",
        "{{ ctx.x.y + 1 }}", "{{ ctx.x.y|upper }}", "{{ [ctx.x.y] }}", "{{ {'a': ctx.x.y} }}", "{{ -ctx.x.y }}",
        "{{ ctx.x.y.lower() }}", "{{ done(ctx.x.y) }}", "{{ ctx.n and ctx.x.y }}", "{{ ctx.q|default(ctx.x.y) }}",
        "{% for a in ctx.x.y %}{% endfor %}", "{{ ctx.l[ctx.x.y] }}", "{{ 'a' ~ ctx.x.y }}", "{{ ctx.x.y[1:] }}",
    ],
)  # fmt: skip
def test_elsewhere_undefined_is_an_error_that_names_the_path(source: str) -> None:
    error = fault(source)
    assert error.kind == "undefined"
    assert "ctx.x.y" in error.message
    assert error.offset == source.index("ctx.x.y")


@pytest.mark.spec("S1", "S6")
@pytest.mark.parametrize(
    ("source", "kind", "at", "hint"),
    [
        ("{{ 1 + }}", "syntax", "}}", None), ("{{ (1 }}", "syntax", "}}", None), ("a {{ 'x }}", "syntax", "'", None),
        ("{{ a = 1 }}", "syntax", "=", "=="), ("{{ a && b }}", "syntax", "&", "and"), ("a {{ b", "syntax", "{{", "close"),
        ("{{ '-' if ctx.no }}", "undefined", "'-'", "else"), ("{{ [1, 2]|urlencode }}", "type", "urlencode", None),
        ("{{ a|uper }}", "unknown_filter", "uper", "'upper'"), ("{{ a|map('uper') }}", "unknown_filter", "'uper'", "'upper'"),
        ("{{ a is defind }}", "unknown_test", "defind", "'defined'"), ("{{ dne('a') }}", "unknown_function", "dne", "'done'"),
        ("{{ a.append(1) }}", "unknown_method", "append", "+ [item]"), ("{{ a|replace('b') }}", "type", "replace", None),
        ("{% fro x in y %}", "statement", "fro", "'for'"), ("{% if a %}b", "syntax", "{%", "endif"),
        ("{{ 'a' + 1 }}", "type", "'a'", "~"), ("{{ ctx.s > 1 }}", "type", "ctx", "int"), ("{{ 1 / 0 }}", "type", "1", None),
        ("{{ 'a' * 2000000 }}", "limit", "'a'", None), ("{{ range(1000000) }}", "limit", "range", None),
        ("{{ 2 ** 64 }}", "limit", "2", None), ("{{ 99999999999999999999 }}", "limit", "999", None),
        ("{{ ok('a') }}", "unknown_function", "ok", None), ("{{ done }}", "type", "{{", None),
    ],
)  # fmt: skip
def test_an_error_says_where_and_the_next_move(
    source: str, kind: str, at: str, hint: str | None
) -> None:
    error = fault(source)
    assert error.kind == kind
    assert error.offset == (source.index(at) if at != "}}" else source.rindex(at))
    if hint is not None:
        assert hint in str(error)


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), object(), {1: 2}, {"a": [float("-inf")]}, print, b"x", {1}],
)
def test_only_json_comes_out(value: object) -> None:
    with pytest.raises(ExpressionError):
        render("{{ value }}", value=value)
    with pytest.raises(ExpressionError):
        render("{{ [value] }}", value=value)


def test_python_containers_come_out_as_json() -> None:
    assert render("{{ v }}", v=(1, {"a": (2,)})) == [1, {"a": [2]}]
    assert render("{{ v }}", v={"a": 1}.items()) == [["a", 1]]


def test_a_value_that_passes_through_is_not_copied_and_not_limited() -> None:
    large: Json = [list(range(10)) for _ in range(40_000)]
    assert render("{{ large }}", large=large) is large
    with pytest.raises(ExpressionError, match="too large"):
        render("{{ [large] }}", large=large)


def test_a_condition_in_two_pieces_is_refused() -> None:
    with pytest.raises(ExpressionError, match="a condition is one"):
        holds("{{ ctx.n }} == 5")


def test_limits_are_as_large_as_they_say() -> None:
    assert len(str(render(f"{{{{ 'a' * {MAX_RESULT} }}}}"))) == MAX_RESULT
    assert render("{{ 1 }}" + " " * (MAX_SOURCE - 7)) == 1
    assert fault("{{ 1 }}" + " " * MAX_SOURCE).kind == "limit"
    assert render("{{ " + "(" * 39 + "1" + ")" * 39 + " }}") == 1
    assert render("{{ range(100000)|sum }}") == sum(range(100_000))
    rounds = FUEL // 20
    assert (
        len(str(render(f"{{% for x in range({rounds}) %}}{{{{ x % 2 }}}}{{% endfor %}}"))) == rounds
    )


def test_a_range_has_its_own_limit() -> None:
    assert len(str(render("{{ range(100000)|length }}"))) == 6
    assert "range" in fault("{{ range(100001) }}").message


def test_a_guard_is_explained_by_its_operands() -> None:
    template = compile_template("{{ ctx.n > 3 and done('a') and ctx.x.y == 1 }}", Profile.SERVER)
    found = {operand.text: (operand.value, operand.defined) for operand in template.operands(SCOPE)}
    assert found == {
        "ctx.n > 3": (True, True), "ctx.n": (5, True), "done('a')": (True, True),
        "ctx.x.y == 1": (False, True), "ctx.x.y": (None, False),
    }  # fmt: skip


def test_a_template_tells_what_it_is() -> None:
    template = compile_template("{{ ctx.n > step['a'].status.done }}", Profile.SERVER)
    assert template.is_native
    assert not template.is_constant
    assert template.reads == {("ctx", "n"), ("step", "a", "status", "done")}
    assert compile_template("a {b} c", Profile.SERVER).is_constant
    assert not compile_template("{# c #}", Profile.SERVER).is_constant
    assert render("{# c #}") == ""
    assert compile_template("{{ 1 }}", Profile.SERVER) is compile_template(
        "{{ 1 }}", Profile.SERVER
    )


def test_a_nested_value_renders_every_string_but_no_key() -> None:
    value: Json = {"{{ k }}": ["{{ ctx.n }}", "n={{ ctx.n }}", 1, None], "c": {"d": "plain"}}
    template = compile_value(value, Profile.WORKER)
    assert template.render(SCOPE) == {"{{ k }}": [5, "n=5", 1, None], "c": {"d": "plain"}}
    assert template.reads == {("ctx", "n")}
    assert not template.is_constant
    assert list(template.templates) == [("{{ k }}", 0), ("{{ k }}", 1)]


def test_a_constant_value_is_returned_as_it_is() -> None:
    value: Json = {"a": [1, "b"]}
    template = compile_value(value, Profile.SERVER)
    assert template.is_constant
    assert template.render({}) is value


def test_an_error_in_a_nested_value_names_its_place() -> None:
    with pytest.raises(ExpressionError) as compiling:
        compile_value({"a": [1, "{{ b c }}"]}, Profile.SERVER)
    assert compiling.value.place == ("a", 1)
    with pytest.raises(ExpressionError) as rendering:
        compile_value({"a": {"b": "{{ nope }}"}}, Profile.SERVER).render({})
    assert rendering.value.place == ("a", "b")


EVIL = "{{7919*7907}}{% for x in range(9) %}{{ x }}{% endfor %}"
PRODUCT = str(7919 * 7907)
"""Digits that no text around it has by chance."""
SOURCES = [
    "{{ v }}", "a{{ v }}", "{{ v|upper|lower }}", "{{ [v, {'k': v}] }}", "{{ v ~ v }}", "{{ v|tojson|fromjson }}",
    "{% set a = v %}{{ a }}.", "{% for x in [v] %}{{ x }}{% endfor %}.", "{{ '%s'|format(v) }}", "{{ v.split('|')|join }}",
    "{{ v|default(v) }}", "{{ v|b64encode|b64decode }}", "{{ 'x'|replace('x', v) }}", "{{ o[v] }}", "{{ [v]|map('string') }}",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.spec("S6")
@given(st.sampled_from(SOURCES), st.text(max_size=10), st.text(max_size=10))
def test_values_are_never_rendered_again(source: str, before: str, after: str) -> None:
    value = (before + EVIL + after).replace("|", "")
    rendered = json.dumps(render(source, v=value, o={value: value}), ensure_ascii=False)
    assert PRODUCT not in rendered
    assert EVIL.lower() in rendered.lower()


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@pytest.mark.spec("S6")
@given(_json)
def test_one_pair_of_braces_gives_the_value_itself(value: Json) -> None:
    assert render("{{ v }}", v=value) == value
    assert render("{{ [v][0] }}", v=value) == value
    assert render("{{ v|tojson|fromjson }}", v=value) == value


@given(st.text(alphabet="{}%#-+*/~<>=!'\"abc.[](),:|_ 01notinifelsrdg\n", max_size=60))
def test_any_text_compiles_and_evaluates_or_is_refused(text: str) -> None:
    for source in (text, "{{ " + text + " }}"):
        try:
            template = compile_template(source, Profile.WORKER)
            template.test({"a": 1, "b": "x", "c": {"a": [1]}})
            json.dumps(template.render({"a": 1, "b": "x", "c": {"a": [1]}}), allow_nan=False)
        except ExpressionError as error:
            offset = error.offset
        else:
            offset = 0
        assert offset is not None
        assert 0 <= offset <= len(source)
