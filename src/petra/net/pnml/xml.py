"""XML, the small and harmless part of it: elements, attributes, text, and the line of each element.

Rule 1: no document type. Without one there are no entities to expand and nothing to fetch.
Rule 2: size and depth are bounded, in bytes and in elements.
Rule 3: names lose their namespace; PNML is written with and without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from petra.errors import NetError

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_DOCUMENT = 16 * 1024 * 1024
DEEPEST_ELEMENT = 64

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class Element:
    """One element, with its text so far as it stands directly inside."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def child(self, name: str) -> Element | None:
        """Return the first child of that name."""
        return next(self.all(name), None)

    def all(self, name: str) -> Iterator[Element]:
        """Yield the children of that name."""
        return (child for child in self.children if child.name == name)

    def walk(self, name: str) -> Iterator[Element]:
        """Yield the elements of that name anywhere below, in document order."""
        for child in self.children:
            if child.name == name:
                yield child
            yield from child.walk(name)

    def require(self, attribute: str) -> str:
        """Return an attribute that must be there.

        Raises:
            NetError: it is missing or empty.
        """
        value = self.attributes.get(attribute, "")
        if not value:
            self.refuse(f"<{self.name}> needs the attribute {attribute!r}")
        return value

    def refuse(self, what: str) -> NoReturn:
        """Blame this element.

        Raises:
            NetError: always, with the line.
        """
        raise NetError(f"line {self.line}: {what}")


def parse(text: str | bytes) -> Element:
    """Return the root element.

    Raises:
        NetError: not well-formed, too large, too deep, or with a document type; with the line.
    """
    if isinstance(text, str):
        parser = expat.ParserCreate(encoding="utf-8", namespace_separator=" ")
        raw = text.encode("utf-8", errors="surrogatepass")
    else:
        parser = expat.ParserCreate(namespace_separator=" ")
        raw = text
    if len(raw) > LARGEST_DOCUMENT:
        raise NetError(f"the document has {len(raw)} bytes; at most {LARGEST_DOCUMENT} are read")
    tree = _Tree(parser)
    try:
        parser.Parse(raw, True)  # noqa: FBT003  the C function takes no keywords
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise NetError(f"line {error.lineno}: not well-formed XML: {reason}") from error
    except (LookupError, ValueError) as error:
        raise NetError(f"line {parser.CurrentLineNumber}: {error}") from error
    return tree.top.children[0]


class _Tree:
    """Builds the elements while expat reads."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        self.parser = parser
        self.top = Element(name="", attributes={}, line=1)
        self.stack = [self.top]
        self.parts: list[list[str]] = [[]]
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.data
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.doctype

    def start(self, name: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        if len(self.stack) > DEEPEST_ELEMENT:
            raise NetError(f"line {line}: elements lie deeper than {DEEPEST_ELEMENT} levels")
        plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        element = Element(name=name.rpartition(" ")[2], attributes=plain, line=line)
        self.stack[-1].children.append(element)
        self.stack.append(element)
        self.parts.append([])

    def end(self, _name: str) -> None:
        self.stack.pop().text = "".join(self.parts.pop())

    def data(self, text: str) -> None:
        self.parts[-1].append(text)

    def doctype(self, *_declaration: object) -> None:
        line = self.parser.CurrentLineNumber
        raise NetError(f"line {line}: a document type is not allowed; remove <!DOCTYPE …>")


def quoted(value: str) -> str:
    """Return an attribute's value in quotes.

    Raises:
        NetError: XML has no way to write one of its characters.
    """
    return quoteattr(_written(value))


def escaped(value: str) -> str:
    """Return text that stands between tags.

    Raises:
        NetError: XML has no way to write one of its characters.
    """
    return escape(_written(value), {"\r": "&#13;"})


def _written(value: str) -> str:
    bad = _FORBIDDEN.search(value)
    if bad:
        raise NetError(f"{value!r}: XML cannot hold the character {bad.group()!r}; rename it")
    return value
