"""Where a place or a transition of a compiled net comes from."""

from __future__ import annotations

from msgspec import Struct

from petra.net.contexts import Context


class Origin(Struct, frozen=True):
    """Where a place or a transition comes from.

    ``arcs`` are positions in ``next.arcs`` as written. ``certain``: no guard and no data had a say.
    ``ends``: a branch of the group of that context ends here. ``aborts``: the execution ends here.
    ``unless``: not while one of these places holds a token, except when nothing else can fire.
    ``aside``: it can happen, and the question of soundness leaves it out: data decide it, or the gate of a join.
    """

    step: str
    kind: str
    arcs: tuple[int, ...] = ()
    context: Context = ()
    certain: bool = True
    ends: bool = False
    aborts: bool = False
    unless: tuple[str, ...] = ()
    aside: bool = False
