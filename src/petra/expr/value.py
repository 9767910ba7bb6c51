"""Templates inside nested JSON: every string value may be one; keys are data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from petra.errors import ExpressionError
from petra.expr.limits import MAX_LEVELS
from petra.expr.template import Profile, Scope, Template, compile_template
from petra.references import INLINE_MAX

if TYPE_CHECKING:
    from petra.expr.names import Path
    from petra.values import Json

Place = tuple[str | int, ...]
"""Keys and indices that lead to a string inside a value."""

_Render = Callable[[Scope, int | None], "Json"]
"""Takes the scope and, to hand a value on, the largest part of a referenced value that is copied."""


class ValueTemplate:
    """A compiled JSON value. Made by ``compile_value``; immutable."""

    __slots__ = ("_render", "is_constant", "reads", "source", "templates")

    def __init__(
        self, source: Json, render: _Render | None, templates: dict[Place, Template]
    ) -> None:
        self.source: Final = source
        self.templates: Final = templates
        """The strings that are templates, by their place in the value."""
        self.is_constant: Final = render is None
        self.reads: Final[frozenset[Path]] = frozenset[tuple[str, ...]]().union(
            *(template.reads for template in templates.values())
        )
        self._render = render

    def render(self, scope: Scope) -> Json:
        """Return the value with every template replaced by what it renders to.

        Raises:
            ExpressionError: a template failed; ``place`` names which.
        """
        return self.source if self._render is None else self._render(scope, None)

    def hand_on(self, scope: Scope, limit: int = INLINE_MAX) -> Json:
        """Return the value for somebody who only keeps it: references stay what they are (``Template.hand_on``).

        Raises:
            ExpressionError: a template failed; ``place`` names which.
        """
        return self.source if self._render is None else self._render(scope, limit)


def compile_value(value: Json, profile: Profile, *, strict: bool = True) -> ValueTemplate:
    """Compile every string of a value.

    Raises:
        ExpressionError: a string is no good template; ``place`` names which.
    """
    templates: dict[Place, Template] = {}
    return ValueTemplate(value, _compile(value, _How(profile, strict), (), templates), templates)


class _How(NamedTuple):
    """How the strings are compiled (``compile_template``)."""

    profile: Profile
    strict: bool


def _compile(
    value: Json, how: _How, place: Place, templates: dict[Place, Template]
) -> _Render | None:
    """Return how to render the value, or None if it is constant."""
    if len(place) > MAX_LEVELS:
        message = f"the value is nested more than {MAX_LEVELS} levels deep"
        raise ExpressionError(message, kind="limit", offset=0, place=place)
    if isinstance(value, str):
        return _compile_string(value, how, place, templates)
    if isinstance(value, list):
        items = [_compile(item, how, (*place, i), templates) for i, item in enumerate(value)]
        if not any(items):
            return None
        slots = list(zip(value, items, strict=True))
        return lambda scope, limit: [
            item if run is None else run(scope, limit) for item, run in slots
        ]
    if isinstance(value, dict):
        fields = {
            key: (item, _compile(item, how, (*place, key), templates))
            for key, item in value.items()
        }
        if not any(run for _, run in fields.values()):
            return None
        return lambda scope, limit: {
            key: item if run is None else run(scope, limit) for key, (item, run) in fields.items()
        }
    return None


def _compile_string(
    source: str, how: _How, place: Place, templates: dict[Place, Template]
) -> _Render | None:
    try:
        template = compile_template(source, how.profile, strict=how.strict)
    except ExpressionError as error:
        error.place = place
        raise
    if template.is_constant:
        return None
    templates[place] = template

    def render(scope: Scope, limit: int | None) -> Json:
        try:
            return template.render(scope) if limit is None else template.hand_on(scope, limit)
        except ExpressionError as error:
            error.place = place
            raise

    return render
