from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from petra.errors import ExpressionError
from petra.expr import paths, rewrite, wrap_bare

RENAMED = {
    ("output",): ("outcome",),
    ("output", "data"): ("outcome", "result"),
    ("name",): ("ctx", "name"),
    ("this",): ("outcome", "result"),
}


def read(source: str) -> list[tuple[str, ...]]:
    return [use.path for use in paths(source)]


@pytest.mark.spec("S4", "S6")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("plain", [], id="a text without braces reads nothing"),
        pytest.param("{{ ctx.open }}", [("ctx", "open")], id="a dotted path"),
        pytest.param("{{ step['a'].status }}", [("step", "a", "status")], id="constant subscripts count"),
        pytest.param("{{ rows[0].id }}", [("rows", "0", "id")], id="constant numbers count"),
        pytest.param("{{ rows.0.1 }}", [("rows", "0", "1")], id="numbers after dots count"),
        pytest.param("{{ a[b.c].d }}", [("a",), ("b", "c")], id="a computed subscript ends the path"),
        pytest.param("{{ done('a') }}", [("done()", "a")], id="a helper with a constant argument"),
        pytest.param("{{ all_done(['a', 'b']) }}", [("all_done()", "a", "b")], id="lists are flat"),
        pytest.param("{{ done(ctx.s) }}", [("done()",), ("ctx", "s")], id="a computed argument"),
        pytest.param("{{ 'ctx.a' ~ \"}} {{ x\" }}", [], id="strings are not names"),
        pytest.param("{# ctx.a #}{% raw %}{{ x }}{% endraw %}", [], id="comments and raw text"),
        pytest.param(
            "{% for o in ctx.l if o.x %}{{ o.id ~ loop.index ~ y }}{% endfor %}{{ o }}",
            [("ctx", "l"), ("y",), ("o",)],
            id="loop names are bound inside the loop only",
        ),
        pytest.param("{% set a = b %}{{ a.c }}", [("b",)], id="set binds what follows"),
        pytest.param("{{ a }}{% set a = 1 %}", [("a",)], id="set binds nothing before it"),
        pytest.param("{% with a = b, c = a %}{{ c }}{% endwith %}{{ c }}", [("b",), ("c",)], id="with"),
        pytest.param("{{ x|default(y, z=w) }}", [("x",), ("y",), ("w",)], id="filters are not names"),
        pytest.param("{{ x.get('y') }}", [("x",)], id="a method is not a part of the path"),
    ],
)  # fmt: skip
def test_a_template_reads(source: str, expected: list[tuple[str, ...]]) -> None:
    assert read(source) == expected


@pytest.mark.spec("S1")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ output.data.x }}", "{{ outcome.result.x }}"),
        ("{{ output['data'][0] }}", "{{ outcome.result[0] }}"),
        ("{{ output.status }}", "{{ outcome.status }}"),
        ("a {{name}}  {{ 'name' }} name", "a {{ctx.name}}  {{ 'name' }} name"),
        ("{{ x.name|default(this) }}", "{{ x.name|default(outcome.result) }}"),
        ("{{ output[output.data.x].y }}", "{{ outcome[outcome.result.x].y }}"),
        (
            "{% for name in xs %}{{ name }}{% endfor %}",
            "{% for name in xs %}{{ name }}{% endfor %}",
        ),
        ("{%- if name  -%} y {% endif %}", "{%- if ctx.name  -%} y {% endif %}"),
        ("{{ output.data.get('x') }}", "{{ outcome.result.get('x') }}"),
    ],
)
def test_renaming_touches_only_the_leading_path(source: str, expected: str) -> None:
    assert rewrite(source, RENAMED.get) == expected


def test_a_renamed_path_is_quoted_where_it_must_be() -> None:
    assert rewrite("{{ a }}", lambda _: ("step", "it's", "x y")) == "{{ step['it\\'s']['x y'] }}"


@pytest.mark.spec("S1")
def test_a_bare_condition_is_told_from_a_text() -> None:
    assert wrap_bare("done('a') and ctx.x") == "{{ done('a') and ctx.x }}"
    assert wrap_bare("hello there") is None
    assert wrap_bare("{{ x }}") is None
    assert wrap_bare("  ") is None


@given(st.text(alphabet="{}%#-'\"abc.[]()|~ 01\n", max_size=40))
def test_any_text_has_paths_or_an_error_and_renaming_nothing_changes_nothing(source: str) -> None:
    try:
        found = paths(source)
    except ExpressionError as error:
        event(error.kind)
        offset = error.offset
    else:
        offset = 0
        assert rewrite(source, lambda _: None) == source
        assert rewrite(source, lambda path: path if len(path) == 1 else None) == source
        for use in found:
            assert source[use.start : use.end].startswith(use.path[0].removesuffix("()"))
    assert offset is not None
    assert 0 <= offset <= len(source)
