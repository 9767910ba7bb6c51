"""Our evaluator against minijinja: on what both can do, they must agree.

Expressions and templates are generated from the common subset. Where Petra gives a value, minijinja
must give the same one or refuse; where Petra refuses (undefined, types, limits), minijinja is free.
"""

from __future__ import annotations

from typing import Any

import minijinja
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from thoroughness import few

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template

SCOPE: dict[str, Any] = {
    "n": 7, "z": 0, "f": 2.5, "s": "Ab c", "e": "", "l": [3, 1, 2], "w": ["b", "A", "c"], "t": True, "o": None,
    "d": {"a": 1, "b": {"c": [1, 2]}}, "rows": [{"k": "x", "v": 1}, {"k": "y", "v": 2}, {"k": "x", "v": 3}],
}  # fmt: skip
ORACLE = minijinja.Environment(undefined_behavior="chainable", keep_trailing_newline=True)

leaves = st.sampled_from(
    [*SCOPE, "d.a", "d.b.c", "d['b'].c[1]", "l[0]", "l[-1]", "s[1]", "rows[0].k", "d.nope.x", "nope", "1", "0", "2.5",
     "-3", "'a'", "''", '"x y"', "true", "false", "none", "[]", "[1, 'a']", "{'a': 1}", "s[1:]", "l[::2]", "l[:-1]"]
)  # fmt: skip
FILTERS = [
    "upper", "lower", "length", "first", "last", "sort", "join('-')", "sum", "min", "max", "abs", "default(5)", "d('x', true)",
    "title", "capitalize", "trim", "replace('b', 'c')", "list", "reverse", "unique", "map('string')", "select('odd')",
    "reject('gt', 1)", "map(attribute='k')", "selectattr('v', 'gt', 1)", "rejectattr('k', 'eq', 'x')", "string", "sort(reverse=true)",
    "sum(attribute='v')", "split(' ')", "int(default=0)", "float(default=0.0)", "items|map('first')|join", "batch(2)", "slice(2)", "round", "dictsort|map('last')|list",
    "indent(2)", "urlencode", "map('upper')|join",
]  # fmt: skip
TESTS = [
    "defined",
    "undefined",
    "none",
    "string",
    "mapping",
    "eq 1",
    "not defined",
    "in [1, 'a']",
    "true",
]
SIGNS = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "~",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "and",
    "or",
    "in",
    "not in",
]


def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(lambda a, sign, b: f"{a} {sign} {b}", inner, st.sampled_from(SIGNS), inner),
        st.builds(lambda a, sign, b: f"({a}) {sign} ({b})", inner, st.sampled_from(SIGNS), inner),
        st.builds(lambda a, name: f"({a})|{name}", inner, st.sampled_from(FILTERS)),
        st.builds(lambda a, name: f"{a}|{name}", inner, st.sampled_from(FILTERS)),
        st.builds(lambda a, name: f"(({a}) is {name})", inner, st.sampled_from(TESTS)),
        st.builds(lambda a, b, c: f"({a} if {b} else {c})", inner, inner, inner),
        st.builds(lambda a: f"not {a}", inner),
        st.builds(lambda a, b: f"[{a}, {b}]", inner, inner),
        st.builds(lambda a, b: "{'p': " + a + ", 'q': " + b + "}", inner, inner),
    )


expressions = st.recursive(leaves, grow, max_leaves=6)
pieces = st.recursive(
    st.builds(lambda text: "{{ " + text + " }}", leaves) | st.sampled_from(["x", " ", "\n", "{# c #}", "{{- n -}}"]),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda c, a, b: f"{{% if {c} %}}{a}{{% else %}}{b}{{% endif %}}", leaves, inner, inner),
        st.builds(lambda c, a: f"{{% for n in {c} %}}{{{{ loop.index }}}}{a}{{% endfor %}}", leaves, inner),
        st.builds(lambda c, a: f"{{% for k in l if k > 1 %}}{a}{{{{ k }}}}{{% else %}}{c}{{% endfor %}}", leaves, inner),
        st.builds(lambda c, a: f"{{% set n = {c} %}}{a}", leaves, inner),
        st.builds(lambda c, a: f"{{% with s = {c} %}}{a}{{% endwith %}}", leaves, inner),
        st.builds(lambda a, b: f"{{%- set s -%}} {{{{ {a} }}}} {{%- endset -%}}{b}", leaves, inner),
    ),
    max_leaves=6,
)  # fmt: skip


def same(ours: object, theirs: object) -> bool:
    """Equal as JSON: their tuples are lists."""
    if isinstance(theirs, list | tuple) and isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    return ours == theirs


@pytest.mark.spec("S6")
@settings(max_examples=few(400), deadline=None)
@given(expressions)
def test_an_expression_means_what_it_means_in_minijinja(text: str) -> None:
    try:
        ours = compile_template("{{ " + text + " }}", Profile.SERVER).render(SCOPE)
        theirs = ORACLE.eval_expr(text, **SCOPE)
    except (ExpressionError, minijinja.TemplateError) as error:
        event(getattr(error, "kind", "refused by minijinja"))
    else:
        assert same(ours, theirs), (ours, theirs)


@pytest.mark.spec("S6")
@settings(max_examples=few(300), deadline=None)
@given(pieces)
def test_a_template_means_what_it_means_in_minijinja(source: str) -> None:
    try:
        ours = compile_template("." + source, Profile.WORKER).render(SCOPE)
    except ExpressionError as error:
        event(error.kind)
        return
    assert ours == ORACLE.render_str("." + source, **SCOPE)
