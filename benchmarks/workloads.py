"""The playbooks that are measured. Every step does as little as a step can: what is left is the engine."""

from __future__ import annotations

from petra.playbook import Playbook, read

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: bench}\nworkflow:\n"
TRIVIAL = "    tool: {kind: python, code: 'result = 1'}\n"


def chain(length: int) -> Playbook:
    """Steps in a row."""
    return read(chain_text(length)).checked()


def chain_text(length: int) -> str:
    text = HEAD
    for number in range(length):
        text += f"  - step: s{number}\n{TRIVIAL}"
        if number + 1 < length:
            text += f"    next: {{arcs: [{{step: s{number + 1}}}]}}\n"
    return text


def fan(width: int) -> Playbook:
    """A fan-out and the join of its branches."""
    return read(fan_text(width)).checked()


def fan_text(width: int) -> str:
    return (
        f'{HEAD}  - step: split\n    next: {{arcs: [{{step: work, foreach: "{{{{ range({width}) }}}}"}}]}}\n'
        f"  - step: work\n{TRIVIAL}    next: {{arcs: [{{step: join}}]}}\n"
        "  - step: join\n    spec: {join: {merge: {into: xs}}}\n    tool: {kind: noop}\n"
    )


def loop(items: int) -> Playbook:
    """A parallel loop."""
    return read(
        f'{HEAD}  - step: work\n    loop: {{in: "{{{{ range({items}) }}}}", iterator: n, spec: {{mode: parallel}}}}\n{TRIVIAL}'
    ).checked()


def approval() -> Playbook:
    """An execution that waits for a person."""
    return read(f"{HEAD}  - step: ask\n    tool: {{kind: human, title: May it?}}\n").checked()
