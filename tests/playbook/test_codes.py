"""Every code of a problem: what brings it about, where it points, and what it says.

``☞`` stands in a fragment where the problem must point; the header of a playbook is added below it, so
that lines and columns are those of the fragment.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from petra.playbook import Mark, read, read_bytes
from petra.playbook.codes import CODES
from petra.playbook.problems import headline

HEADER = {"apiVersion": "petra/v1", "kind": "Playbook", "metadata": "{name: orders}"}
A = "workflow: [{step: a, tool: {kind: noop}}]\n"


def row(code: str, rule: str, claim: str, words: str, fragment: str, **more: Any) -> Any:
    """One line of the table; ``warns`` for a code that is elsewhere an error."""
    warns = more.get("warns", code.startswith("P2"))
    marks = pytest.mark.spec(rule)
    return pytest.param(code, words, fragment, warns, id=f"{code}: {claim}", marks=marks)


def braced(keys: str) -> str:
    """Put braces around keys; ☞☞ in front of the first key points at the mapping itself."""
    return "☞{" + keys[2:] + "}" if keys.startswith("☞☞") else "{" + keys + "}"


def step(keys: str) -> str:
    return f"workflow: [{{step: a, {keys}}}]\n"


def task(keys: str) -> str:
    return step(f"tool: {braced(keys)}")


def spec(keys: str) -> str:
    return step(f"tool: {{kind: noop}}, spec: {braced(keys)}")


def rule(text: str) -> str:
    return task(f"kind: noop, spec: {{policy: {{rules: [{text}]}}}}")


def action(keys: str) -> str:
    return rule(f"{{else: {{then: {braced(keys)}}}}}")


def admit(when: str) -> str:
    return spec(f"policy: {{admit: {{rules: [{{when: {when}, then: {{allow: true}}}}]}}}}")


def arc(keys: str) -> str:
    return f"workflow: [{{step: a, next: {{arcs: [{{{keys}}}]}}}}, {{step: b, tool: {{kind: noop}}}}]\n"


def executor(keys: str) -> str:
    return f"executor: {{spec: {{{keys}}}}}\n{A}"


def loop(keys: str) -> str:
    return step(f"tool: {{kind: noop}}, loop: {braced(keys)}")


def playbook(fragment: str) -> tuple[str, Mark]:
    """Complete a fragment, and find the place it points at."""
    before, _, after = fragment.partition("☞")
    place = Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))
    text = before + after
    for key, value in HEADER.items():
        if not re.search(rf"^(#no )?{key}:", text, re.MULTILINE):
            text += f"{key}: {value}\n"
    return text, place


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

KEYS = [
    row("P101", "002§2-1", "the root has its own keys", "unknown key 'worklod' in the playbook; did you mean 'workload'?",
        "☞worklod: {}\n" + A),
    row("P101", "002§2-2", "there is no root vars", "unknown key 'vars' in the playbook; inputs go under 'workload'",
        "☞vars: {}\n" + A),
    row("P101", "S1", "a step has its own keys", "unknown key 'desk' in this step; did you mean 'desc'?",
        step("tool: {kind: noop}, ☞desk: x")),
    row("P101", "S1", "a task has the keys of its kind", "unknown key 'methd' in this task; did you mean 'method'?",
        task("kind: http, url: x, ☞methd: GET")),
    row("P101", "S1", "an arc has its own keys", "unknown key 'prio' in this arc; did you mean 'priority'?",
        arc("step: b, ☞prio: 1")),
    row("P101", "S1", "an arc's condition is called when", "unknown key 'cond' in this arc; say 'when'",
        arc("step: b, ☞cond: true")),
    row("P101", "S1", "a router has its own keys", "unknown key 'mode' in 'next'; put it under 'spec'",
        step("next: {☞mode: inclusive, arcs: [{step: a}]}")),
    row("P101", "S1", "a loop has its own keys", "unknown key 'itrator' in 'loop'; did you mean 'iterator'?",
        loop("in: [1], iterator: x, ☞itrator: y")),
    row("P101", "S1", "a join has its own keys", "unknown key 'mod' in 'spec.join'; did you mean 'mode'?",
        spec("join: {☞mod: all}")),
    row("P101", "S1", "the executor has its own keys", "unknown key 'entry' in 'executor.spec'; did you mean 'entry_step'?",
        executor("☞entry: a")),
    row("P101", "002§5.2.2-8", "a step policy holds no task actions", "spec.policy.rules",
        spec("policy: {☞rules: []}")),
    row("P101", "S1", "a rule has its own keys", "unknown key 'do' in this rule; put it under 'then'",
        rule("{when: true, ☞do: fail}")),
    row("P101", "S1", "an action has its own keys", "unknown key 'atempts' in 'else.then'; did you mean 'attempts'?",
        action("do: retry, ☞atempts: 3")),
    row("P101", "S20", "a credential has the keys of its kind", "unknown key 'vars' in this keychain entry; did you mean 'var'?",
        "keychain: [{name: k, kind: env, ☞vars: X}]\n" + A),
    row("P101", "S5", "sugar stands alone", "'while' stands alone: unknown key 'args' beside it",
        step("tool: [{while: {when: true, do: [{kind: noop}]}, ☞args: {}}]")),
    row("P101", "S5", "sugar has its own keys", "unknown key 'most' in 'until'; known: when, do, max",
        step("tool: [{until: {when: true, do: [{kind: noop}], ☞most: 3}}]")),
    row("P101", "S14", "a work item has its own keys", "unknown key 'role' in 'assignees'; did you mean 'roles'?",
        task("kind: human, assignees: {☞role: [x]}")),
    *(row("P102", ledger, claim, words, fragment) for ledger, claim, words, fragment in (
        ("S1", "a playbook has a name", "'metadata' has no 'name'; add 'name:'", "metadata: ☞{path: x}\n" + A),
        ("S1", "a step has a name", "this step has no 'step'; add 'step:'", "workflow: [☞{tool: {kind: noop}}]\n"),
        ("S5", "a task has a kind", "this task has no 'kind'", task("☞☞name: x")),
        ("S7", "an arc leads somewhere", "this arc has no 'step'", step("next: {arcs: [☞{when: true}]}")),
        ("S9", "a loop has a list", "'loop' has no 'in'; add 'in:'", loop("☞☞iterator: x")),
        ("S9", "a loop names its item", "'loop' has no 'iterator'; add 'iterator:'", loop("☞☞in: [1]")),
        ("S22", "a request has an address", "this task of kind 'http' has no 'url'", task("☞☞kind: http")),
        ("S22", "a shell task runs something", "a 'shell' task needs one of 'argv', 'script'", task("☞☞kind: shell, cwd: x")),
        ("S15", "a wait waits for something", "a 'wait' task needs one of 'for_s', 'until'", task("☞☞kind: wait")),
        ("S5", "a jump has a target", "a jump has no 'to'; name a task of the same step", action("☞☞do: jump")),
        ("S1", "a workbook task has a name", "a workbook task has no 'name'", "workbook: [☞{kind: noop}]\n" + A),
        ("S4", "a rule has a then", "no 'then'", spec("policy: {admit: {rules: [☞{when: true}]}}")),
        ("S1", "a playbook has a header", "the playbook has no 'apiVersion'", "☞" + A + "#no apiVersion:\n"),
        ("S1", "a playbook has a workflow", "the playbook has no 'workflow'", "☞workload: {}\n"),
        ("002§5.4-1", "a task policy has rules", "has no 'rules'", task("kind: noop, spec: {policy: ☞{on_unmatched: fail}}")),
        ("002§5.4-13", "else has a then", "has no 'then'", rule("{else: ☞{}}")),
        ("S8", "a merge has a target", "has no 'into'", spec("join: {merge: ☞{strategy: append}}")),
        ("S13", "a cancellation has steps", "has no 'steps'", spec("cancels: ☞{on: done}")),
        ("S13", "a compensation has a tool", "has no 'tool'", spec("compensate: ☞{}")),
        ("S15", "a resource has a name", "has no 'name'", "executor: {spec: {resources: {r: 1}}}\n" + spec("policy: {resources: [☞{units: 1}]}")),
        ("S20", "a credential has a name", "has no 'name'", "keychain: [☞{kind: env, var: X}]\n" + task("kind: http, url: x, auth: k")),
    )),
    row("P103", "000§0-3", "a workflow is a list", "'workflow' must be a list, not a mapping; start each entry with '- '",
        "workflow: ☞{step: a}\n"),
    row("P103", "000§0-3", "a workflow is not empty", "'workflow' is empty; add at least one entry",
        "workflow: ☞[]\n"),
    row("P103", "S1", "a step is a mapping", "this step must be a mapping, not the text 'a'",
        "workflow: [☞a]\n"),
    row("P103", "S13", "a limit is a number", "'executor.spec.timeout_s' must be a number, not the text '60'",
        executor("timeout_s: ☞'60'")),
    row("P103", "S13", "a limit is more than nothing", "'executor.spec.timeout_s' is 0; must be more than 0",
        executor("timeout_s: ☞0")),
    row("P103", "S4", "a switch is true or false", "'spec.policy.admit.once' must be true or false, not the text 'yes'",
        spec("policy: {admit: {once: ☞yes}}")),
    row("P103", "S1", "a name is text", "'step' must be text, not the number 7; put it in quotes",
        "workflow: [{step: ☞7, tool: {kind: noop}}]\n"),
    row("P103", "S1", "a name is not empty", "'step' is empty; write its name",
        "workflow: [{step: ☞'', tool: {kind: noop}}]\n"),
    row("P103", "S1", "a name has an end", "'step' is longer than 200 characters; shorten it",
        "workflow: [{step: ☞" + "x" * 201 + ", tool: {kind: noop}}]\n"),
    row("P103", "S9", "a loop runs over a list", "'loop.in' must be a list or text, not the number 3",
        loop("in: ☞3, iterator: x")),
    *(row("P103", ledger, f"{what} is a list", "must be a list", fragment)
      for ledger, what, fragment in (("S15", "any_of", task("kind: wait, any_of: ☞7")), ("S14", "escalate", task("kind: human, escalate: ☞7")))),
    row("P103", "S5", "choose takes branches", "'choose' takes a list of branches",
        step("tool: [{☞choose: {}}]")),
    row("P103", "S5", "max counts rounds", "'max' must be a whole number of at least 1",
        step("tool: [{while: {when: true, do: [{kind: noop}], max: ☞0}}]")),
    *(row("P106", ledger, claim, words, fragment) for ledger, claim, words, fragment in (
        ("S7", "a router has two modes", "'next.spec.mode' cannot be 'both'; known: exclusive, inclusive", step("next: {spec: {mode: ☞both}, arcs: [{step: a}]}")),
        ("S4", "denial has three answers", "on_deny' cannot be 'fial'; did you mean 'fail'?", spec("policy: {admit: {on_deny: ☞fial}}")),
        ("S5", "a policy has five actions", "cannot be 'stop'; known: continue, retry, jump, break, fail", action("do: ☞stop")),
        ("S8", "a join has its modes", "'spec.join.mode' cannot be 'al'; did you mean 'all'?", spec("join: {mode: ☞al}")),
        ("S10", "a reducer is one of nine", "cannot be 'summ'; did you mean 'sum'?", executor("ctx: {x: {reduce: ☞summ}}")),
        ("S14", "an escalation does something known", "an escalation cannot 'shout'; one of notify, reassign, expire", task("kind: human, escalate: [{after_s: 1, do: ☞shout}]")),
        ("S17", "selection is one of five", "selection' cannot be 'lifo'; did you mean 'fifo'?", executor("selection: ☞lifo")),
    )),
    row("P107", "S1", "a version is text", "unknown apiVersion",
        "apiVersion: ☞1\n" + A),
    row("P107", "S1", "a kind is Playbook", "write 'kind: Playbook'",
        "kind: ☞Workflow\n" + A),
    row("P107", "S1", "an unknown version is named without detours", "unknown apiVersion 'petra/v2'",
        "apiVersion: ☞petra/v2\n" + A),
]
NAMES = [
    row("P104", "S1", "an arc leads to a step", "arc leads to unknown step 'bb'; did you mean 'b'?",
        arc("step: ☞bb")),
    row("P104", "000§2.2-3", "the entry is a step", "unknown step 'z'; known: a",
        executor("entry_step: ☞z")),
    row("P104", "000§7.1-1", "the final step is a step", "unknown step 'z'; known: a",
        executor("final_step: ☞z")),
    row("P104", "S8", "a join closes the group of a step", "unknown step 'z'; known: a",
        spec("join: {of: ☞z}")),
    row("P104", "S4", "done() asks for a step", "template names unknown step 'aa'; did you mean 'a'?",
        admit("\"{{ ☞done('aa') }}\"")),
    row("P104", "S4", "all_done() asks for steps", "template names unknown step 'z'",
        admit("\"{{ ☞all_done(['a', 'z']) }}\"")),
    row("P104", "S6", "step.x is a step", "template names unknown step 'z'",
        arc("step: b, when: '{{ ☞step.z.status.done }}'")),
    row("P104", "S6", "step['x'] is a step", "template names unknown step 'z'",
        task("kind: http, url: \"{{ ☞step['z'].result }}\"")),
    row("P104", "S14", "four eyes look at a step", "unknown step 'z'; known: a",
        task("kind: human, exclude: {completed_by: ☞z}")),
    row("P104", "S13", "a region is made of steps", "unknown step 'z'; known: a",
        executor("regions: {r: [a, ☞z]}")),
    row("P104", "S13", "a region's bad step is told in full", "'regions.r' names unknown step 'z'",
        executor("regions: {r: [a, ☞z]}")),
    row("P105", "004§1.1-2", "a step's name is unique", "step 'a' is already written on line 1; rename one of the two",
        "workflow: [{step: a, tool: {kind: noop}},\n  {step: ☞a, tool: {kind: noop}}]\n"),
    row("P105", "S1", "a task's name is unique in its step", "task 'x' stands twice in this step",
        step("tool: [{name: x, kind: noop}, {name: ☞x, kind: noop}]")),
    row("P105", "S20", "a credential's name is unique", "keychain name 'k' stands twice",
        "keychain: [{name: k, kind: env, var: X}, {name: ☞k, kind: env, var: Y}]\n" + A),
    row("P105", "S1", "a workbook task's name is unique", "workbook task 'x' is already written on line 1",
        "workbook: [{name: x, kind: noop},\n  ☞{name: x, kind: noop}]\n" + A),
    row("P105", "S13", "a compensation's tasks have unique names", "task 'x' stands twice",
        spec("compensate: {tool: [{name: x, kind: noop}, {name: ☞x, kind: noop}]}")),
    row("P108", "S5", "a jump leads to a task", "jump to unknown task 'zzz'; known: a_task",
        action("do: jump, to: ☞zzz")),
    row("P108", "S5", "a near miss is suggested", "jump to unknown task 'a_tsk'; did you mean 'a_task'?",
        action("do: jump, to: ☞a_tsk")),
    row("P108", "S13", "a compensation jumps inside itself", "jump to unknown task 'z'",
        spec("compensate: {tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: ☞z}}}]}}}}")),
    row("P109", "S5", "a jump stays in its step", "'x' is a task of step 'b'; a jump stays inside its step; route to 'b'",
        "workflow:\n- {step: a, tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: ☞x}}}]}}}}\n"
        "- {step: b, tool: {name: x, kind: noop}}\n"),
    row("P109", "S13", "a jump stays out of the compensation", "'x' is a task of the compensation of step 'a'",
        step("tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: ☞x}}}]}}},"
             " spec: {compensate: {tool: {name: x, kind: noop}}}")),
    row("P110", "002§1-9", "a policy holds no next", "a task policy never starts a step; route to it with an arc of 'next'",
        action("do: continue, ☞next: a")),
    row("P110", "002§1-9", "a policy holds no step", "a task policy never starts a step",
        action("do: continue, ☞step: a")),
    row("P110", "002§1-9", "a jump does not lead to a step", "'b' is a step; a task policy never starts a step",
        "workflow:\n- {step: a, tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: ☞b}}}]}}}}\n"
        "- {step: b, tool: {kind: noop}}\n"),
    row("P111", "002§5.4-13", "then is a child of else in a task policy", "indent 'then' so that it is a child of 'else'",
        "workflow:\n- step: a\n  tool:\n    kind: noop\n    spec:\n      policy:\n        rules:\n        - else:\n          ☞then: {do: fail}\n"),
    row("P111", "000§3.1-2", "then is a child of else in admission", "'then' stands beside 'else' instead of inside it",
        "workflow:\n- step: a\n  tool: {kind: noop}\n  spec:\n    policy:\n      admit:\n        rules:\n        - else:\n          ☞then: {allow: true}\n"),
    row("P111", "002§5.4-13", "else does not hold the action itself", "put it under 'then': 'else: {then: {…}}'",
        rule("{☞else: {do: fail}}")),
    row("P111", "002§5.4-13", "a workbook's rules are read alike", "'then' stands beside 'else'",
        "workbook: [{name: x, kind: noop, spec: {policy: {rules: [{else: null, ☞then: {do: fail}}]}}}]\n" + A),
    row("P112", "002§7.4-3", "a task is not written under its name", "task 'x' is written under its name; write '- name: x'",
        step("tool: [{☞x: {kind: noop}}]")),
    row("P112", "002§7.4-3", "nor in a compensation", "write '- name: x'",
        spec("compensate: {tool: [{☞x: {kind: noop}}]}")),
    row("P112", "002§7.4-3", "nor inside sugar", "write '- name: x'",
        step("tool: [{while: {when: true, max: 2, do: [{☞x: {kind: noop}}]}}]")),
    row("P114", "S1", "a step has a tool or a next", "step 'a' has neither 'tool' nor 'next'",
        "workflow: [☞{step: a}]\n"),
    row("P114", "S1", "an empty pipeline is none", "step 'a' has neither 'tool' nor 'next'",
        "workflow: [☞{step: a, tool: []}]\n"),
    row("P114", "S9", "a loop has a task", "the loop of step 'a' has no task to run; add a 'tool'",
        step("loop: ☞{in: [1], iterator: x}, next: {arcs: [{step: a}]}")),
    row("P115", "S22", "a kind is known", "unknown kind 'htpp'; did you mean 'http'?",
        task("kind: ☞htpp, url: x")),
    row("P115", "S22", "a kind of the workbook is known", "unknown kind 'zzz'",
        "workbook: [{name: x, kind: ☞zzz}]\n" + A),
    row("P115", "S1", "in a NoETL file an unknown kind is a warning", "this task cannot run here without a plug-in",
        "apiVersion: noetl.io/v2\n" + task("kind: ☞snowflake"), warns=True),
    row("P116", "S5", "a workbook task exists", "the workbook has no task 'pin'; did you mean 'ping'?",
        "workbook: [{name: ping, kind: noop}]\n" + task("kind: workbook, name: ☞pin")),
    row("P116", "S5", "without a workbook there is none", "the workbook has no task 'x'",
        task("kind: workbook, name: ☞x")),
    row("P116", "S5", "a task may have another name than its workbook task", "the workbook has no task 'pin'",
        "workbook: [{name: ping, kind: noop}]\n" + task("kind: workbook, name: x, task: ☞pin")),
    row("P117", "S1", "set_ctx spares reserved names", "'workload' is reserved and cannot be written to",
        action("do: continue, set_ctx: {workload: ☞1}")),
    row("P117", "S1", "set_ctx spares what is inside them", "'execution.id' is reserved and cannot be written to",
        action("do: continue, set_ctx: {execution.id: ☞1}")),
    row("P117", "S7", "the engine writes the last error", "'_last_error' is reserved",
        action("do: continue, set_ctx: {_last_error: ☞1}")),
    row("P117", "S8", "a merge spares reserved names", "'step' is reserved and cannot be written to",
        spec("join: {merge: {into: ☞step}}")),
    row("P117", "S9", "an item is not called index", "'iter.index' is the engine's own; choose another name for the item",
        loop("in: [1], iterator: ☞index")),
    row("P117", "S9", "an inner item is not called parent", "'iter.parent' is the engine's own",
        loop("in: [1], iterator: x, loop: {in: [2], iterator: ☞parent}")),
    row("P117", "004§6.3-2", "bind spares step", "'step' is reserved and cannot be written to",
        step("☞bind: {step: 1}, tool: {kind: noop}")),
    row("P117", "004§6.3-3", "result.as spares step", "'step' is reserved and cannot be written to",
        task("kind: noop, ☞result: {as: step}")),
    row("P117", "S1", "set spares reserved names", "'workload' cannot be written to; write 'ctx.x' instead",
        task("kind: noop, set: {☞workload.x: 1}")),
    row("P117", "S10", "a declared key spares reserved names", "'step' is reserved and cannot be written to",
        executor("ctx: {step: ☞{reduce: sum}}")),
    row("P117", "S9", "set_iter spares the index", "'iter.index' is the engine's own",
        action("do: continue, set_iter: {index: ☞1}")),
    row("P120", "S15", "a resource is declared", "resource 'db' is not declared; declare it: executor.spec.resources: {db: 1}",
        spec("policy: {resources: [{name: ☞db}]}")),
    row("P120", "S15", "a near miss is suggested", "resource 'dbs' is not declared; did you mean 'db'?",
        "executor: {spec: {resources: {db: 1}}}\n" + spec("policy: {resources: [{name: ☞dbs}]}")),
    row("P120", "S15", "a default resource is declared", "resource 'db' is not declared",
        executor("policy: {defaults: {resources: [{name: ☞db}]}}")),
    row("P124", "S13", "what is cancelled exists", "'z' is neither a step nor a region; known: a",
        spec("cancels: [☞z]")),
    row("P124", "S13", "also in the long form", "'z' is neither a step nor a region",
        spec("cancels: {steps: [a, ☞z], on: start}")),
    row("P124", "S13", "a region is suggested", "'alll' is neither a step nor a region; did you mean 'all'?",
        "executor: {spec: {regions: {all: [a]}}}\n" + spec("cancels: ☞alll")),
]

KEYCHAIN = "keychain: [{name: k, kind: env, var: K}]\n"
FIELDS = [
    *(row("P113", ledger, f"{what} stays at its default", "only the default is supported", fragment)
      for ledger, what, fragment in (
          ("002§5.2.1-2", "admit.mode", spec("policy: {admit: {mode: ☞inclusive}}")),
          ("002§5.4-2", "policy.mode", task("kind: noop, spec: {policy: {rules: [], mode: ☞inclusive}}")),
          ("002§5.5-2", "next.spec.policy", step("next: {spec: {policy: ☞{x: 1}}, arcs: [{step: a}]}")),
          ("002§5.2.2-4", "emit.events", spec("policy: {emit: {events: ☞[x]}}")),
          ("S1", "before", task("kind: noop, spec: {policy: {rules: [], before: ☞[x]}}")),
          ("S1", "after", task("kind: noop, spec: {policy: {rules: [], after: ☞[x]}}")),
          ("S1", "finally", task("kind: noop, spec: {policy: {rules: [], finally: ☞[x]}}")),
          ("002§5.3-4", "ordering", loop("in: [1], iterator: x, spec: {policy: {ordering: ☞strict}}")),
          ("002§5.3-7", "partitioning", loop("in: [1], iterator: x, spec: {policy: {partitioning: ☞{by: x}}}")),
          ("S1", "dedupe", loop("in: [1], iterator: x, spec: {policy: {dedupe: ☞true}}")),
      )),
    row("P113", "S1", "a router cannot set", "a step without a task cannot 'set' anything",
        step("☞set: {ctx.x: 1}, next: {arcs: [{step: a}]}")),
    row("P113", "S1", "a case holds arcs only", "'call' inside 'case' has no counterpart",
        step("tool: {kind: noop}, case: [{when: true, then: {☞call: x, step: a}}]")),
    *(row("P118", "S20", f"{what} reads no secret", "cannot read the keychain: its value would be stored", KEYCHAIN + fragment)
      for what, fragment in (
          ("admission", admit("'{{ ☞keychain.k }}'")),
          ("a guard", arc("step: b, when: '{{ ☞keychain.k == 1 }}'")),
          ("an argument", arc("step: b, args: {x: '{{ ☞keychain.k }}'}")),
          ("foreach", arc("step: b, foreach: '{{ ☞keychain.k }}'")),
          ("set_ctx", action("do: continue, set_ctx: {x: '{{ ☞keychain.k }}'}")),
          ("set_iter", action("do: continue, set_iter: {x: '{{ ☞keychain.k }}'}")),
          ("set_branch", action("do: continue, set_branch: '{{ ☞keychain.k }}'")),
          ("a work item", task("kind: human, title: 'Use {{ ☞keychain.k }}'")),
          ("a wait", task("kind: wait, signal: {name: x, key: '{{ ☞keychain.k }}'}")),
          ("a sub-playbook's path", task("kind: playbook, path: '{{ ☞keychain.k }}'")),
          ("a loop", loop("in: '{{ ☞keychain.k }}', iterator: x")),
          ("a join", spec("join: {mode: {when: '{{ ☞keychain.k }}'}}")),
          ("a resource's key", "executor: {spec: {resources: {r: 1}}}\n" + spec("policy: {resources: [{name: r, key: '{{ ☞keychain.k }}'}]}")),
      )),
    row("P118", "S20", "the output reads no secret", "the output of the execution cannot read the keychain",
        KEYCHAIN + executor("output: '{{ ☞keychain.k }}'")),
    row("P118", "S20", "a sub-playbook's arguments read no secret", "cannot read the keychain",
        KEYCHAIN + task("kind: playbook, path: x, args: {x: '{{ ☞keychain.k }}'}")),
    row("P118", "S20", "nor does the whole keychain", "cannot read the keychain",
        KEYCHAIN + arc("step: b, args: {x: '{{ ☞keychain }}'}")),
    row("P119", "S1", "an expression has an end", "an expression is missing here",
        arc("step: b, when: '{{ ctx.x == ☞}}'")),
    row("P119", "S1", "operators are words", "'&' has no meaning in an expression; write 'and'",
        arc("step: b, when: '{{ ctx.x ☞&& ctx.y }}'")),
    row("P119", "S1", "a condition has braces", 'a condition needs braces; write "{{ ctx.x > 1 }}"',
        arc("step: b, when: ☞ctx.x > 1")),
    row("P119", "S1", "a condition is not empty", "the condition is empty; write one, or remove 'when'",
        arc("step: b, when: ☞''")),
    row("P119", "S7", "a condition is one expression", "one expression",
        arc("step: b, when: ☞'{{ ctx.x }} and {{ ctx.y }}'")),
    row("P119", "S6", "the server takes no statements", "statements {% … %} are not allowed here",
        arc("step: b, args: {x: '☞{% if ctx.x %}1{% endif %}'}")),
    row("P119", "S4", "a worker does not know done()", "done() is not available in a field of a task",
        task("kind: http, url: \"{{ ☞done('a') }}\"")),
    row("P119", "S6", "a filter exists", "there is no filter 'uper'; did you mean 'upper'?",
        task("kind: http, url: '{{ ctx.x | ☞uper }}'")),
    row("P121", "S5", "a work item is alone", "a 'human' task is run by the server and must be the only task of step 'a'",
        step("tool: [{kind: ☞human}, {kind: noop}]")),
    row("P121", "S5", "a wait is alone", "a 'wait' task is run by the server",
        step("tool: [{kind: noop}, {kind: ☞wait, for_s: 1}]")),
    row("P121", "S5", "a sub-playbook is alone", "a 'playbook' task is run by the server",
        step("tool: [{kind: noop}, {kind: ☞playbook, path: x}]")),
    row("P122", "S22", "a request has one body", "'json' and 'form' are both a body; keep one of them",
        task("kind: http, url: x, json: {}, form: ☞{}")),
    row("P122", "S22", "a shell task runs one thing", "keep 'argv' or 'script'",
        task("kind: shell, argv: [ls], script: ☞ls")),
    row("P122", "S22", "a python task runs one thing", "keep 'code' or 'function'",
        task("kind: python, code: result = 1, function: ☞'m:f'")),
    row("P122", "S7", "an arc multiplies in one way", "'foreach' and 'copies'",
        arc("step: b, foreach: [1], copies: ☞2")),
    row("P122", "S15", "a wait waits for one thing", "keep 'for_s' or 'signal'",
        task("kind: wait, for_s: 1, signal: ☞x")),
    row("P122", "S15", "an alternative is one thing", "an alternative takes only one of",
        task("kind: wait, any_of: [{for_s: 1, signal: ☞x}]")),
    row("P123", "S8", "one join closes an empty foreach", "several joins could close that group: 'b', 'c'; add 'of: a'",
        "workflow:\n- {step: a, next: ☞{arcs: [{step: b, foreach: '{{ ctx.x }}'}, {step: c}]}}\n"
        "- {step: b, tool: {kind: noop}, spec: {join: {}}}\n- {step: c, tool: {kind: noop}, spec: {join: {}}}\n"),
    row("P123", "S8", "one join closes empty copies", "add 'of: a' to the one that should",
        "workflow:\n- {step: a, next: ☞{arcs: [{step: b, copies: 2}, {step: c}]}}\n"
        "- {step: b, tool: {kind: noop}, spec: {join: {}}}\n- {step: c, tool: {kind: noop}, spec: {join: {}}}\n"),
    row("P123", "S8", "only one join says of", "remove 'of: a' from all but one",
        "workflow:\n- {step: a, next: ☞{arcs: [{step: b, copies: 2}, {step: c}]}}\n"
        "- {step: b, tool: {kind: noop}, spec: {join: {of: a}}}\n- {step: c, tool: {kind: noop}, spec: {join: {of: a}}}\n"),
    row("P125", "S22", "SQL is constant", "'command' is constant text: its template is never rendered; bind values with 'params'",
        task("kind: sqlite, command: ☞'SELECT {{ ctx.x }}'")),
    row("P125", "S22", "code is constant", "'code' is constant text: its template is never rendered; pass values through 'args'",
        task("kind: python, code: ☞'result = {{ ctx.x }}'")),
    row("P125", "S22", "a script is constant", "'script' is constant text: its template is never rendered; pass values through 'env'",
        task("kind: shell, script: ☞'echo {{ ctx.x }}'")),
    row("P125", "S22", "a transfer's query is constant", "bind values with 'params'",
        task("kind: transfer, source: {kind: sqlite, query: ☞'SELECT {{ ctx.x }}'}, target: {kind: sqlite, table: t}")),
    row("P125", "S1", "in a NoETL file it is a warning", "its template is never rendered",
        "apiVersion: noetl.io/v2\n" + task("kind: sqlite, command: ☞'SELECT {{ ctx.x }}'"), warns=True),
    row("P126", "S3", "the input schema is one", "not a JSON Schema",
        executor("input_schema: ☞{type: objekt}")),
    row("P126", "S10", "the schema of a ctx key is one", "not a JSON Schema",
        executor("ctx: {x: {schema: ☞{minimum: low}}}")),
    row("P126", "S14", "a form is a schema", "not a JSON Schema",
        task("kind: human, form: ☞{required: yes}")),
]

WARNINGS = [
    row("P201", "S1", "a step without an arc to it is told", "nothing leads to step 'b'; add an arc to it, or remove it",
        "workflow: [{step: a, tool: {kind: noop}}, {step: ☞b, tool: {kind: noop}}]\n"),
    row("P201", "S1", "a step that only leads to itself is told", "nothing leads to step 'b'",
        "workflow: [{step: a, tool: {kind: noop}}, {step: ☞b, next: {arcs: [{step: b}]}}]\n"),
    row("P201", "S3", "steps before the entry are told", "nothing leads to step 'a'",
        "executor: {spec: {entry_step: b}}\nworkflow: [{step: ☞a, tool: {kind: noop}}, {step: b, tool: {kind: noop}}]\n"),
    row("P202", "S1", "a single guard may be false", "if no guard of step 'a' holds, the branch ends here",
        "workflow: [{step: a, next: ☞{arcs: [{step: a, when: '{{ ctx.x }}'}]}}]\n"),
    row("P202", "S1", "guards with a gap are told", "add a last arc without 'when', or a guard for the rest",
        "workflow: [{step: a, next: ☞{arcs: [{step: a, when: '{{ ctx.x > 1 }}'}, {step: a, when: '{{ ctx.x < 1 }}'}]}}]\n"),
    row("P203", "S1", "a policy that forgets errors is told", "the policy of task 'a_task' never looks at 'outcome', so errors pass",
        task("kind: http, url: x, spec: {policy: ☞{rules: [{else: {then: {do: continue}}}]}}")),
    row("P203", "S1", "a guard about something else does not help", "so errors pass",
        task("kind: http, url: x, spec: {policy: ☞{rules: [{when: '{{ ctx.x }}', then: {do: break}}]}}")),
    row("P204", "S10", "parallel iterations that write one key are told", "parallel iterations write 'ctx.x' and may conflict; say how",
        step("loop: {in: [1], iterator: i, spec: {mode: parallel}}, "
             "tool: {kind: noop, spec: {policy: {rules: [{else: {then: {set_ctx: {x: ☞1}}}}]}}}")),
    row("P204", "S10", "an inner parallel loop counts", "executor.spec.ctx.x.reduce, or use set_iter",
        step("loop: {in: [1], iterator: i, loop: {in: [2], iterator: j, spec: {mode: parallel}}}, "
             "tool: {kind: noop, spec: {policy: {rules: [{else: {then: {set_ctx: {x: ☞1}}}}]}}}")),
    row("P204", "S9", "a loop may say parallel in its policy", "may conflict",
        step("loop: {in: [1], iterator: i, spec: {policy: {mode: parallel}}}, "
             "tool: {kind: noop, spec: {policy: {rules: [{else: {then: {set_ctx: {x: ☞1}}}}]}}}")),
    row("P205", "S6", "an input needs its scope", "nothing provides the name 'u' here; write 'workload.u'",
        "workload: {u: 1}\n" + task("kind: http, url: '{{ ☞u }}'")),
    row("P205", "S6", "a name of another place means nothing", "'outcome' has no meaning in an arc",
        arc("step: b, when: '{{ ☞outcome.status }}'")),
    row("P205", "S6", "a near miss is suggested", "nothing provides the name 'evnt' here; did you mean 'event'?",
        arc("step: b, when: '{{ ☞evnt.status }}'")),
    row("P205", "S6", "any other name gets both scopes", "write 'workload.zzz' or 'ctx.zzz', or give it a 'default'",
        task("kind: http, url: '{{ ☞zzz }}'")),
    row("P205", "S6", "iter means nothing outside a worker", "'iter' has no meaning in an admission rule",
        admit("'{{ ☞iter.x }}'")),
    row("P205", "S8", "the counts of a join mean nothing elsewhere", "'arrived' has no meaning in an arc",
        arc("step: b, when: '{{ ☞arrived > 1 }}'")),
    *(row("P206", "S6", f"a step called {name} is hidden", f"in templates '{name}' is the built-in name, not this step; rename",
          f"workflow: [{{step: ☞{name}, tool: {{kind: noop}}}}]\n") for name in ("ctx", "event", "done", "results")),
    *(row("P207", ledger, f"{old} is older", f"'{old}' is an older way of writing", fragment)
      for ledger, old, fragment in (
          ("000§3.1-1", "when on a step", step("tool: {kind: noop}, ☞when: 'true'")),
          ("004§1.1-5", "bind", step("☞bind: {x: 1}, tool: {kind: noop}")),
          ("002§13-3", "next as a list", step("tool: {kind: noop}, ☞next: [{step: a}]")),
          ("004§7-2", "loop.collection", loop("☞collection: [1], iterator: x")),
          ("004§7-2", "loop.element", loop("in: [1], ☞element: x")),
          ("004§7-6", "tool.result", task("kind: noop, ☞result: {as: x}")),
          ("002§0-5", "eval", task("kind: noop, ☞eval: [{else: {do: continue}}]")),
          ("002§4-5", "expr", rule("{☞expr: 'true', then: {do: continue}}")),
          ("004§8.1-2", "http.endpoint", task("kind: http, ☞endpoint: x")),
          ("004§8.1-2", "url under tool.spec", task("kind: http, spec: {☞url: x}")),
          ("S1", "backoff: fixed", action("do: retry, backoff: ☞fixed")),
          ("S1", "args on a step", step("tool: {kind: noop}, ☞args: {x: 1}")),
      )),
    row("P207", "S1", "case is older", "'case' is an older way of writing",
        step("tool: {kind: noop}, ☞case: [{when: 'true', then: {step: a}}]")),
    row("P207", "S1", "the first NoETL header is read as the second", "'noetl.io/v1' is read as 'noetl.io/v2'",
        "apiVersion: ☞noetl.io/v1\n" + A),
    *(row("P208", "S1", f"in a NoETL file an unknown key of {what} is skipped", f"'zzz' in {where} is ignored",
          "apiVersion: noetl.io/v2\n" + fragment)
      for what, where, fragment in (
          ("a task", "this task", task("kind: http, url: x, ☞zzz: 1")),
          ("a loop", "'loop'", loop("in: [1], iterator: x, ☞zzz: 1")),
          ("the executor", "'executor.spec'", executor("☞zzz: 1")),
      )),
    row("P208", "S1", "an arc that sets ctx passes an argument", "an arc passes arguments: 'ctx.x' becomes 'args.x'",
        arc("step: b, set: {☞ctx.x: 1}")),
    row("P209", "S20", "auth names a credential", "the keychain does not declare 'k'; add it to the keychain",
        task("kind: http, url: x, auth: ☞k")),
    row("P209", "S20", "a template names a credential", "the keychain does not declare 'kk'; did you mean 'k'?",
        KEYCHAIN + task("kind: http, url: '{{ ☞keychain.kk }}'")),
    row("P209", "S20", "a transfer's ends name credentials", "the keychain does not declare 'k'",
        task("kind: transfer, source: {kind: postgres, auth: ☞k}, target: {kind: sqlite, table: t}")),
    row("P210", "S6", "workload is not rendered", "workload is data: this template is never rendered",
        "workload: {x: ☞'{{ ctx.x }}'}\n" + A),
    row("P210", "S6", "nor inside its lists", "workload is data",
        "workload: {x: [1, {y: ☞'{{ ctx.x }}'}]}\n" + A),
]
# fmt: on

TABLE = [*TEXT, *KEYS, *NAMES, *FIELDS, *WARNINGS]
# The shell reports that a file is missing; bytes that are no text have tests of their own.
ELSEWHERE = {"P001", "P002"}


def test_every_code_is_in_the_table() -> None:
    assert {param.values[0] for param in TABLE} | ELSEWHERE == set(CODES)


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


@pytest.mark.parametrize(("code", "words", "fragment", "warns"), TABLE)
def test_a_problem_is_told_once_at_its_place(
    code: str, words: str, fragment: str, *, warns: bool
) -> None:
    text, place = playbook(fragment)
    problems = read(text).problems
    told = [headline(p, "t") for p in problems]
    (found,) = (p for p in problems if p.code == code)
    assert found.mark == place, told
    assert words in f"{found.message}; {found.hint}", told
    assert found.severity == ("warning" if warns else "error")
    assert {p.code for p in problems if p.severity == "error"} <= {code}, told
