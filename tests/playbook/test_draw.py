from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import corpus, model, workflow
from thoroughness import some

from petra.playbook import model as m
from petra.playbook import read
from petra.playbook.draw import dot, mermaid

TRICKY = ["end", "a b", 'say "hi"', "a]b", "a|b", "<b>", "a\\", "x --> y", "é", "{{ x }}", "%%", "a;b", "graph", "a\nb"]  # fmt: skip


def drawn(names: list[str], guard: str) -> m.Playbook:
    steps = [
        m.Step(step=name, next=m.Router(arcs=[m.Arc(step=other, when=guard) for other in names]))
        for name in names
    ]
    return m.Playbook(
        api_version="petra/v1", kind="Playbook", metadata=m.Metadata(name=names[0]), workflow=steps
    )


def strings(text: str) -> str:
    """What is left of a dot text when its quoted strings are taken out."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', "S", text, flags=re.DOTALL)


@given(
    st.lists(
        st.sampled_from(TRICKY) | st.text(min_size=1, max_size=6),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
def test_no_name_escapes_its_quotes(names: list[str]) -> None:
    book = drawn(names, '{{ "a" == ctx.b|c }}')
    rest = strings(dot(book))
    assert '"' not in rest
    assert re.fullmatch(r"digraph S \{\n(?:  [\w \[\]=.;>,S-]+\n)+\}\n", rest)
    for line in mermaid(book).splitlines()[2:]:
        assert re.fullmatch(r'  s\d+(?:\[|\{)"[^"]*"(?:\]|\})|  s\d+ -->\|"[^"]*"\| s\d+', line), (
            line
        )


def test_a_playbook_is_drawn_with_its_forms() -> None:
    text = workflow("""
        - step: split
          next:
            spec: {mode: inclusive}
            arcs: [{step: ask, foreach: [1, 2]}, {step: rest, when: "{{ ctx.x > 1 }}"}, {step: rest, copies: 2, when: "{{ ctx.x <= 1 }}"}]
        - step: ask
          tool: {kind: human}
          next: {arcs: [{step: close}]}
        - step: rest
          tool: {kind: wait, for_s: 1}
          next: {arcs: [{step: close}]}
        - step: close
          spec: {join: {mode: all}}
          loop: {in: [1], iterator: n}
          tool: {kind: python, code: x}
    """)
    assert mermaid(model(text)).splitlines() == [
        "flowchart TD",
        "  start(( )) --> s0",
        '  s0{"split"}',
        '  s1(["ask · human"])',
        '  s2>"rest · wait"]',
        '  s3[["close · python · for each n · join all"]]',
        '  s0 -->|"each item"| s1',
        '  s0 -->|"ctx.x &gt; 1"| s2',
        '  s0 -->|"ctx.x &lt;= 1 · × 2"| s2',
        "  s1 --> s3",
        "  s2 --> s3",
    ]
    assert "s0" not in dot(model(text))
    assert '  "close" [shape=box3d label="close · python · for each n · join all"];' in dot(
        model(text)
    )


@pytest.mark.parametrize("path", some(corpus()), ids=lambda path: path.name)
def test_every_playbook_of_the_corpus_can_be_drawn(path: object) -> None:
    reading = read(path.read_text("utf-8"))  # type: ignore[attr-defined]
    if reading.ok:
        assert mermaid(reading.checked()).startswith("flowchart TD\n")
        assert dot(reading.checked()).startswith("digraph ")
