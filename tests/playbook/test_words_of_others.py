"""Words of other engines, in files with their header: each is told once, at its place, and mostly as a warning (S1)."""

from __future__ import annotations

import pytest
from rows import arc, assert_told_once, executor, loop, row, rule, spec, task

# fmt: off
TABLE = [
    *(row("P119", "S1", f"in a NoETL file {what} may have a word of another engine", words, "apiVersion: noetl.io/v2\n" + fragment, warns=True)
      for what, words, fragment in (
          ("a guard", "there is no function 'token'", arc("step: b, when: \"{{ ☞token('x') }}\"")),
          ("an argument", "there is no filter 'zzz'", arc("step: b, args: {x: '{{ ctx | ☞zzz }}'}")),
          ("a gate", "there is no test 'zzz'", spec("policy: {admit: {rules: [{when: '{{ 1 is ☞zzz }}', then: {allow: true}}]}}")),
          ("a policy", "there is no method 'zzz'", rule("{when: '{{ outcome.☞zzz(1) }}', then: {do: fail}}, {else: {then: {do: continue}}}")),
          ("a list", "statements {% … %} are not allowed here", loop("iterator: x, in: '☞{% if 1 %}{{ [] }}{% endif %}'")),
          ("an output", "there is no function 'zzz'", executor("output: '{{ ☞zzz() }}'")),
          ("a field", "done() is not available in a field of a task", task("kind: http, url: '{{ ☞done(1) }}'")),
      )),
    row("P119", "S1", "broken text is an error there, too", "the expression ends before", "apiVersion: noetl.io/v2\n" + arc("step: b, when: '{{ 1 ☞2 }}'"), warns=False),
    *(row("P104", "S1", "in a NoETL file a template may name a step that is not there", "template names unknown step 'zzz'",
          "apiVersion: noetl.io/v2\n" + arc(f'step: b, when: "{guard}"'), warns=True)
      for guard in ("{{ ☞done('zzz') }}", "{{ ☞step.zzz.status.ok }}")),
    row("P208", "S1", "in a NoETL file an arc may have a spec", "'spec' in this arc is ignored", "apiVersion: noetl.io/v2\n" + arc("step: b, ☞spec: {weight: 1}")),
    row("P208", "S1", "in a NoETL file a field may have another type", "'params' in this task is ignored: 'params' must be a mapping, not a list",
        "apiVersion: noetl.io/v2\n" + task("kind: http, url: x, params: ☞[1]")),
    row("P207", "S1", "in a NoETL file a condition may stand without braces", "'a condition without braces' is an older way of writing; now: {{ 1 == 1 }}",
        "apiVersion: noetl.io/v2\n" + arc("step: b, when: ☞'1 == 1'")),
]
# fmt: on


@pytest.mark.parametrize(("code", "words", "fragment", "warns"), TABLE)
def test_a_word_of_another_engine_is_told_once_at_its_place(
    code: str, words: str, fragment: str, *, warns: bool
) -> None:
    assert_told_once(code, words, fragment, warns=warns)
