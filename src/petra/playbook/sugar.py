"""Sugar in task lists: ``choose``, ``while`` and ``until`` become noop tasks that jump (S5).

Rule 1: labels are stable: the word, its index in the list, and a suffix; nested ones carry the outer label.
Rule 2: every branch ends with a jump to one generated merge label; nothing falls through.
Rule 3: generated tasks carry the marks of the construct, so every later problem points at the author's line.

    - while: {when: G, do: [A], max: 3}        while_0__start   iter.while_0 = 0
                                               while_0          G fails: jump to while_0__merge
                                               while_0__limit   count is 3: fail
                                               A
                                               while_0__again   count, jump to while_0
                                               while_0__merge
"""

from __future__ import annotations

from petra.playbook.problems import Mark, Problems
from petra.playbook.tree import Map, Seq, Tree, new_map, new_seq
from petra.playbook.walk import SUGAR


def expand(tool: Tree, problems: Problems, outer: str = "") -> Tree:
    """Return the task list with all sugar rewritten; anything else comes back as it is."""
    if not isinstance(tool, Seq) or not any(_word(item) for item in tool):
        return tool
    tasks = Seq(tool.mark)
    for index, item in enumerate(tool):
        at = tool.item_at(index)
        word = _word(item)
        if word is None:
            tasks.write(item, at)
            continue
        mark = item.key_at(word)
        label = str(item.get("name") or f"{outer}{word}_{index}")
        block = _Block(label, mark, problems)
        for task in block.expand(word, item[word]):
            tasks.write(task, task.mark if isinstance(task, Map) else mark)
        for key in [key for key in item if key not in (word, "name", "desc")]:
            problems.error(
                "P101",
                item.key_at(key),
                f"'{word}' stands alone: unknown key '{key}' beside it",
                "remove it",
            )
    return tasks


def _word(item: Tree) -> str | None:
    if isinstance(item, Map) and "kind" not in item:
        return next((word for word in SUGAR if word in item), None)
    return None


class _Block:
    """One construct on its way to a list of tasks."""

    def __init__(self, label: str, mark: Mark, problems: Problems) -> None:
        self.label = label
        self.mark = mark
        self.problems = problems

    def expand(self, word: str, body: Tree) -> list[Tree]:
        if word == "choose":
            return self._choose(body)
        if not isinstance(body, Map):
            self._malformed(f"'{word}' takes 'when', 'do' and 'max'")
            return [self._merge()]
        self._only(body, ("when", "do", "max"), f"'{word}'")
        if "when" not in body or "do" not in body:
            self._malformed(f"'{word}' needs 'when' and 'do'")
            return [self._merge()]
        return self._while(body) if word == "while" else self._until(body)

    def _only(self, written: Map, known: tuple[str, ...], where: str) -> None:
        for key in written:
            if key not in known:
                words = f"unknown key '{key}' in {where}"
                self.problems.error(
                    "P101", written.key_at(key), words, f"known: {', '.join(known)}"
                )

    def _choose(self, body: Tree) -> list[Tree]:
        if not isinstance(body, Seq) or not body:
            self._malformed("'choose' takes a list of branches")
            return [self._merge()]
        rules: list[Tree] = []
        tasks: list[Tree] = []
        for index, branch in enumerate(body):
            if not isinstance(branch, Map) or not (
                {"when", "do"} <= set(branch) or "else" in branch
            ):
                self._malformed(
                    "a branch of 'choose' has 'when' and 'do', or only 'else'", body.item_at(index)
                )
                continue
            closing = "do" not in branch
            known = ("else",) if closing else ("when", "do")
            self._only(branch, known, "a branch of 'choose'")
            entry = f"{self.label}__{'else' if closing else index}"
            inner = self._tasks(branch["else" if closing else "do"], f"{entry}__")
            rules.append(_rule(self.mark, branch.get("when"), {"do": "jump", "to": entry}))
            tasks += [_noop(self.mark, entry, [_rule(self.mark, None, {"do": "continue"})]), *inner]
            tasks.append(
                _noop(self.mark, f"{entry}__end", [_rule(self.mark, None, self._jump("merge"))])
            )
        if not any(isinstance(branch, Map) and "else" in branch for branch in body):
            rules.append(_rule(self.mark, None, self._jump("merge")))
        return [_noop(self.mark, self.label, rules), *tasks, self._merge()]

    def _while(self, body: Map) -> list[Tree]:
        count = self._count(body)
        leave = _rule(self.mark, None, self._jump("merge"))
        stay = _rule(self.mark, body["when"], {"do": "continue"}, body.value_at("when"))
        return [
            *count.start,
            _noop(self.mark, self.label, [stay, leave]),
            *count.guard,
            *self._tasks(body["do"], f"{self.label}__"),
            _noop(
                self.mark,
                f"{self.label}__again",
                [_rule(self.mark, None, {"do": "jump", "to": self.label, **count.step})],
            ),
            self._merge(),
        ]

    def _until(self, body: Map) -> list[Tree]:
        count = self._count(body)
        leave = _rule(self.mark, body["when"], self._jump("merge"), body.value_at("when"))
        again = _rule(self.mark, None, {"do": "jump", "to": f"{self.label}__again"})
        return [
            *count.start,
            _noop(
                self.mark,
                f"{self.label}__again",
                [_rule(self.mark, None, {"do": "continue", **count.step})],
            ),
            *self._tasks(body["do"], f"{self.label}__"),
            _noop(self.mark, self.label, [leave, *count.limit, again]),
            self._merge(),
        ]

    def _tasks(self, do: Tree, outer: str) -> list[Tree]:
        if not isinstance(do, Seq):
            self._malformed("'do' takes a list of tasks")
            return []
        return list(expand(do, self.problems, outer))

    def _count(self, body: Map) -> _Count:
        most = body.get("max")
        if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
            self._malformed("'max' must be a whole number of at least 1", body.value_at("max"))
            most = None
        return _Count(self.label, most, self.mark)

    def _jump(self, to: str) -> dict[str, Tree]:
        return {"do": "jump", "to": f"{self.label}__{to}"}

    def _merge(self) -> Map:
        return _noop(
            self.mark, f"{self.label}__merge", [_rule(self.mark, None, {"do": "continue"})]
        )

    def _malformed(self, message: str, at: Mark | None = None) -> None:
        self.problems.error("P103", at or self.mark, message, "see the language reference")


def _noop(mark: Mark, name: str, rules: list[Tree]) -> Map:
    policy = {"rules": new_seq(rules, mark)}
    spec = new_map({"policy": new_map(policy, mark)}, mark)
    task = new_map({"name": name, "kind": "noop", "spec": spec}, mark)
    assert isinstance(task, Map)
    return task


def _rule(mark: Mark, when: Tree, action: dict[str, Tree], at: Mark | None = None) -> Map:
    then = new_map(action, mark)
    rule = Map(mark)
    if when is None:
        rule.write("else", new_map({"then": then}, mark), mark, mark)
    else:
        rule.write("when", when, mark, at or mark)
        rule.write("then", then, mark, mark)
    return rule


class _Count:
    """The counter of rounds, where the author gave a ``max``; using it up fails the run."""

    def __init__(self, label: str, most: int | None, mark: Mark) -> None:
        self.name = label
        self.most = most
        self.mark = mark
        self.start: list[Tree] = []
        self.step: dict[str, Tree] = {}
        if most is not None:
            zero = _rule(mark, None, {"do": "continue", "set_iter": new_map({label: 0}, mark)})
            self.start = [_noop(mark, f"{label}__start", [zero])]
            self.step = {"set_iter": new_map({label: f"{{{{ iter['{label}'] + 1 }}}}"}, mark)}

    @property
    def limit(self) -> list[Tree]:
        """The rule that fails when the rounds are used up."""
        if self.most is None:
            return []
        used_up = f"{{{{ iter['{self.name}'] >= {self.most} }}}}"
        times = "once" if self.most == 1 else f"{self.most} times"
        message = f"'{self.name}' went round {times}, which is its max"
        return [_rule(self.mark, used_up, {"do": "fail", "message": message})]

    @property
    def guard(self) -> list[Tree]:
        """A task that does nothing but fail when the rounds are used up."""
        go_on = _rule(self.mark, None, {"do": "continue"})
        rules = [*self.limit, go_on]
        return [_noop(self.mark, f"{self.name}__limit", rules)] if self.limit else []
