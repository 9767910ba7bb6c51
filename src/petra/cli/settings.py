"""``petra.toml``: settings that hold in a folder, unless the environment or an option says otherwise.

Rule 1: a default gives way to ``petra.toml``, that to a variable of the environment, and that to an option.
Rule 2: a name at the top is the variable of that name: ``store`` is ``PETRA_STORE``, and whatever reads the variable heeds it. A table
has the options of the verb of its name: ``[serve]`` has ``port``. ``[oidc]`` is about log-ins at a provider.
Rule 3: what nobody knows is refused, and secrets are: a file that lies beside playbooks is shared like them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import click

FILE: Final = "petra.toml"
OIDC: Final = "oidc"
SERVER: Final = "PETRA_SERVER"
_PREFIX: Final = "PETRA_"
DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "home": ".petra",
        "store": "",
        "objects": "",
        "server": "",
        "namespace": "",
        "refuse_private": "",
        "environments": "",
        "notify": "",
        "traces": "",
        "loop": "",
    }
)
"""What may stand at the top, and what holds where it is said nowhere."""
_SECRET: Final = frozenset({"token", "master_key", "link_key", "oidc_secret"})

_taken: dict[str, str] = {}
"""Variables that have their value from the file."""
_read_last: list[Path] = []


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """What a file says: values of variables by their names, and options of verbs by theirs."""

    path: Path
    top: Mapping[str, str]
    verbs: Mapping[str, Mapping[str, Any]]


def take_up(path: Path | None = None) -> FolderSettings | None:
    """Read the settings, and let what stands at the top hold; None: there is no such file.

    Raises:
        click.UsageError: the file cannot be read, or has something that nobody knows.
    """
    place = path if path is not None else existing()
    if place is None:
        return None
    settings = _read(place)
    let_go()  # of what another file has said
    _read_last[:] = [place]
    for name, value in settings.top.items():
        variable = variable_of(name)
        if os.environ.get(variable) is None:
            os.environ[variable] = _taken[variable] = value
    return settings


def existing() -> Path | None:
    """Return the file of the folder that we are in, if it has one.

    Raises:
        click.UsageError: what has its name is no file.
    """
    path = Path(FILE)
    if path.exists() and not path.is_file():  # to read a pipe would never end
        raise click.UsageError(f"{path} is no file")
    return path if path.exists() else None


def let_go() -> None:
    """Leave the environment as it was found."""
    for variable, value in _taken.items():
        if os.environ.get(variable) == value:
            del os.environ[variable]
    _taken.clear()


def file_name() -> str:
    """Return the file that was read."""
    return str(_read_last[0]) if _read_last else FILE


def variable_of(name: str) -> str:
    """Return the variable of a name at the top."""
    return _PREFIX + name.upper()


def is_of_file(variable: str) -> bool:
    """Tell whether a variable has its value from the file, and not from whoever called us."""
    value = os.environ.get(variable)
    return value is not None and _taken.get(variable) == value


def names_server(url: str) -> bool:
    """Tell whether nobody but the file names a server: whoever wrote the file would get the token that somebody has set."""
    named = (address.rstrip("/") for address in os.environ.get(SERVER, "").split())
    return is_of_file(SERVER) and url.rstrip("/") in named


def _read(path: Path) -> FolderSettings:
    import tomllib  # noqa: PLC0415 - most folders have no such file

    try:
        known = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}") from None
    except RecursionError:
        raise click.UsageError(f"{path} cannot be read: it is nested too deeply") from None
    tables = {name: value for name, value in known.items() if isinstance(value, dict)}
    top = {_name(name): value for name, value in known.items() if name not in tables}
    for name, value in top.items():
        if name in _SECRET:
            words = f"a secret does not belong in a file that is shared; set {variable_of(name)}"
            raise click.UsageError(f"{path}: '{name}': {words}")
        if name not in DEFAULTS:
            raise click.UsageError(
                f"{path}: there is no setting '{name}'{_nearest(name, DEFAULTS)}"
            )
        if not isinstance(value, str | bool | int):
            raise click.UsageError(f"{path}: '{name}' is a text, not {_kind(value)}")
        if "\0" in str(value):
            raise click.UsageError(f"{path}: '{name}' has a character that no variable can have")
    return FolderSettings(path, {name: _text(value) for name, value in top.items()}, tables)


def _name(written: str) -> str:
    return written.replace("-", "_")


def _text(value: str | bool | int) -> str:  # noqa: FBT001 - as TOML has it
    return ("1" if value else "") if isinstance(value, bool) else str(value)


def _kind(value: object) -> str:
    return "a list" if isinstance(value, list) else f"a {type(value).__name__}"


def _nearest(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; there are {', '.join(sorted(known))}"


# Options of verbs


def check_verbs(settings: FolderSettings, known: Iterable[str]) -> None:
    """Refuse tables of no verb.

    Raises:
        click.UsageError: there is one.
    """
    names = {*known, OIDC}
    for name in settings.verbs:
        if name not in names:
            close = _nearest(name, names).partition("; there are")[0]
            raise click.UsageError(f"{settings.path}: there is no verb '{name}'{close}")


def options_of(settings: FolderSettings, context: click.Context, verb: str) -> dict[str, Any]:
    """Return what the file says of the options of a verb, as click takes it.

    Raises:
        click.UsageError: the verb does not have one of them.
    """
    group = context.command
    command = group.get_command(context, verb) if isinstance(group, click.Group) else None
    options = settings.verbs.get(verb, {})
    return (
        _named(settings, context, command, options, verb) if command is not None and options else {}
    )


def _named(
    settings: FolderSettings, context: click.Context, command: click.Command, values: Mapping[str, Any], place: str
) -> dict[str, Any]:  # fmt: skip
    verbs = command.list_commands(context) if isinstance(command, click.Group) else []
    options = _options(command)
    named: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(command, click.Group) and name in verbs and isinstance(value, dict):
            inner = command.get_command(context, name)
            assert inner is not None, "it is listed"
            named[name] = _named(settings, context, inner, value, f"{place}.{name}")
        elif _name(name) in options:
            named[options[_name(name)]] = value
        else:
            words = f"{settings.path}: [{place}] has no '{name}'"
            raise click.UsageError(words + _nearest(name, [*options, *verbs]))
    return named


def _options(command: click.Command) -> dict[str, str]:
    """Return the options of a verb as they are typed, with the names that click has for them."""
    return {
        _name(word.removeprefix("--")): str(option.name)
        for option in command.params
        if isinstance(option, click.Option) and option.name != "config"
        for word in option.opts
        if word.startswith("--")
    }


# Saying where a value is from


def origins(settings: FolderSettings | None) -> Iterator[tuple[str, str, str]]:
    """Yield every setting with its value and where that is from, and the options that the file sets."""
    file = str(settings.path) if settings is not None else FILE
    for name, default in DEFAULTS.items():
        variable = variable_of(name)
        value = os.environ.get(variable)
        if value is None:
            yield name, default, "default"
        else:
            yield name, value, file if is_of_file(variable) else variable
    for place, value in _leaves(settings.verbs if settings is not None else {}):
        yield place, value, file


def _leaves(tables: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    for name, value in tables.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", str(value)
