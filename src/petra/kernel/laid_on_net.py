"""What lives of an execution, laid on the net of its playbook: token by token, group by group.

Rule 1: a token is taken where it lies, and once. A group is closed once.
Rule 2: what has no place in the net is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from petra.kernel import events as e
from petra.net.compile import compile as compile_net
from petra.net.places import Arrow, Places, Stack
from petra.playbook.model import Playbook

Definition = Callable[[str], Playbook | None]
"""The definition of a digest, if it can be had."""


class MisfitError(Exception):
    """A record is no firing of the net."""


@dataclass(frozen=True, slots=True)
class Live:
    """A token or a run: where it is, inside which branches; ``nobody`` stands for a group without branches."""

    step: str
    part: str
    stack: Stack
    arrow: Arrow | None = None
    nobody: bool = False
    final: bool = False


@dataclass(slots=True)
class Fan:
    """A group: who made it, inside what, and whether its join has decided."""

    step: str
    stack: Stack
    fired: bool = False


@dataclass
class Laid:
    """The marking of the net as a log says it."""

    definition: Definition
    live: dict[str, Live] = field(default_factory=dict)
    fans: dict[str, Fan] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    _places: Places | None = None

    @property
    def places(self) -> Places:
        """The places of the net; there are none before the execution was started."""
        if self._places is None:
            raise MisfitError("it comes before the execution was started")
        return self._places

    def enter(self, digest: str) -> None:
        """Begin with a definition."""
        playbook = self.definition(digest)
        if playbook is None:
            raise MisfitError(f"there is no playbook with digest {digest:.16} to have a net of")
        self._places = Places(compile_net(playbook, whole=True))

    def move(self, event: e.ExecutionMigrated) -> None:
        """Lay what lives into the net of the new definition."""
        new, names = self.definition(event.digest), event.renamed
        if new is None:
            raise MisfitError(f"there is no playbook with digest {event.digest:.16}")
        self._places = Places(compile_net(new, whole=True))
        for fan in self.fans.values():
            fan.step = names.get(fan.step, fan.step)
        self.used = {names.get(step, step) for step in self.used}
        for key, token in self.live.items():
            arrow = (
                (names.get(token.arrow[0], token.arrow[0]), token.arrow[1]) if token.arrow else None
            )
            self.live[key] = replace(token, step=names.get(token.step, token.step), arrow=arrow)
        for key in self.live:
            self.place(key)

    def put(
        self, produced: e.Produced, stack: Stack, origin: str = "", *, final: bool = False
    ) -> None:
        """Put a token where it waits."""
        if produced.id in self.live:
            raise MisfitError(f"it makes the token {produced.id:.16} a second time")
        arrow = (origin, produced.arc) if origin else None
        self.live[produced.id] = Live(produced.step, "ready", stack, arrow, produced.empty, final)

    def place(self, key: str) -> str:
        """Return the place where a token or a run lies."""
        token = self.live[key]
        place = self.places.of(token.step, token.part, self._context(token), token.arrow)
        if place is None:
            inside = " inside ".join(reversed(self._context(token))) or "no group"
            raise MisfitError(f"the net has no place for '{token.step}' ({token.part}) in {inside}")
        return place

    def _context(self, token: Live) -> tuple[str, ...]:
        if token.final:
            return ("finally",)
        return self.places.context(
            self.fans[group].step for group, _ in token.stack if group in self.fans
        )

    def taken(self, keys: Iterable[str]) -> dict[str, Live]:
        """Take tokens and runs from where they lie."""
        live = {}
        for key in keys:
            if key not in self.live:
                raise MisfitError(f"it takes the token {key:.16}, which is not there")
            live[key] = self.live[key]
        return live

    def shown(self, keys: Iterable[str]) -> str:
        """Name what lives, by step."""
        return " + ".join(sorted(f"{self.live[key].step}.{self.live[key].part}" for key in keys))

    def counted(self, taken: Mapping[str, Live]) -> Counter[str]:
        """Count what lies in each place; who stands for nobody lies in none."""
        return Counter(self.place(key) for key, token in taken.items() if not token.nobody)

    def close(self, group: str | None) -> str | None:
        """Return the place that says that a group is open, and take it."""
        if group is None:
            return None
        fan = self.fans.get(group)
        if fan is None or fan.fired:
            why = "is not there" if fan is None else "was closed before"
            raise MisfitError(f"it closes the group {group:.16}, which {why}")
        fan.fired = True
        steps = [self.fans[around].step for around, _ in fan.stack if around in self.fans]
        return self.places.open_of(fan.step, self.places.context([*steps, fan.step]))
