"""The document as a tree: plain maps and lists that remember where each part was written.

A ``Map`` is a dict and a ``Seq`` a list, so whatever walks JSON walks these. The dialects rewrite this
tree; ``petra migrate`` runs the same rewrites over ruamel's round-trip tree, which keeps the author's
comments. So rewrites change containers only through the functions below, which serve both kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import Any

from petra.playbook.problems import START, Mark

Tree = Any
AnyMap = MutableMapping[str, Tree]
AnySeq = MutableSequence[Tree]


class Map(dict[str, Tree]):
    """A mapping with the marks of its keys and values."""

    __slots__ = ("keys_at", "mark", "values_at")

    def __init__(self, mark: Mark = START) -> None:
        super().__init__()
        self.mark = mark
        self.keys_at: dict[str, Mark] = {}
        self.values_at: dict[str, Mark] = {}

    def write(self, key: str, value: Tree, key_at: Mark, value_at: Mark) -> None:
        """Set a key and say where it was written."""
        self[key] = value
        self.keys_at[key] = key_at
        self.values_at[key] = value_at

    def key_at(self, key: str) -> Mark:
        """Where a key was written."""
        return self.keys_at.get(key, self.mark)

    def value_at(self, key: str) -> Mark:
        """Where a value was written."""
        return self.values_at.get(key, self.mark)


class Seq(list[Tree]):
    """A list with the marks of its items."""

    __slots__ = ("items_at", "mark")

    def __init__(self, mark: Mark = START) -> None:
        super().__init__()
        self.mark = mark
        self.items_at: list[Mark] = []

    def write(self, value: Tree, value_at: Mark) -> None:
        """Append an item and say where it was written."""
        self.append(value)
        self.items_at.append(value_at)

    def item_at(self, index: int) -> Mark:
        """Where an item was written."""
        return self.items_at[index] if index < len(self.items_at) else self.mark


class Places:
    """Where each part of a document was written, by its path in the tree that was decoded."""

    __slots__ = ("_root",)

    def __init__(self, root: Tree = None) -> None:
        self._root = root

    def at(self, *path: str | int) -> Mark:
        """Where a value was written, or the nearest part around it."""
        return self._find(path)[1]

    def key_at(self, *path: str | int) -> Mark:
        """Where the key of a value was written, or the nearest part around it."""
        return self._find(path)[0]

    def written(self, *path: str | int) -> Tree:
        """What was written there; None where nothing was."""
        return self._find(path)[2]

    def __iter__(self) -> Iterator[tuple[str | int, ...]]:
        """Yield the path of every part."""
        waiting: list[tuple[tuple[str | int, ...], Tree]] = [((), self._root)]
        while waiting:
            path, node = waiting.pop()
            yield path
            if isinstance(node, Map):
                waiting += [((*path, key), value) for key, value in node.items()]
            elif isinstance(node, Seq):
                waiting += [((*path, index), value) for index, value in enumerate(node)]

    def _find(self, path: tuple[str | int, ...]) -> tuple[Mark, Mark, Tree]:
        """Go down as far as the tree does; the marks of key and value there, and the value if the path ends there."""
        node = self._root
        key = value = getattr(node, "mark", START)
        for part in path:
            if isinstance(node, Map) and part in node:
                key, value = node.key_at(str(part)), node.value_at(str(part))
                node = node[str(part)]
            elif isinstance(node, Seq) and isinstance(part, int) and part < len(node):
                key = value = node.item_at(part)
                node = node[part]
            else:
                return key, value, None
        return key, value, node


def copy_tree(node: Tree) -> Tree:
    """Copy a tree with its marks, so that a rewrite of one place leaves the other alone."""
    if isinstance(node, Map):
        copy = Map(node.mark)
        for key, value in node.items():
            copy.write(key, copy_tree(value), node.key_at(key), node.value_at(key))
        return copy
    if isinstance(node, Seq):
        copied = Seq(node.mark)
        for index, value in enumerate(node):
            copied.write(copy_tree(value), node.item_at(index))
        return copied
    return node


def is_map(node: Tree) -> bool:
    """Whether a node is a mapping, of either kind of tree."""
    return isinstance(node, MutableMapping)


def is_seq(node: Tree) -> bool:
    """Whether a node is a list, of either kind of tree."""
    return isinstance(node, MutableSequence)


def as_map(node: Tree) -> AnyMap | None:
    """Give the node back if it is a mapping."""
    return node if isinstance(node, MutableMapping) else None


def as_seq(node: Tree) -> AnySeq | None:
    """Give the node back if it is a list."""
    return node if isinstance(node, MutableSequence) else None


def key_mark(node: AnyMap, key: str) -> Mark:
    """Where a key was written; the start where nobody knows."""
    return node.key_at(key) if isinstance(node, Map) else START


def value_mark(node: AnyMap, key: str) -> Mark:
    """Where a value was written; the start where nobody knows."""
    return node.value_at(key) if isinstance(node, Map) else START


def new_map(items: Mapping[str, Tree], mark: Mark = START, *, like: AnyMap | None = None) -> AnyMap:
    """Make a mapping that belongs to ``mark`` (and to the kind of tree of ``like``)."""
    fresh: AnyMap = type(like)() if like is not None and not isinstance(like, Map) else Map(mark)
    for key, value in items.items():
        put(fresh, key, value, mark)
    return fresh


def new_seq(items: Iterable[Tree], mark: Mark = START, *, like: AnyMap | None = None) -> AnySeq:
    """Make a list that belongs to ``mark`` (and to the kind of tree of ``like``)."""
    if like is not None and not isinstance(like, Map):
        return list(items)
    fresh = Seq(mark)
    for item in items:
        fresh.write(item, getattr(item, "mark", mark))
    return fresh


def text_block(text: str, *, like: AnyMap) -> str:
    """Make a text that is written as a block of lines where it has several."""
    if isinstance(like, Map) or "\n" not in text:
        return text
    from ruamel.yaml.scalarstring import LiteralScalarString  # noqa: PLC0415 - for migrate only

    block: str = LiteralScalarString(text)
    return block


def put(node: AnyMap, key: str, value: Tree, mark: Mark) -> None:
    """Set a key; what was written before keeps its place in the order."""
    if isinstance(node, Map):
        node.write(key, value, mark, getattr(value, "mark", mark))
    else:
        node[key] = value


def insert(node: AnySeq, index: int, value: Tree, mark: Mark) -> None:
    """Put an item in front of another one; what follows keeps its marks and comments."""
    node.insert(index, value)
    if isinstance(node, Seq):
        node.items_at.insert(index, mark)


def rename(node: AnyMap, old: str, new: str) -> None:
    """Give a key another name, in the same place and with the same marks and comments."""
    items = list(node.items())
    comments = getattr(getattr(node, "ca", None), "items", None)
    comment = comments.pop(old, None) if comments is not None else None
    marks = (node.keys_at.pop(old), node.values_at.pop(old)) if isinstance(node, Map) else None
    kept = dict(comments) if comments is not None else {}
    for key, _ in items:
        del node[key]
    for key, value in items:
        node[new if key == old else key] = value
    if comments is not None:
        comments.update(kept)
        if comment is not None:
            comments[new] = comment
    if isinstance(node, Map) and marks is not None:
        node.keys_at[new], node.values_at[new] = marks


def move_comments(source: AnyMap, key: str, target: AnyMap, new: str) -> None:
    """Take the comments of a key along when what stands under it gets another key."""
    held: Any = getattr(source, "ca", None)
    if held is not None and key in held.items:
        target.ca.items[new] = held.items.pop(key)  # type: ignore[attr-defined]


def child(node: AnyMap, key: str, mark: Mark) -> AnyMap:
    """Return the mapping under a key, making it where it is missing or null."""
    inner = as_map(node.get(key))
    if inner is None:
        inner = new_map({}, mark, like=node)
        put(node, key, inner, mark)
    return inner


def move(source: AnyMap, key: str, target: AnyMap, new: str | None = None) -> None:
    """Move a key into another mapping, with its marks and comments."""
    name = new or key
    mark, value = value_mark(source, key), source[key]
    key_at = key_mark(source, key)
    comments = getattr(getattr(source, "ca", None), "items", {})
    comment = comments.pop(key, None)
    del source[key]
    if isinstance(target, Map):
        target.write(name, value, key_at, mark)
    else:
        target[name] = value
        if comment is not None:
            target.ca.items[name] = comment  # type: ignore[attr-defined]
