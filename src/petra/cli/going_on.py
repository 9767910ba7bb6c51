"""``petra run`` without a file: going on with what an earlier process left."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

from petra.cli.follow import Showing, Silent, is_live, telling
from petra.cli.home import EXIT, INTERRUPTED, act, either, shown_data, whole_result
from petra.cli.left import Left, left_here, left_in
from petra.cli.output import count, print_json, tell
from petra.cli.show import hint, summary
from petra.embedded import Home, Result
from petra.errors import UsageError

COMING_S = 0.05
"""What a letter will start is looked for so often; mostly it is there at once."""


def go_on(home: Path, output: str, *, waits: bool) -> NoReturn:
    """Go on with what was left, say what it has come to, and leave."""

    async def going_on(local: Home) -> list[Result]:
        chosen = tuple(left.live) if waits else left.going
        left.tell_late()
        if output != "json":
            _say_left(chosen, left)
        with telling(chosen[0], output, "") if len(chosen) == 1 else nullcontext(Silent()) as view:
            showing = Showing(chosen[0] if chosen else "", view)
            shown = showing.of(local.engine.feed, local.engine.store) if chosen else nullcontext()
            async with shown:
                results = await _all_rest(local, chosen, waits=waits)
                if chosen:  # else nothing is shown of what came later
                    await showing.reached(results[0].version)
            view.finish(results[0].status if results else "")
            return results

    async def there() -> list[Result]:
        raise UsageError(
            f"another petra has {home} open, and goes on there; 'petra watch ID' looks on"
        )

    left = act(home, lambda: left_here(home))
    try:
        results = act(home, lambda: either(home, going_on, there))
    except KeyboardInterrupt:
        tell("\ninterrupted; nothing is lost: 'petra run' goes on", err=True)
        sys.exit(INTERRUPTED)
    if output == "json":
        print_json([shown_data(whole_result(home, result)) for result in results])
    for result in results if output != "json" else ():
        say(result, drawn=is_live() and len(results) == 1)
    sys.exit(max((EXIT.get(result.status, 1) for result in results), default=0))


async def _all_rest(local: Home, chosen: Sequence[str], *, waits: bool) -> list[Result]:
    """Go on until nothing can: neither what was left, nor what comes of it or is started meanwhile."""
    results: dict[str, Result] = {}
    new = list(chosen)
    while True:
        rests = [local.desk.rest_for_long(local.who, execution, over=waits) for execution in new]
        results |= {result.id: result for result in await asyncio.gather(*rests)}
        left = await left_in(local.engine.store)
        new = [
            execution
            for execution in (left.live if waits else left.going)
            if execution not in results
        ]
        if not new:
            if not left.coming:
                return list(results.values())
            await local.engine.clock.sleep(COMING_S)  # a start that is refused rings for nobody


def _say_left(chosen: Sequence[str], left: Left) -> None:
    if going := len(chosen) + len(left.coming):
        tell(f"going on with {count(going, 'execution')} that an earlier process left")
    elif left.live:
        waiting = count(len(left.live), "execution") + (
            " waits" if len(left.live) == 1 else " wait"
        )
        tell(f"nothing can go on by itself: {waiting}; 'petra ps' shows for what")
    else:
        tell("nothing is left to go on with; 'petra run FILE' starts an execution")


def say(result: Result, *, drawn: bool, file: Path | None = None) -> None:
    """Say what it has come to; under a tree that was drawn, only what that does not show."""
    words = summary(result)
    if drawn:
        words = words.partition("\n")[2]
    if words:
        tell(words)
    if not drawn or result.reason != "human":
        hint(result, file)
