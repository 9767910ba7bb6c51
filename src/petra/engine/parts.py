"""How the parts of an engine hang together, by the stations of a step's way (ARCHITECTURE.md).

A part is made after those that it calls, so the end of the way is made first: what hands out, then what releases, commits
and decides. Nothing is kept here: the engine has the parts.
"""

from __future__ import annotations

from msgspec import Struct

from petra.engine.backlog import Backlog
from petra.engine.batches import Batches
from petra.engine.committer import Committer
from petra.engine.courier import Courier
from petra.engine.custody import Custody
from petra.engine.decider import Decider
from petra.engine.dispatch import Dispatcher
from petra.engine.ground import Ground
from petra.engine.guests import Guests
from petra.engine.meters import Meters
from petra.engine.notifying import Notifying
from petra.engine.refusals import Refusals
from petra.engine.release import Releaser
from petra.engine.reports import ReportIntake
from petra.engine.shared_resources import SharedResources
from petra.engine.shelf import Porter
from petra.engine.triggers import Triggers
from petra.engine.turnstile import Turnstile
from petra.engine.wakes import Wakes


class Hands(Struct, frozen=True, kw_only=True):
    """Those who know which worker has what: it is handed out (5 of the way) and reported (7)."""

    backlog: Backlog
    custody: Custody
    reports: ReportIntake
    guests: Guests
    dispatcher: Dispatcher


def hands_of(ground: Ground, *, lease_s: float, gives: bool) -> Hands:
    """Make those who hand out; ``gives`` says that workers may ask for stored credentials."""
    backlog = Backlog(ground.store, ground.shards, ground.scope)
    custody = Custody(ground.clock, ground.inbox, backlog, lease_s, ground.shards.take_over_s)
    reports = ReportIntake(custody, ground.inbox)
    return Hands(
        backlog=backlog,
        custody=custody,
        reports=reports,
        guests=Guests(ground.store, custody, ground.shards, ground.bus),
        dispatcher=Dispatcher(ground, custody, reports, gives=gives),
    )


def decider_of(  # noqa: PLR0913 - whom something is asked or told along the way
    ground: Ground,
    hands: Hands,
    *,
    courier: Courier,
    wakes: Wakes,
    porter: Porter,
    notifying: Notifying,
    triggers: Triggers,
    resources: SharedResources,
    turnstile: Turnstile,
    meters: Meters,
) -> Decider:
    """Make the way of what arrives: it is decided (2), committed (3) and released (4)."""
    refusals = Refusals(ground.inbox, courier, hands.reports)
    releaser = Releaser(
        ground, hands.custody, hands.reports, courier=courier, refusals=refusals,
        to_be_sent=notifying.wake, arrived=triggers.wake, lines_changed=turnstile.changed,
    )  # fmt: skip
    committer = Committer(
        ground, batches=Batches(ground, wakes, courier, herald=notifying.herald, notes=triggers.notes),
        porter=porter, refusals=refusals, releaser=releaser, dispatcher=hands.dispatcher, meters=meters,
    )  # fmt: skip
    return Decider(
        ground, courier=courier, porter=porter, refusals=refusals, committer=committer, resources=resources,
        herald=notifying.herald,
    )  # fmt: skip
