"""``make demo``: the tour. A playbook is proved, run durably, hurt in the middle, verified at the end, and looked at."""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import click
from shop import Shop

from petra.cli.follow import Plain, Showing
from petra.cli.show import summary
from petra.embedded import Home, Result
from petra.engine.codec import from_row
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel import verify
from petra.kernel.explain import explain
from petra.playbook import read_bytes

ROOT = Path(__file__).parents[1]
PETRA = Path(sys.executable).with_name("petra")
TOUR = ROOT / "examples" / "tour.yaml"
KEEP_S = 600.0


def say(words: str) -> None:
    click.echo()
    click.secho(words, bold=True)


def shell(*arguments: str) -> None:
    click.echo(f"$ petra {' '.join(arguments)}")
    subprocess.run([PETRA, *arguments], cwd=ROOT, check=True)


async def tour(home: Path, url: str) -> Result:
    playbook = read_bytes(TOUR.read_bytes(), "tour.yaml").checked()
    async with Home.open(home) as petra:
        await petra.engine.start(playbook, {"api": url}, execution="tour-1")
        showing = Showing("tour-1", Plain("tour-1"), fresh=True)
        async with showing.of(petra.engine.feed, petra.engine.store):
            await petra.rest("tour-1", lambda found: found.counts.get("done", 0) >= 2)
            assert petra.keeper.worker is not None
            await asyncio.sleep(0.15)
            click.secho("  ☠ kill -9 of the worker, in the middle of the loop", fg="red")
            petra.keeper.worker.kill()
            rests = await petra.rest("tour-1")
            await showing.reached(rests.version)
            entry = await petra.engine.cache.load("tour-1")
            for waiting in explain(entry.program, entry.state).waiting:
                click.echo(f"  ☺ {waiting.sentence} Unblocked by {waiting.unblocked_by}.")
            click.echo("$ petra task complete tour-1 approve approve --as ada")
            item = next(one for one in entry.state.items.values() if one.is_open)
            await petra.engine.ask(
                "tour-1",
                lambda now: c.Act(
                    now=now, item=item.id, act="complete", actor="ada", action="approve"
                ),
            )
            result = await petra.rest("tour-1")
            await showing.reached(result.version)
            records = [from_row(row) for row in await petra.engine.store.read("tour-1")]
    started = [record.event.run for record in records if isinstance(record.event, e.StepStarted)]
    ended = [record.event.run for record in records if isinstance(record.event, e.StepEnded)]
    cut = [
        run
        for record in records
        if isinstance(record.event, e.Withdrawn)
        for run in record.event.runs
    ]
    lost = len(set(started) - set(ended) - set(cut))
    twice = len(ended) - len(set(ended))
    again = sum(isinstance(record.event, e.RunRedelivered) for record in records)
    say("Afterwards")
    click.echo(summary(result))
    click.echo(
        f"  {len(started)} steps started, {len(ended)} ended, {len(cut)} withdrawn by the join"
    )
    click.echo(f"  {lost} steps lost, {twice} decided twice")
    click.echo(f"  {again} assignments were handed out again after the worker died")
    bad = verify("tour-1", records)
    click.echo(
        f"  {len(records)} records, the hash chain {'holds' if bad is None else f'breaks at {bad.seq}'}"
    )
    return result


def look(home: Path, seconds: float) -> None:
    """Serve what the tour left, and say where; until the time is over, or until somebody has seen enough."""
    shell("apply", "examples/tour.yaml", "--home", str(home))
    command = [
        str(PETRA),
        "serve",
        "--home",
        str(home),
        "--port",
        "0",
        "--grace",
        "1",
        "-o",
        "json",
    ]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        said = json.loads(server.stdout.readline())
        say(f"Look at it: {said['login_url']}")
        click.echo(f"  It stays up for {seconds:g} s, or until Ctrl-C.")
        sys.stdout.flush()
        server.wait(seconds)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        pass
    finally:
        server.terminate()
        server.wait()


def arguments() -> argparse.Namespace:
    """Return what was asked for: somebody who looks at a terminal has time to look at the pages, too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--keep", type=float, metavar="SECONDS", default=KEEP_S if sys.stdout.isatty() else 0.0,
        help="how long the server stays up at the end, to be looked at in a browser",
    )  # fmt: skip
    return parser.parse_args()


def main() -> int:
    keep = arguments().keep
    say("Petra reads the playbook and proves that it cannot get stuck.")
    shell("check", "examples/tour.yaml")
    say("It runs the playbook's tests in virtual time.")
    shell("test", "examples/tour.test.yaml")
    say("It runs the playbook for real, on SQLite, against a small service on this machine.")
    shop = Shop()
    with tempfile.TemporaryDirectory(prefix="petra-demo-") as home:
        result = asyncio.run(tour(Path(home), shop.url))
        if keep > 0:
            look(Path(home), keep)
    shop.close()
    click.echo("\nNext: petra init hello, petra run hello.yaml, and docs/tutorial/.")
    return 0 if result.status == "completed" else 1


if __name__ == "__main__":
    sys.exit(main())
