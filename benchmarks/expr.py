"""What an expression costs: compiling, testing, rendering. Run: python benchmarks/expr.py"""

from __future__ import annotations

import timeit
from typing import TYPE_CHECKING

import minijinja

from petra.expr import Profile, compile_template, compile_value
from petra.expr.blocks import _parse
from petra.expr.template import _compiled

if TYPE_CHECKING:
    from collections.abc import Callable

GUARD = "{{ event.name == 'step.done' and ctx.n > 3 }}"
TEXT = "order {{ ctx.order.id }} of {{ ctx.order.customer|upper }}: {{ ctx.rows|length }} rows"
LOOP = "{% for row in ctx.rows %}{{ loop.index }}:{{ row.id }},{% endfor %}"
SCOPE = {
    "event": {"name": "step.done", "status": "ok"},
    "ctx": {"n": 5, "order": {"id": 7, "customer": "ada"}, "rows": [{"id": n} for n in range(10)]},
}
VALUE = {"url": "https://x/{{ ctx.order.id }}", "json": {"n": "{{ ctx.n }}", "plain": "text"}}


def microseconds(work: Callable[[], object], number: int) -> float:
    return min(timeit.repeat(work, number=number, repeat=5)) / number * 1e6


def compile_fresh() -> object:
    _compiled.cache_clear()
    _parse.cache_clear()
    return compile_template(GUARD, Profile.SERVER)


def main() -> None:
    guard = compile_template(GUARD, Profile.SERVER)
    constant = compile_template("plain text", Profile.SERVER)
    text = compile_template(TEXT, Profile.SERVER)
    loop = compile_template(LOOP, Profile.WORKER)
    value = compile_value(VALUE, Profile.WORKER)
    oracle = minijinja.Environment(templates={"guard": GUARD})
    rows: list[tuple[str, Callable[[], object], int]] = [
        ("compile the guard, fresh", compile_fresh, 500),
        ("compile the guard, remembered", lambda: compile_template(GUARD, Profile.SERVER), 50_000),
        ("test the guard", lambda: guard.test(SCOPE), 50_000),
        ("render the guard", lambda: guard.render(SCOPE), 50_000),
        ("render a constant", lambda: constant.render(SCOPE), 50_000),
        ("render a text with three outputs", lambda: text.render(SCOPE), 20_000),
        ("render a loop of ten rounds", lambda: loop.render(SCOPE), 5_000),
        ("render a nested value", lambda: value.render(SCOPE), 20_000),
        ("minijinja: render the guard", lambda: oracle.render_template("guard", **SCOPE), 20_000),
    ]
    for name, work, number in rows:
        print(f"{name:36} {microseconds(work, number):9.2f} µs")


if __name__ == "__main__":
    main()
