"""What may stand at a place, by the grammar and by the author's own names."""

from __future__ import annotations

import pytest

from petra.editor.complete import complete
from petra.editor.words import NAMES
from petra.expr import SCOPES
from petra.kinds import KINDS

BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: p}
keychain:
  - {name: shop, kind: env, var: SHOP}
executor:
  spec:
    ctx: {seen: {reduce: append}}
    regions: {early: [a, b]}
workload: {limit: 3}
workbook: {load: {kind: noop}}
workflow:
  - step: a
    loop: {in: "{{ workload.ids }}", iterator: order}
    tool:
      - name: get
        kind: http
        url: x
        spec:
          policy:
            rules:
              - else: {then: {do: continue, set_ctx: {total: 1}, set_iter: {page: 2}}}
    next: {arcs: [{step: b, args: {id: 1}}]}
  - step: b
    tool: {kind: noop}
"""


def at(text: str, *, cursor: str = "‸") -> list[str]:
    return [found.label for found in complete(text.replace(cursor, ""), text.index(cursor))]


def under_b(text: str) -> str:
    return BOOK + text


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ("‸", ["apiVersion", "kind", "workflow"], ["step"]),
        (BOOK + "‸", [], ["apiVersion"]),
        (under_b("    spec: {‸}\n"), ["policy", "join", "pool", "timeout_s"], ["rules"]),
        (under_b("    next:\n      arcs:\n        - ‸"), ["step", "when", "args"], ["tool"]),
        (under_b("    next:\n      ‸"), ["spec", "arcs"], ["step"]),
        (under_b("    next: {spec: {mode: ‸}}"), ["exclusive", "inclusive"], []),
        (under_b("    spec: {cancels: [‸]}"), ["a", "b", "early"], []),
        (under_b("    spec: {terminate: ‸}"), ["true", "false"], []),
        (BOOK.replace("set_iter: {page: 2}", "to: ‸"), ["get"], ["a"]),
        (BOOK.replace("url: x", "auth: ‸"), ["shop"], []),
        (BOOK.replace("kind: env", "kind: ‸"), ["env", "oauth2"], ["http"]),
        (BOOK.replace("set_ctx: {total: 1}", "set_ctx: {‸}"), ["seen"], []),
        (BOOK.replace("url: x", 'url: "{{ ctx.‸ }}"'), ["seen", "total", "_last_error"], []),
        (BOOK.replace("url: x", 'url: "{{ iter.‸ }}"'), ["order", "page", "index"], []),
        (BOOK.replace("url: x", 'url: "{{ keychain.‸ }}"'), ["shop"], []),
        (BOOK.replace("url: x", 'url: "{{ ‸ }}"'), ["ctx", "iter", "keychain", "a", "get"], ["event"]),
        (BOOK.replace("url: x", "url: {{ work‸"), ["workload"], []),
        (BOOK.replace("step: b, args", 'step: b, when: "{{ ‸ }}", args'), ["event", "done"], ["keychain"]),
        (BOOK.replace("step: b, args", 'step: b, when: "{{ event.‸ }}", args'), ["result", "error", "counts"], []),
        (BOOK.replace("step: b, args", 'step: b, when: "{{ step.a.status.‸ }}", args'), ["done", "succeeded"], []),
        (BOOK.replace("step: b, args", 'step: b, when: "{{ x is ‸ }}", args'), ["defined", "none"], ["default"]),
        (BOOK.replace("{kind: noop}\n", "{kind: noop}\n", 1) + '    desc: "{{ args.‸ }}"', ["id"], []),
        (under_b("  - step: c\n    tool: {kind: workbook, name: ‸}"), ["load"], []),
        (under_b("  - step: c\n    tool:\n      - choose:\n          - ‸"), ["when", "do", "else"], []),
        (under_b("  - step: c\n    tool:\n      - kind: python\n        code: |\n          imp‸"), [], ["kind", "name"]),
    ],
)  # fmt: skip
def test_it_knows_what_may_stand_there(text: str, some: list[str], none: list[str]) -> None:
    found = at(text)
    assert set(some) <= set(found)
    assert not set(none) & set(found)


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_has_the_keys_of_its_kind(kind: str) -> None:
    from petra.playbook.grammar import fields_of  # noqa: PLC0415

    found = at(BOOK + f"  - step: c\n    tool:\n      kind: {kind}\n      ‸\n")
    assert set(fields_of(KINDS[kind])) <= set(found)


def test_a_suggestion_replaces_the_word_that_is_being_typed() -> None:
    text = BOOK + "    ne"
    (found,) = [one for one in complete(text, len(text)) if one.label == "next"]
    assert text[: found.start] + found.insert + text[found.end :] == BOOK + "    next: "


def test_the_word_under_the_cursor_is_replaced_as_a_whole_and_keeps_its_colon() -> None:
    text = BOOK.replace("    tool: {kind: noop}", "    tol: {kind: noop}")
    (found,) = [one for one in complete(text, text.index("tol:") + 1) if one.label == "tool"]
    assert text[: found.start] + found.insert + text[found.end :] == BOOK


def test_an_entry_of_a_list_gets_its_dash() -> None:
    text = BOOK + "    next:\n      arcs:\n        "
    (found,) = [one for one in complete(text, len(text)) if one.label == "step"]
    assert found.insert == "- step: "


def test_every_built_in_name_is_described() -> None:
    assert set(NAMES) == set().union(*SCOPES.values())
