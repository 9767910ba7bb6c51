"""``set_ctx`` and ``set_iter`` on a step: short for those of its last task (S10)."""

from __future__ import annotations

from petra.expr.scopes import BUILT_IN
from petra.playbook import walk
from petra.playbook.problems import Problems
from petra.playbook.tree import Map, Seq, Tree

PATCHES = ("set_ctx", "set_iter")


def step_patches(step: Map, problems: Problems) -> None:
    """What a step sets is set by its last task; what that one sets itself wins.

    The step's own name is what it has just come to.
    """
    own = step.get("step")
    for word in PATCHES:
        if word not in step:
            continue
        at = step.key_at(word)
        if isinstance(own, str) and own not in BUILT_IN:
            walk.edit_strings(
                step[word],
                lambda text: walk.renamed(
                    text, lambda path: ("outcome", "result") if path == (own,) else None
                ),
            )
        last = _last_task(step.get("tool"))
        if last is None:
            problems.error(
                "P114", at, f"a step sets something when its last task went well: '{word}' has none here",
                f"put '{word}' beside the 'kind' of the task that it waits for",
            )  # fmt: skip
        elif not isinstance(written := step[word], Map) or not isinstance(last.get(word), Map):
            if word not in last:
                last.write(word, written, at, step.value_at(word))
        else:
            for key in written:
                if key not in last[word]:
                    last[word].write(key, written[key], written.key_at(key), written.value_at(key))
        del step[word]


def _last_task(tool: Tree) -> Map | None:
    """Return the task that a pipeline ends with, if there is one; a block of sugar may end with any."""
    last = tool[-1] if isinstance(tool, Seq) and tool else tool
    if not isinstance(last, Map) or any(word in last and "kind" not in last for word in walk.SUGAR):
        return None
    labelled = walk.labelled(last)
    return labelled if isinstance(labelled, Map) else last
