"""The second line of defence: takes secrets out of text that leaves the worker.

The first line is that secrets are not put there (``Secret``). What tools bring back may hold them all the
same: an echo in a response, a URL in an error message, an argument in a traceback. Found are the text itself,
also percent-encoded, escaped as in JSON or Python, or as an HTML entity, in any mix, and its base64 in both
alphabets, wherever it stands inside something longer.

Limits: a secret of fewer than ``SHORTEST`` characters is not looked for, since it would be found everywhere,
and base64 needs one more. Other encodings (hex, compressed, encrypted) are not recognised.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterator
from typing import Any, Final

from petra.keychain.secret import HIDDEN

SHORTEST: Final = 4
"""Characters that a secret needs to be looked for."""
MOST: Final = 2_000
"""Values that are remembered; the oldest are forgotten first."""

_SHORTEST_BASE64: Final = 6
_SHORTEST_ANCHOR: Final = 3
_SHORTEST_LINE: Final = 16
_SPELT: Final = 8  # characters that one of a secret may be spelt with
_PLAIN: Final = re.compile(r"[A-Za-z0-9]+")
_NAMED: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_ENTITIES: Final = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class Scrubber:
    """Knows the secrets of one worker, and removes them; any thread may ask it to."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[bytes, ...]] = {}
        self._pattern: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for yet."""
        return not self._values

    def add(self, text: str) -> None:
        """Remember a secret; a text of several lines also line by line."""
        if len(text) < SHORTEST or text in self._values:
            return
        with self._lock:
            self._add(text)

    def _add(self, text: str) -> None:
        self._values[text] = tuple(_traces(text))
        lines = text.splitlines()
        if len(lines) > 1:
            for line in lines:
                if len(line) >= _SHORTEST_LINE:
                    self._values.setdefault(line, tuple(_traces(line)))
        while len(self._values) > MOST:
            del self._values[next(iter(self._values))]
        self._pattern = None

    def scrub(self, text: str) -> str:
        """Return the text without any secret."""
        if not self._values:
            return text
        return self._compiled().sub(HIDDEN, text)

    def part(self, text: str) -> tuple[str, str]:
        """Split a text that goes on: what of it may go now, scrubbed, and the rest, which waits for what follows.

        The rest may be the beginning of a secret: at the end of a line that is one of several lines, within a line any.
        """
        if not self._values:
            return text, ""
        values = tuple(self._values)  # others may add to them meanwhile
        waits = max((_begun(text, value) for value in values if "\n" in value), default=0)
        if not text.endswith("\n"):
            waits = max(waits, _SPELT * max(map(len, values)))
        cut = max(0, len(text) - waits)
        for match in self._compiled().finditer(text):
            if match.start() < cut < match.end():
                cut = match.start()
        return self.scrub(text[:cut]), text[cut:]

    def _compiled(self) -> re.Pattern[str]:
        pattern = self._pattern
        if pattern is None:
            with self._lock:  # so that a secret that comes meanwhile is not forgotten
                longest_first = sorted(self._values, key=len, reverse=True)
                forms = [form for value in longest_first for form in _forms(value)]
                self._pattern = pattern = re.compile("|".join(forms))
        return pattern

    def clean(self, value: Any) -> Any:
        """Return a JSON value without any secret, in keys and strings at any depth."""
        if not self._values:
            return value
        if isinstance(value, str):
            return self.scrub(value)
        if isinstance(value, dict):
            return {self.clean(key): self.clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        return value

    def suspects(self, raw: bytes) -> bool:
        """Tell quickly whether encoded data may hold a secret; never wrong when it says no."""
        return any(trace in raw for traces in tuple(self._values.values()) for trace in traces)


def _begun(text: str, secret: str) -> int:
    """Return how much of the end of a text is the beginning of a secret, but not all of it."""
    for length in range(min(len(text), len(secret) - 1), 0, -1):
        if text.endswith(secret[:length]):
            return length
    return 0


def _traces(text: str) -> Iterator[bytes]:
    """Yield bytes of which at least one is there wherever the text is, in any form."""
    longest = max(_PLAIN.findall(text), key=len, default="")
    # No encoding touches letters and digits; without any, only looking closely can tell.
    yield longest.encode() if len(longest) >= _SHORTEST_ANCHOR else b""
    yield from (form.encode() for form in _base64(text))


def _forms(text: str) -> Iterator[str]:
    yield "".join(map(_any_spelling, text))
    yield from map(re.escape, _base64(text))


def _any_spelling(char: str) -> str:
    """Return a pattern for one character in every way it is written."""
    if _PLAIN.fullmatch(char):
        return char
    spellings = [re.escape(char), "".join(f"%{byte:02X}" for byte in char.encode())]
    spellings.append(spellings[1].lower())
    units = char.encode("utf-16-be")
    escape = "".join(rf"\\+u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
    spellings += [escape, re.sub("u([0-9a-f]{4})", lambda m: "u" + m[1].upper(), escape)]
    if len(char.encode("latin-1", "ignore")) == 1:
        spellings.append(rf"\\+x{ord(char):02x}")
    if char == " ":
        spellings.append(r"\+")
    if char in _NAMED:
        spellings.append(rf"\\+{_NAMED[char]}")
    elif char in "\"'/\\":
        spellings.append(rf"\\+{re.escape(char)}")
    if char in _ENTITIES:
        spellings += [f"&{_ENTITIES[char]};", f"&#0*{ord(char)};", f"&#x0*{ord(char):x};"]
    return f"(?:{'|'.join(spellings)})"


def _base64(text: str) -> list[str]:
    """Return what is left of a text in base64 whatever stands before and after it."""
    raw = text.encode()
    spellings: dict[str, None] = {}
    for before in range(3):
        length = before + len(raw)
        whole = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        core = whole[(0, 2, 3)[before] : len(whole) - (1 if length % 3 else 0)]
        if len(core) >= _SHORTEST_BASE64:
            spellings[core] = None
            spellings[core.replace("+", "-").replace("/", "_")] = None
    return list(spellings)
