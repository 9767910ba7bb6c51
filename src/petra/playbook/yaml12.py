"""YAML 1.2 core schema on libyaml's parser: text to tree, with the position of every key and value.

Rule 1: events, never ``compose``: libyaml's own recursion crashes the process on deep nesting.
Rule 2: everything is bounded: text, depth, and the number of nodes after aliases are expanded.
Rule 3: only the core schema resolves (``on``, ``no`` and dates are strings), and tags beyond it are refused.
Rule 4: every problem of the text is reported, except after a syntax error, where the parser has lost its way.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml
from msgspec import Struct, field

from petra.playbook.problems import START, Mark, Problems, line_starts, lines_of
from petra.playbook.syntax import fault, unquoted
from petra.playbook.tree import Map, Seq, Tree, copy_tree

TEXT_BYTES_MAX = 1024 * 1024
DEPTH_MAX = 64
NODES_MAX = 50_000
# Python itself refuses to convert longer integers.
DIGITS_MAX = 4_000

NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
INT = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
NON_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")

_CORE = "tag:yaml.org,2002:"
_CORE_TAGS = frozenset(
    _CORE + name for name in ("map", "seq", "str", "int", "float", "bool", "null")
)


class _Stop(Exception):  # noqa: N818 - it is no error: the problem has been reported
    """Reading cannot go on."""


def parse(text: str, problems: Problems) -> Tree:
    """Read one document; what cannot be read is reported, and None comes back."""
    if len(text.encode("utf-8", "surrogatepass")) > TEXT_BYTES_MAX:
        problems.error(
            "P003", START, f"the file is larger than {TEXT_BYTES_MAX // 1024} KiB",
            "keep data in files or tables and give the playbook a reference",
        )  # fmt: skip
        return None
    try:
        return _Builder(text, problems).build()
    except _Stop:
        return None


class _Open(Struct):
    """A collection whose end has not been seen yet."""

    node: Map | Seq
    anchor: str | None
    mark: Mark
    flow: bool = False
    key: str | None = None
    key_at: Mark = START
    merging: bool = False
    merges: list[tuple[Tree, Mark]] = field(default_factory=list)


class _Builder:
    """Builds the tree from the parser's events, iteratively."""

    def __init__(self, text: str, problems: Problems) -> None:
        self.text = text
        self.problems = problems
        self.stack: list[_Open] = []
        self.anchors: dict[str, Tree] = {}
        self.sizes: dict[str, int] = {}
        self.nodes = 0
        self.root: Tree = None
        self.documents = 0

    def build(self) -> Tree:
        """Run over all events; the tree of the only document."""
        take: dict[type, Callable[..., None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._start,
            yaml.SequenceStartEvent: self._start,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.DocumentStartEvent: self._document,
        }
        try:
            for event in yaml.parse(self.text, Loader=yaml.CLoader):
                if handle := take.get(type(event)):
                    handle(event)
        except yaml.MarkedYAMLError as error:
            self._syntax_error(error)
        except (yaml.YAMLError, UnicodeEncodeError) as error:
            self._not_text(error)
        return self.root

    # Events

    def _document(self, event: yaml.DocumentStartEvent) -> None:
        self.documents += 1
        if self.documents > 1:
            self.problems.error(
                "P008",
                _mark(event),
                "a file holds one document",
                "put the second one into a file of its own",
            )
            raise _Stop

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._count(1, event)
        value = self._resolve(event)
        if event.anchor:
            self.anchors[event.anchor] = value
            self.sizes[event.anchor] = 1
        self._add(value, event)

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        self._count(1, event)
        mark = _mark(event)
        if len(self.stack) >= DEPTH_MAX:
            self.problems.error(
                "P003", mark, f"nested deeper than {DEPTH_MAX} levels", "flatten the document"
            )
            raise _Stop
        self._check_tag(event)
        node: Map | Seq = Map(mark) if isinstance(event, yaml.MappingStartEvent) else Seq(mark)
        if self._is_complex_key():
            self._complex_key(event)
        if event.anchor:
            self.sizes[event.anchor] = self.nodes
        self.stack.append(_Open(node, event.anchor, mark, flow=bool(event.flow_style)))

    def _end(self, event: yaml.Event) -> None:
        closed = self.stack.pop()
        if isinstance(closed.node, Map):
            self._merge(closed)
        if closed.anchor:
            self.anchors[closed.anchor] = closed.node
            self.sizes[closed.anchor] = self.nodes - self.sizes[closed.anchor] + 1
        self._add(closed.node, event, closed.mark)

    def _alias(self, event: yaml.AliasEvent) -> None:
        assert event.anchor is not None
        if any(open_.anchor == event.anchor for open_ in self.stack):
            self._bad_alias(
                event,
                f"alias '*{event.anchor}' stands inside what it repeats",
                "write the value out",
            )
        if event.anchor not in self.anchors:
            self._bad_alias(
                event,
                f"alias '*{event.anchor}' has no anchor '&{event.anchor}' before it",
                "define the anchor first, or put text that begins with '*' in quotes",
            )
        self._count(self.sizes[event.anchor], event)
        self._add(copy_tree(self.anchors[event.anchor]), event)

    # Putting values where they belong

    def _add(self, value: Tree, event: yaml.Event, mark: Mark | None = None) -> None:
        at = mark or _mark(event)
        if not self.stack:
            self.root = value
            return
        top = self.stack[-1]
        if isinstance(top.node, Seq):
            top.node.write(value, at)
        elif top.key is None:
            self._take_key(top, value, event, at)
        else:
            key, top.key = top.key, None
            self._take_value(top, key, value, at)

    def _take_key(self, top: _Open, value: Tree, event: yaml.Event, at: Mark) -> None:
        if isinstance(value, Map | Seq):
            top.key = "?"
        elif isinstance(event, yaml.ScalarEvent):
            top.key = event.value
        else:
            top.key = str(value)
        top.key_at = at
        top.merging = top.key == "<<" and not getattr(event, "style", None)

    def _take_value(self, top: _Open, key: str, value: Tree, at: Mark) -> None:
        node = top.node
        assert isinstance(node, Map)
        if top.merging:
            if top.merges:
                line = top.merges[0][1].line
                self.problems.error(
                    "P005",
                    top.key_at,
                    f"key '<<' is already written on line {line}",
                    "give one '<<' a list: '<<: [*a, *b]'",
                )
            top.merges.append((value, at))
        elif key in node:
            first = node.key_at(key)
            self.problems.error(
                "P005",
                top.key_at,
                f"key '{key}' is already written on line {first.line}",
                "remove one of the two",
            )
        else:
            node.write(key, value, top.key_at, at)

    def _merge(self, closed: _Open) -> None:
        """Fill in what ``<<`` brings; keys written here win, then earlier sources."""
        node = closed.node
        assert isinstance(node, Map)
        for value, at in closed.merges:
            sources = value if isinstance(value, Seq) else [value]
            for source in sources:
                if not isinstance(source, Map):
                    self.problems.error(
                        "P009",
                        at,
                        "'<<' takes a mapping or a list of them",
                        "give it an alias: '<<: *name'",
                    )
                    continue
                for key in source:
                    if key not in node:
                        node.write(key, source[key], source.key_at(key), source.value_at(key))

    # Limits and refusals

    def _count(self, nodes: int, event: yaml.Event) -> None:
        self.nodes += nodes
        if self.nodes > NODES_MAX:
            self.problems.error(
                "P003", _mark(event), f"more than {NODES_MAX:,} nodes once aliases are expanded",
                "repeat less, or keep data in files",
            )  # fmt: skip
            raise _Stop

    def _bad_alias(self, event: yaml.Event, message: str, hint: str) -> None:
        self.problems.error("P009", _mark(event), message, hint)
        raise _Stop

    def _is_complex_key(self) -> bool:
        return (
            bool(self.stack) and isinstance(self.stack[-1].node, Map) and self.stack[-1].key is None
        )

    def _complex_key(self, event: yaml.Event) -> None:
        """``{{ x }}`` without quotes reads as a mapping that is the key of a mapping."""
        outer = self.stack[-1]
        mark = _mark(event)
        if outer.flow and outer.mark == Mark(mark.line, mark.column - 1):
            self._unquoted(outer.mark)
        if lines_of(self.text)[mark.line - 1].startswith("{{", mark.column - 1):
            self._unquoted(mark)
        self.problems.error(
            "P010", mark, "a key must be plain text", "write the key as a word or in quotes"
        )
        raise _Stop

    def _unquoted(self, mark: Mark) -> None:
        self.problems.error(*unquoted(lines_of(self.text), mark))
        raise _Stop

    def _check_tag(
        self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent | yaml.ScalarEvent
    ) -> None:
        if event.tag and event.tag != "!" and event.tag not in _CORE_TAGS:
            shown = event.tag.replace(_CORE, "!!")
            self.problems.error(
                "P006",
                _mark(event),
                f"tag '{shown}' is not allowed",
                "remove it; playbooks hold plain data only",
            )

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> None:
        self.problems.error(*fault(error, lines_of(self.text)))
        raise _Stop

    def _not_text(self, error: yaml.YAMLError | UnicodeEncodeError) -> None:
        reason = getattr(error, "reason", None) or str(error)
        if isinstance(error, UnicodeEncodeError):
            before = self.text[: error.start]
        else:  # the parser counts bytes
            raw = self.text.encode("utf-8", "surrogatepass")[
                : getattr(error, "position", None) or 0
            ]
            before = raw.decode("utf-8", "replace")
        starts = line_starts(before)
        mark = Mark(len(starts), len(before) - starts[-1] + 1)
        self.problems.error("P002", mark, f"not text: {reason}", "save the file as UTF-8 text")
        raise _Stop

    # Scalars

    def _resolve(self, event: yaml.ScalarEvent) -> Tree:
        self._check_tag(event)
        text: str = event.value
        tag = event.tag
        if tag in (None, "!"):
            plain = event.style is None or event.style == ""
            return self._plain(text, event) if plain and event.implicit[0] else text
        if tag == _CORE + "str" or tag not in _CORE_TAGS:
            return text
        value = self._plain(text, event)
        if isinstance(value, str):
            shown = tag.replace(_CORE, "!!")
            self.problems.error("P006", _mark(event), f"'{text}' is no {shown}", "remove the tag")
        return value

    def _plain(self, text: str, event: yaml.ScalarEvent) -> Tree:
        if NULL.match(text):
            return None
        if BOOL.match(text):
            return text[0] in "tT"
        if INT.match(text):
            return self._integer(text, event)
        if FLOAT.match(text):
            value = float(text)
            if value in (float("inf"), float("-inf")):
                self._no_number(text, event)
            return value
        if NON_FINITE.match(text):
            self._no_number(text, event)
        return text

    def _integer(self, text: str, event: yaml.ScalarEvent) -> Tree:
        if len(text) > DIGITS_MAX:
            self._no_number(text[:20] + "…", event)
            return 0
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)

    def _no_number(self, text: str, event: yaml.Event) -> None:
        self.problems.error(
            "P011",
            _mark(event),
            f"{text} is not a number JSON can hold",
            "write it as a string in quotes",
        )


def _mark(event: yaml.Event) -> Mark:
    at = event.start_mark
    assert at is not None
    return Mark(at.line + 1, at.column + 1)
