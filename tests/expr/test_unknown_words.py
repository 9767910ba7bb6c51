"""Words of other engines: a template that has one can be compiled, and fails whoever evaluates it."""

from __future__ import annotations

import pytest

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template, compile_value

pytestmark = pytest.mark.spec("S1")

WORDS = [
    ("{{ token('x') and ctx.a }}", "unknown_function"),
    ("{{ ctx.a | zzz }}", "unknown_filter"),
    ("{{ ctx.a | map('zzz') | list }}", "unknown_filter"),
    ("{{ ctx.a is zzz }}", "unknown_test"),
    ("{{ ctx.a.zzz(1) }}", "unknown_method"),
    ("{% if ctx.a %}x{% endif %}", "statement"),
]


@pytest.mark.parametrize(("text", "kind"), WORDS)
def test_a_word_that_nobody_knows_is_the_error_of_whoever_evaluates_it(
    text: str, kind: str
) -> None:
    with pytest.raises(ExpressionError):
        compile_template(text, Profile.SERVER)
    template = compile_template(text, Profile.SERVER, strict=False)
    assert ("ctx", "a") in template.reads
    scope = {"ctx": {"a": [1]}}
    for evaluate in (template.render, template.test, template.hand_on):
        with pytest.raises(ExpressionError) as caught:
            evaluate(scope)
        assert (caught.value.kind, caught.value.source) == (kind, text)
    assert isinstance(template.operands(scope), list)


def test_a_statement_that_nobody_knows_reads_nothing() -> None:
    template = compile_template("{% macro x %}{% endmacro %}", Profile.WORKER, strict=False)
    assert template.reads == frozenset()
    with pytest.raises(ExpressionError):
        template.render({})


@pytest.mark.parametrize("text", ["{{ 1 2 }}", "{{ (1 }}", "{{"])
def test_broken_text_is_refused_either_way(text: str) -> None:
    with pytest.raises(ExpressionError):
        compile_template(text, Profile.SERVER, strict=False)


def test_the_place_of_such_a_word_in_a_value_is_told_when_it_is_rendered() -> None:
    value = compile_value({"a": ["{{ zzz() }}"]}, Profile.SERVER, strict=False)
    with pytest.raises(ExpressionError) as caught:
        value.render({})
    assert caught.value.place == ("a", 0)
