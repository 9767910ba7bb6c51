"""Groups of verbs: what they answer to a word that is none, to no word at all, and on a narrow terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Any

import click

from petra.cli.examples import HEADING, with_examples

_NARROW = 52
"""In fewer columns, what a word means stands below it; click itself writes no narrower than this."""
_HYPHEN = "\N{NON-BREAKING HYPHEN}"
"""Stands for the hyphen of a name while lines are made: click would break them there."""


class _Formatter(click.HelpFormatter):
    """Writes help; where there is no room for two columns, in one. Names and examples are never broken."""

    def getvalue(self) -> str:
        """Return what was written."""
        return super().getvalue().replace(_HYPHEN, "-")

    def write_text(self, text: str) -> None:
        """Write a text; the examples at the end as a section, each in lines that can be pasted."""
        heading, *lines = text.split("\n")
        if heading != f"{HEADING}:":
            super().write_text(text.replace("-", _HYPHEN))
            return
        from petra.cli.output import fold  # noqa: PLC0415 - for help only

        self.dedent()
        self.write_heading(HEADING)
        self.indent()
        for line in lines:
            self.write(fold(f"{'':>{self.current_indent}}{line}", self.width) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], *more: Any, **options: Any) -> None:
        """Write words and what they mean."""
        if self.width >= _NARROW - 2:
            whole = [(word, meaning.replace("-", _HYPHEN)) for word, meaning in rows]
            super().write_dl(whole, *more, **options)
            return
        for word, meaning in rows:
            self.write_text(word)
            with self.indentation():
                self.indent()
                self.write_text(meaning)
                self.dedent()


# There is no other way to give it to every verb: each makes a context of its own.
click.Context.formatter_class = _Formatter


def fits(settings: dict[str, Any]) -> None:
    """Let help be as narrow as the terminal."""
    columns = shutil.get_terminal_size().columns
    if columns < _NARROW:
        settings.setdefault("terminal_width", max(columns - 2, 20))


class Verbs(click.Group):
    """A group that names the nearest verb where a word is none."""

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        """Read the arguments, for a terminal that may be narrow."""
        fits(settings)
        return super().make_context(*arguments, **settings)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a verb, with examples at the end of its help."""
        verb = super().get_command(ctx, name)
        return None if verb is None else with_examples(verb, *self.words(), name)

    def words(self) -> tuple[str, ...]:
        """Return how one comes here, after ``petra``."""
        return () if self.name is None else (self.name,)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Answer an unknown verb with the nearest known one."""
        name = args[0]
        if self.get_command(ctx, name) is None:
            from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

            close = get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"see '{ctx.command_path} --help'"
            raise click.UsageError(f"there is no command '{name}'; {hint}", ctx=ctx)
        return super().resolve_command(ctx, args)
