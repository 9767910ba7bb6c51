"""An expression comes to the same whether its data is at hand or behind references (S18)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import few

from petra.errors import ExpressionError, UnreadableError
from petra.expr import FILTERS, FUNCTIONS, METHODS, PREDICATES, Profile, compile_template
from petra.expr.frame import FOLLOW
from petra.expr.operators import ARITHMETIC, COMPARISONS
from petra.expr.value import compile_value
from petra.references import WORKER_ROOM, Followed, Itself, NeededError, Reference, is_reference
from petra.values import Json, canonical

pytestmark = pytest.mark.spec("S18")

ROWS: list[Json] = [
    {"id": 3, "name": "Cy", "tags": ["a", "b"], "at": {"x": 1}},
    {"id": 1, "name": "ada", "tags": [], "at": {"x": 2}},
    {"id": 2, "name": "Bob", "tags": ["b"], "at": {"x": 1}},
]
DATA: dict[str, Json] = {
    "rows": ROWS, "numbers": [3, 1, 2, 1], "words": ["b", "A", "c"], "row": ROWS[0], "text": "Ab c\nd-e",
    "n": 7, "f": 2.5, "yes": True, "no": False, "nothing": None, "empty": [], "hollow": {}, "json": '{"a": [1]}',
    "b64": "QWI=", "pairs": [["a", 1], ["b", 2]], "nested": [[1, 2], [3]], "zero": 0, "half": 2, "two": 2,
    "page": {"rows": ROWS, "next": None, "at": 4},
}  # fmt: skip


class Shelf:
    """Objects that were stored, and how a scope with references to them reads one after the other."""

    def __init__(self) -> None:
        self.stored: dict[str, Any] = {}
        self.reads: list[str] = []

    def put(self, value: Any) -> dict[str, Any]:
        content = canonical(value)
        checksum = hashlib.sha256(content).hexdigest()
        key = f"e1/{checksum}.json"
        self.stored[key] = value
        return Reference(store="local", key=key, checksum=checksum, size=len(content)).as_data()

    def deep(self, value: Any) -> dict[str, Any]:
        """Store a value, and everything in it by itself."""
        if isinstance(value, list):
            value = [self.deep(item) for item in value]
        elif isinstance(value, dict):
            value = {key: self.deep(item) for key, item in value.items()}
        return self.put(value)

    def follow(self, evaluate: Any, scope: dict[str, Any]) -> Any:
        followed = Followed(room=WORKER_ROOM)
        for _ in range(200):
            try:
                return evaluate({**scope, FOLLOW: followed})
            except NeededError as needed:
                for reference in needed.references:
                    self.reads.append(reference["key"])
                    followed.put(reference, self.stored[reference["key"]])
        raise AssertionError("it asks for ever")


def came_to(evaluate: Any, *arguments: Any) -> tuple[str, Any]:
    """Return what an evaluation comes to: a value as its bytes, or an error."""
    try:
        found = evaluate(*arguments)
        return "value", canonical(found)
    except ExpressionError as error:
        return error.kind, error.message


def same(source: str, data: dict[str, Any] = DATA) -> tuple[str, Any]:
    """Assert that a template means the same over data, references to it, and references all the way down."""
    template = compile_template(source, Profile.WORKER)
    plain = came_to(template.render, data)
    for store in (Shelf.put, Shelf.deep):
        shelf = Shelf()
        scope = {name: store(shelf, value) for name, value in data.items()}
        assert came_to(shelf.follow, template.render, scope) == plain, store.__name__
        if "{%" not in source and template.is_native:
            held = came_to(template.test, data)
            assert came_to(shelf.follow, template.test, scope) == held, store.__name__
            kept = came_to(
                lambda scope, shelf=shelf: shelf.follow(resolved_after(template), scope),
                scope,
            )
            assert kept == plain, store.__name__
    return plain


def resolved_after(template: Any) -> Any:
    """Return what hands a value on, and then looks through what was handed on."""

    def evaluate(scope: dict[str, Any]) -> Any:
        kept = template.hand_on(scope, limit=40)
        look = compile_template("{{ kept }}", Profile.WORKER)
        return look.render({"kept": kept, FOLLOW: scope[FOLLOW]})

    return evaluate


FILTER_USES: dict[str, list[str]] = {
    "abs": ["n|abs"], "b64decode": ["b64|b64decode"], "b64encode": ["text|b64encode", "row|b64encode"],
    "batch": ["rows|batch(2)", "numbers|batch(half, row)"], "bool": ["yes|bool", "rows|bool"],
    "capitalize": ["text|capitalize"], "center": ["text|center(n)"], "count": ["rows|count"],
    "d": ["rows|d([])", "gone|d(rows)", "empty|d(rows, true)", "row.gone|d(row)"],
    "default": ["rows|default([])", "gone|default(rows)", "hollow|default(n, yes)", "zero|default(rows, no)"],
    "dictsort": ["row|dictsort", "hollow|dictsort", "{'a': n, 'b': zero}|dictsort(by='value')"],
    "first": ["rows|first", "(rows|first).name", "text|first", "row|first", "empty|first"], "float": ["n|float"],
    "format": ["'%s of %d'|format(row, n)", "'%s'|format(rows)"], "fromjson": ["json|fromjson"],
    "groupby": ["rows|groupby('at.x')", "rows|groupby('tags')", "rows|groupby('gone', row)"],
    "indent": ["text|indent(two)", "text|indent(text)"], "int": ["f|int", "text|int(n)"],
    "items": ["row|items", "row|items|first"], "join": ["words|join(text)", "rows|join(',')", "rows|join(',', 'name')"],
    "keys": ["row|keys"], "last": ["rows|last", "(rows|last).at.x"], "length": ["rows|length", "row|length", "text|length"],
    "lines": ["text|lines"], "list": ["rows|list", "row|list", "text|list"], "lower": ["text|lower", "rows|lower"],
    "map": ["words|map('upper')", "rows|map(attribute='at.x')", "rows|map(attribute='gone', default=row)",
            "nested|map('length')", "nested|map('map', 'abs')", "rows|map('tojson')"],
    "max": ["numbers|max", "rows|max(attribute='id')", "nested|max"], "min": ["numbers|min", "words|min"],
    "reject": ["numbers|reject('eq', half)", "rows|reject('eq', row)"],
    "rejectattr": ["rows|rejectattr('tags')", "rows|rejectattr('at', 'eq', {'x': 1})"],
    "replace": ["text|replace('b', n)", "rows|replace('a', text)"], "reverse": ["rows|reverse", "text|reverse"],
    "round": ["f|round"], "safe": ["rows|safe"], "select": ["numbers|select('in', numbers)", "nested|select('sequence')",
                                                           "[zero, n, empty, rows]|select"],
    "selectattr": ["rows|selectattr('tags')", "rows|selectattr('id', 'in', numbers)", "rows|selectattr('at.x', 'eq', 1)"],
    "slice": ["rows|slice(half)", "numbers|slice(3, row)"],
    "sort": ["numbers|sort", "rows|sort(attribute='name')", "nested|sort", "rows|sort(reverse=yes, attribute='at.x')"],
    "split": ["text|split", "text|split(' ')"], "string": ["rows|string", "n|string"],
    "sum": ["numbers|sum", "rows|sum(attribute='id')", "rows|sum('at.x', n)"], "title": ["text|title"],
    "tojson": ["rows|tojson", "page|tojson(indent=two)", "[rows, {'a': row}]|tojson"], "trim": ["text|trim"],
    "truncate": ["text|truncate(5)"], "unique": ["numbers|unique", "rows|unique(attribute='at')", "nested|unique"],
    "upper": ["text|upper", "row|upper"], "urlencode": ["text|urlencode", "row|urlencode", "{'a': nothing, 'b': n}|urlencode"],
    "values": ["row|values", "row|values|first"], "wordcount": ["text|wordcount"],
    "combine": ["row|combine(rows[1])", "row|combine({'at': {'y': n}}, rows[1], recursive=yes)", "row|combine(rows)"],
    "flatten": ["nested|flatten", "[rows, nested]|flatten(1)", "pairs|flatten"], "hash": ["rows|hash", "text|hash('md5')"],
    "regex_replace": ["text|regex_replace('[a-c]+', text)", "text|regex_replace(text, words[0], yes)"],
    "zone": ["'2024-02-29'|zone('Europe/Paris')", "n|zone('UTC')"],
    "strftime": ["n|strftime('%F %T')", "'2024-02-29'|strftime(words[0])"], "zip": ["rows|zip(numbers, nested)", "rows|zip(n)"],
}  # fmt: skip
TEST_USES: dict[str, list[str]] = {
    "boolean": ["yes is boolean", "row is boolean"], "containing": ["rows is containing row", "text is containing 'A'"],
    "defined": ["rows is defined", "row.gone is defined"], "divisibleby": ["n is divisibleby two"],
    "endingwith": ["text is endingwith text"], "eq": ["rows is eq rows", "row is eq n"], "equalto": ["rows is equalto rows"],
    "even": ["two is even"], "false": ["no is false", "rows is false"], "float": ["f is float"], "ge": ["n is ge two"],
    "greaterthan": ["n is greaterthan two"], "gt": ["n is gt f"], "in": ["row is in rows", "n is in numbers"],
    "integer": ["n is integer"], "iterable": ["rows is iterable", "n is iterable"], "le": ["n is le n"],
    "lessthan": ["zero is lessthan n"], "lower": ["text is lower"], "lt": ["n is lt two"],
    "mapping": ["row is mapping", "rows is mapping", "n is mapping"], "ne": ["row is ne rows", "row is ne row"],
    "none": ["nothing is none", "row is none"], "null": ["nothing is null", "row is null"],
    "number": ["n is number", "row is number"], "odd": ["n is odd"], "sequence": ["rows is sequence", "row is sequence"],
    "startingwith": ["text is startingwith 'A'"], "string": ["text is string", "row is string"],
    "true": ["yes is true", "row is true"], "truthy": ["empty is truthy", "rows is truthy", "zero is truthy"],
    "undefined": ["rows is undefined", "row.gone is undefined"], "upper": ["text is upper"],
}  # fmt: skip
METHOD_USES: dict[str, list[str]] = {
    "capitalize": ["text.capitalize()"], "count": ["text.count('b')", "rows.count(row)"],
    "endswith": ["text.endswith(text)"], "find": ["text.find('c')"], "get": ["row.get('at')", "row.get('gone', rows)"],
    "index": ["rows.index(row)", "numbers.index(half)"], "isdigit": ["text.isdigit()"], "items": ["row.items()"],
    "join": ["text.join(words)", "','.join(rows)"], "keys": ["row.keys()"], "lower": ["text.lower()"],
    "lstrip": ["text.lstrip('A')"], "removeprefix": ["text.removeprefix('A')"], "removesuffix": ["text.removesuffix('e')"],
    "replace": ["text.replace('b', text)"], "rstrip": ["text.rstrip(text)"], "split": ["text.split('b')"],
    "splitlines": ["text.splitlines()"], "startswith": ["text.startswith('A')"], "strip": ["text.strip('e')"],
    "title": ["text.title()"], "upper": ["text.upper()"], "values": ["row.values()"],
}  # fmt: skip
FUNCTION_USES: dict[str, list[str]] = {
    "dict": ["dict(row, id=rows)", "dict(a=rows).a[0].name"], "namespace": ["namespace(a=rows).a|length"],
    "date": ["date(n)", "date(text)", "date(f) + n", "date('1.2.2024', '%d.%m.%Y') - date(n)"],
    "duration": ["duration(n)", "duration(text)", "duration(days=n)"], "now": ["now()"],
    "range": ["range(n)", "range(zero, n, two)"], "ref": ["ref(n) + 0 if no else 1"],
}  # fmt: skip
OPERATOR_USES: dict[str, list[str]] = {
    "+": ["rows + rows", "n + f", "text + text", "row + n"], "-": ["n - f", "rows - n"], "*": ["numbers * two", "text * two"],
    "/": ["n / two"], "//": ["n // two"], "%": ["n % two"], "**": ["two ** n"], "~": ["rows ~ text", "row ~ n"],
    "==": ["rows == rows", "row == rows[0]", "n == 7", "rows == n"], "!=": ["row != rows[1]", "nothing != none"],
    "<": ["n < f", "text < text", "rows < n"], "<=": ["n <= n"], ">": ["rows[0].id > 2"], ">=": ["f >= n"],
    "in": ["row in rows", "'id' in row", "'A' in text", "n in numbers", "rows in [rows]"], "not in": ["row not in empty"],
}  # fmt: skip
OTHERS = [
    "{{ rows }}", "{{ rows[0].tags[0] }}", "{{ rows[-1]['at'].x }}", "{{ page.rows[zero].name }}", "{{ row[words[0]] }}",
    "{{ page.gone }}", "{{ page.rows[9] }}", "{{ rows.name }}", "{{ rows[1:] }}", "{{ rows[zero:two][1].id }}",
    "{{ rows|select(rows) }}", "{{ rows|map(row) }}", "{{ not empty }}", "{{ not rows }}", "{{ -n }}", "{{ +f }}", "{{ -rows }}", "{{ rows and n }}", "{{ empty or row }}",
    "{{ 1 if empty else 2 }}", "{{ rows if yes else n }}", "{{ rows if no }}", "{{ [rows, n] }}", "{{ {'a': row, 'b': n} }}",
    "{{ {text: n} }}", "{{ 1 < n < 9 }}", "{{ page }}", "{{ rows|selectattr('tags')|map(attribute='name')|join(',') }}",
    "n is {{ n }}, rows are {{ rows }}", "{% if empty %}a{% elif rows %}b{% else %}c{% endif %}",
    "{% for row in rows %}{{ row.name }}{{ loop.index }}{% else %}none{% endfor %}",
    "{% for row in rows if row.tags %}{{ row.tags }}{% endfor %}", "{% for r in empty %}x{% else %}none{% endfor %}",
    "{% for a, b in pairs %}{{ a }}={{ b }};{% endfor %}", "{% for k, v in row|items %}{{ k }}{{ v }}{% endfor %}",
    "{% for x in rows %}{{ loop.previtem.name|default('-') }}{% endfor %}", "{% for key in row %}{{ key }}{% endfor %}",
    "{% set x = rows %}{{ x[0].name }}{{ x|length }}",
    "{% set a, b = pairs %}{{ a }}{{ b[1] }}",
    "{% with x = page %}{{ x.rows|length }}{% endwith %}", "{% set x %}{{ rows }}{% endset %}{{ x|length }}",
    "{% set s = namespace(t=zero) %}{% for r in rows %}{% set s.t = s.t + r.id %}{% endfor %}{{ s.t }}",
]  # fmt: skip


def uses(table: dict[str, list[str]]) -> list[str]:
    return [f"{{{{ {use} }}}}" for found in table.values() for use in found]


@pytest.mark.parametrize(
    ("table", "registry"),
    [
        (FILTER_USES, FILTERS), (TEST_USES, PREDICATES), (METHOD_USES, METHODS), (FUNCTION_USES, FUNCTIONS),
        (OPERATOR_USES, {**ARITHMETIC, **COMPARISONS}),
    ],
)  # fmt: skip
def test_everything_that_an_expression_can_do_is_tried(table: Any, registry: Any) -> None:
    assert table.keys() == set(registry)


@pytest.mark.parametrize(
    "source",
    [
        *uses(FILTER_USES), *uses(TEST_USES), *uses(METHOD_USES), *uses(FUNCTION_USES), *uses(OPERATOR_USES), *OTHERS,
    ],
)  # fmt: skip
def test_a_reference_is_its_value(source: str) -> None:
    same(source)


@pytest.mark.parametrize(
    "source", ["{{ fetch.data.rows | default([]) }}", "{{ fetch.data.rows | length > 10 }}"]
)
def test_what_once_turned_false_over_large_data_does_not(source: str) -> None:
    rows: list[Json] = [{"id": n} for n in range(3_000)]
    came, value = same(source, {"fetch": {"status": 200, "data": {"rows": rows}}})
    assert came == "value"
    assert value in (canonical(rows), b"true")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
SHAPES = st.sampled_from(
    ["a|{f}", "a|{f}(b)", "[a, b]|{f}", "a|map('{f}')", "[a, b]|map('{f}', 1)", "(a|{f}) == b", "{{'k': a}}|{f}"]
)  # fmt: skip


@settings(max_examples=few(300), deadline=None)
@given(shape=SHAPES, name=st.sampled_from(sorted(FILTERS)), a=VALUES, b=VALUES)
def test_any_filter_over_any_value_is_the_same(shape: str, name: str, a: Json, b: Json) -> None:
    source = "{{ " + shape.format(f=name) + " }}"
    try:
        compile_template(source, Profile.WORKER)
    except ExpressionError:
        return
    same(source, {"a": a, "b": b})


def test_only_what_is_used_is_read() -> None:
    shelf = Shelf()
    scope: dict[str, Any] = {"a": shelf.put([1]), "b": shelf.put([2]), "n": 3}
    for source in ("{{ n }}", "{{ a is defined }}", "{{ a if n else b }}", "{{ a|default(b) }}"):
        template = compile_template(source, Profile.SERVER)
        shelf.follow(lambda scope, template=template: template.hand_on(scope), scope)
    assert shelf.reads == []
    shelf.follow(compile_template("{{ a[0] if n else b[0] }}", Profile.SERVER).render, scope)
    assert shelf.reads == [scope["a"]["key"]]


def test_many_references_are_asked_for_together() -> None:
    shelf = Shelf()
    scope = {"results": [shelf.put([n]) for n in range(50)], FOLLOW: Followed()}
    for source in ("{{ results|map('first')|sum }}", "{{ results|tojson }}"):
        with pytest.raises(NeededError) as needed:
            compile_template(source, Profile.SERVER).render(scope)
        assert len(needed.value.references) == 50


def test_ref_is_the_reference_itself_and_reads_nothing() -> None:
    shelf = Shelf()
    page = {"rows": list(range(100)), "n": 1}
    scope: dict[str, Any] = {"page": shelf.put(page), "small": [1]}
    render = compile_value(
        {"whole": "{{ ref(page) }}", "at": ["{{ {'x': ref(page)} }}"], "small": "{{ ref(small) }}"},
        Profile.WORKER,
    ).render
    found: Any = shelf.follow(render, scope)
    assert shelf.reads == []
    assert found == {"whole": scope["page"], "at": [{"x": scope["page"]}], "small": [1]}
    assert type(found["whole"]) is Itself
    part: Any = shelf.follow(compile_template("{{ ref(page.rows) }}", Profile.WORKER).render, scope)
    assert part == {**scope["page"], "path": ["rows"]}
    again = compile_template("{{ page.size|default('none') }}", Profile.WORKER)
    assert shelf.follow(again.render, {"page": found["whole"]}) == scope["page"]["size"]


def test_what_is_handed_on_stays_a_reference_and_small_parts_are_copied() -> None:
    shelf = Shelf()
    scope = {
        "page": shelf.put({"rows": list(range(100)), "n": 1, "deep": [{"x": list(range(100))}]})
    }
    render = compile_value(
        {
            "whole": "{{ page }}", "rows": "{{ page.rows }}", "or": "{{ page.rows|default([]) }}", "n": "{{ page.n }}",
            "x": "{{ page.deep[0]['x'] }}", "count": "{{ page.rows|length }}", "some": "{{ page.rows or [] }}",
        },
        Profile.SERVER,
    )  # fmt: skip
    found = shelf.follow(lambda scope: render.hand_on(scope, 50), scope)
    rows = {**scope["page"], "path": ["rows"]}
    assert found == {
        "whole": scope["page"], "rows": rows, "or": rows, "some": rows, "n": 1, "count": 100,
        "x": {**scope["page"], "path": ["deep", 0, "x"]},
    }  # fmt: skip
    assert is_reference(found["x"])


def test_a_part_that_is_not_there_is_undefined_though_it_is_only_handed_on() -> None:
    shelf = Shelf()
    template = compile_template("{{ page.gone }}", Profile.SERVER)
    with pytest.raises(ExpressionError, match=r"page\.gone is undefined"):
        shelf.follow(template.hand_on, {"page": shelf.put({"rows": 1})})


def test_what_cannot_be_read_is_neither_undefined_nor_false() -> None:
    shelf = Shelf()
    lost = shelf.put([1])
    followed = Followed()
    followed.put(lost, UnreadableError("not_found", "it is gone"))
    for source in (
        "{{ lost|default(1) ~ '' }}",
        "{{ lost }}",
        "{{ lost[0] }}",
        "{{ lost|length }}",
    ):
        template = compile_template(source, Profile.SERVER)
        for evaluate in (template.render, template.test):
            with pytest.raises(UnreadableError, match="gone"):
                evaluate({"lost": lost, FOLLOW: followed})


def test_a_scope_that_cannot_follow_has_data_that_looks_like_a_reference() -> None:
    like = Shelf().put([1])
    assert compile_template("{{ like.size }}", Profile.SERVER).render({"like": like}) == 3
    own = {"checksum": "abc", "n": 1}
    assert same("{{ own.checksum ~ own.n }}", {"own": own}) == ("value", b'"abc1"')


@pytest.mark.slow
def test_work_grows_with_the_data_and_bombs_do_not() -> None:
    rows: list[Json] = [{"id": n, "ok": n % 2 == 0} for n in range(60_000)]
    source = "{{ rows|selectattr('ok')|map(attribute='id')|map('string')|join(',')|length }}"
    with pytest.raises(ExpressionError, match="too much work"):
        compile_template(source, Profile.WORKER).render({"rows": rows})  # with no room for it
    shelf = Shelf()
    scope = {"rows": shelf.put(rows)}
    found = shelf.follow(compile_template(source, Profile.WORKER).render, scope)
    assert found == len(",".join(str(n) for n in range(0, 60_000, 2)))
    bomb = compile_template(
        "{% for a in rows %}{% for b in rows %}x{% endfor %}{% endfor %}", Profile.WORKER
    )
    with pytest.raises(ExpressionError, match="too"):
        shelf.follow(bomb.render, {"rows": shelf.put(list(range(20_000)))})
