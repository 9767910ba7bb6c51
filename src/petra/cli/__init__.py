"""The command line: one file per verb, each imported only when it is called.

Rule 1: a result goes to stdout, words about the work to stderr.
Rule 2: exit codes: 0 ok, 1 problems found or failed, 2 wrong usage, 3 waiting, 4 stuck, 130 interrupted.
Rule 3: no traceback reaches a user; a bug says that it is one and where to report it.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any

import click
from click.core import ParameterSource
from click.exceptions import NoArgsIsHelpError

from petra import __version__, early_stem
from petra.cli import settings
from petra.cli.examples import with_examples
from petra.cli.verbs import Verbs
from petra.errors import PetraError
from petra.garbage_collector import load_undisturbed

_SECTIONS = MappingProxyType(
    {
        "Write a playbook": {
            "init": "Write a first playbook and its test.",
            "check": "Check playbooks: every problem, with its place and its fix.",
            "test": "Run test files: in virtual time, without a server.",
            "simulate": "Walk through a playbook with made-up outcomes, firing by firing.",
            "graph": "Draw a playbook.",
            "migrate": "Rewrite an older playbook into canonical words.",
            "schema": "Print the JSON Schema of playbooks or test files, for editors.",
            "lsp": "Serve editors: problems, words and places while you type.",
        },
        "Run it": {
            "run": "Start a playbook here, durably, and follow it.",
            "watch": "Go on with an execution and follow it.",
            "apply": "Store playbooks, schedules and triggers.",
            "playbooks": "List the playbooks that are applied.",
            "start": "Start a playbook that is applied, by its path.",
            "schedule": "When playbooks are started by the clock.",
            "resource": "What executions share, and who waits for it.",
            "trigger": "Which events start playbooks.",
            "serve": "Run executions here and answer requests: API and streams.",
            "dev": "Serve a folder of playbooks while you work on them.",
            "worker": "Do the runs of a pool for a server elsewhere.",
            "mcp": "Serve agents by the Model Context Protocol.",
        },
        "See what happens": {
            "ps": "List executions.",
            "get": "Show an execution.",
            "result": "Print the output of an execution.",
            "logs": "Show what the tasks of an execution printed and logged.",
            "events": "Show the log of an execution.",
            "explain": "Say why an execution waits, or what a code means.",
        },
        "Take part": {
            "task": "Work items: what people are asked to do.",
            "signal": "Send a signal to an execution.",
            "patch": "Change ctx of an execution.",
            "pause": "Stop new firings of an execution.",
            "resume": "Let a paused execution go on.",
            "cancel": "Stop an execution.",
            "override": "Decide the outcome of a step.",
            "retry": "Have a step that is an incident run once more.",
            "group": "Change a live group: add to it, close, cancel or complete it.",
            "rerun": "Run again from a step, as a new execution.",
            "fork": "Begin a new execution with the past of another one.",
            "migrate-execution": "Let a live execution go on with another version of its playbook.",
            "bulk": "Cancel, pause, resume or rerun many executions at once.",
        },
        "Look back, and tidy up": {
            "verify": "Prove that a log is as it was written.",
            "replay": "Show an execution as it was at a record.",
            "diff": "Compare two executions.",
            "export": "Write a log for other programs: JSON, CSV, XES, OCEL.",
            "rm": "Remove executions, with what they stored.",
            "prune": "Remove executions that ended long ago.",
        },
        "Look after a home or a server": {
            "notifications": "What people and systems are told: list it, try it again.",
            "secret": "Credentials for playbooks, sealed in the home.",
            "user": "Users and service accounts of a server.",
            "token": "API tokens of a server.",
            "audit": "Every act, log-in and refusal, chained by hash.",
            "login": "Log in at a server.",
            "logout": "End the log-in.",
            "db": "The store itself: migrate, stats, backup.",
            "doctor": "Say whether all is well, and what to do where it is not.",
            "config": "Say which settings hold here, and where each is from.",
        },
    }
)
_ONLY_ASKS = frozenset({"--help", "-h", "--server"})
_VERBS = MappingProxyType(
    {verb: words for verbs in _SECTIONS.values() for verb, words in verbs.items()}
)
# Verbs that share a file.
_PLACES = MappingProxyType(
    {
        "watch": ("run", "watch"),
        "playbooks": ("apply", "playbooks"),
        **{verb: ("accounts", verb) for verb in ("user", "token")},
        **{verb: ("login", verb) for verb in ("login", "logout")},
        **{
            verb: ("executions", verb)
            for verb in (
                "get",
                "result",
                "events",
            )
        },
        **{
            verb: ("steer", verb)
            for verb in (
                "signal",
                "patch",
                "pause",
                "resume",
                "cancel",
                "override",
                "retry",
                "rerun",
                "fork",
            )
        },
        "group": ("live_group", "command"),
        "migrate-execution": ("migrate_execution", "command"),
        "rm": ("remove", "rm"),
        "prune": ("remove", "prune"),
        "replay": ("replay", "command"),
        "diff": ("diff", "command"),
    }
)


def _without_colour() -> bool:
    """Whether nobody wants colours, or the terminal says that it knows none."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    """End well when the reader of our output, e.g. head, has gone; click would call it a failure."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


class _LazyGroup(Verbs):
    """Knows every verb by name and help; imports one when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the verbs in the order a newcomer meets them."""
        return [*_VERBS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the verb's module; an unknown verb gets a suggestion from click."""
        if name not in _VERBS:
            return super().get_command(ctx, name)
        module, attribute = _PLACES.get(name, (name, "command"))
        verb: click.Command = getattr(importlib.import_module(f"petra.cli.{module}"), attribute)
        return with_examples(verb, name)

    def words(self) -> tuple[str, ...]:
        """Return nothing: it is ``petra`` itself."""
        return ()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Show the verbs without importing them."""
        wide = max(map(len, _VERBS))
        for title, verbs in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{verb:<{wide}}", words) for verb, words in verbs.items()])

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        """Read the arguments; whoever asked for help may stop reading it."""
        with _reader_may_leave():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; somebody who interrupts it, or hangs up on a question, gets 130."""
        try:
            with _reader_may_leave():
                return super().invoke(ctx)
        except NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            from petra.cli.output import folded  # noqa: PLC0415 - only when something is wrong

            begins = "Error: "  # what click writes before it
            words = folded(begins + error.format_message() + _in_file(error)).removeprefix(begins)
            raise click.UsageError(words, ctx=error.ctx) from None
        except (KeyboardInterrupt, click.Abort):
            click.echo("\ninterrupted", err=True)
            ctx.exit(130)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="petra %(version)s")
@click.pass_context
def petra(ctx: click.Context) -> None:
    """Durable workflows on Petri nets: proved before they run, replayable afterwards.

    Start with 'petra init hello', then 'petra check hello.yaml'.
    """
    if _without_colour():
        ctx.color = False
    ctx.call_on_close(settings.let_go)
    said = settings.take_up()
    if said is not None and ctx.invoked_subcommand is not None:
        settings.check_verbs(said, _VERBS)
        verb = ctx.invoked_subcommand
        ctx.default_map = {verb: settings.options_of(said, ctx, verb)}


def _in_file(error: click.UsageError) -> str:
    """Say that a wrong value stands in the file of settings, where it does."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None:
        return ""
    source = error.ctx.get_parameter_source(str(error.param.name))
    return f" (in {settings.file_name()})" if source is ParameterSource.DEFAULT_MAP else ""


@petra.command("version")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print it."
)  # fmt: skip
def version(output: str) -> None:
    """Print the version."""
    click.echo(__version__ if output == "text" else f'{{"version": "{__version__}"}}')


def _complain(words: str) -> None:
    """Say what went wrong, on as many lines as the terminal needs."""
    from petra.cli.output import tell  # noqa: PLC0415 - only when something is wrong

    with suppress(PetraError):  # nobody can be told
        tell(words, err=True)


def _needs_workers(words: list[str]) -> bool:
    """Tell at a glance whether a verb is about to run tasks here; a worker that nobody needs ends with us."""
    asks = any(word in _ONLY_ASKS or word.startswith("--server=") for word in words)
    elsewhere = bool(os.environ.get("PETRA_SERVER") or os.environ.get("_PETRA_COMPLETE"))
    return words[:1] in (["run"], ["serve"], ["dev"]) and not asks and not elsewhere


def _have_streams() -> None:
    """Put nothing in place of streams that were closed: a socket or a database would be taken for one of them."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115 - as long as we live


def main() -> None:
    """Run ``petra``."""
    _have_streams()
    # a read playbook is many small objects that stay: at the default, they are looked through over and over
    gc.set_threshold(50_000, 20, 20)
    if _needs_workers(sys.argv[1:]):
        load_undisturbed()
        with suppress(click.UsageError):  # which is told in a moment
            settings.take_up()  # workers have our environment
        early_stem.begin()  # it loads while we do
    try:
        petra(prog_name="petra", color=False if _without_colour() else None)
    except PetraError as error:
        _complain(f"error: {error}")
        if page := getattr(error, "page", ""):  # of what a server refused
            _complain(f"  more: {page}")
        sys.exit(1)
    except OSError as error:
        _complain(f"error: {error}")
        sys.exit(1)
    except Exception as error:
        if os.environ.get("PETRA_DEBUG"):
            raise
        _complain(f"error: {type(error).__name__}: {error}")
        _complain("this is a bug in Petra; PETRA_DEBUG=1 shows where, please report it")
        sys.exit(1)
