"""The control-plane shell: load, decide, append, release. What is acknowledged is durable.

Its modules, by what they do together; ARCHITECTURE.md goes along the way of one step through them.

- the whole: ``engine``, its ``parts``, the ``ground`` they stand on, its ``life``, its ``limits``, its ``meters``
- what arrives: ``admit`` parses it, ``conditions`` asks ``proofs`` and ``keychains`` before a start, ``submissions`` wait in the ``inbox``
- it is decided: ``decider``, on the executions of the ``cache`` (by ``by_weight``) and on ``programs``; what comes of it are ``changes`` and ``effects``
- large values: ``shelf``, ``cutting``, whose they are (``authority``), and what points to them (``references``)
- it is committed: ``committer``, in ``batches``, as rows and bytes of the ``codec``, at the time of the ``store_clock``; ``trouble`` is what cannot be
- it is released: ``release``; whoever asked gets ``answers`` or ``refusals``
- who hears of it: ``feed`` tells ``news`` and rings ``bells``; ``following``, ``listings`` and the ``lookout`` are for whoever listens, ``retries`` and ``logs`` what they hear beside
- work for workers: ``offers``, with more of them ``packed`` or in the ``backlog``; ``dispatch`` hands out ``parcels``, or ``late_assignments``
- workers: the ``roster`` and their ``room``, what is known of ``workers``, their ``connections`` and ``manners``, the credentials that ``giving`` gives
- what they have: ``leases`` under ``lease_names``, in ``custody``, until their ``reports`` come; ``guests`` of other engines; ``with_workers`` and ``plight`` say what is out
- time and other executions: ``wakes``, ``letters`` and the ``courier``
- other engines: ``shards`` and their ``handover``, ``publishing``, and the ``scope`` that an engine keeps to
- coming back and making room: ``recovery``, ``retention``, ``removal``; ``waited`` says what is waited for meanwhile
- what is applied: the ``catalogue``, ``documents`` on ``shelves``
- limits that executions share: ``permits``, ``lines``, ``standing``, ``shared_resources``, ``turnstile``
- people and systems are told: ``herald``, ``notifying``
- events from outside: ``triggers``, ``trigger_registry``, ``trigger_intake``, ``trigger_ends``, and who watches: ``trigger_watches``,
  ``trigger_files``, ``trigger_hearing``, ``trigger_listening``, ``trigger_nats``
"""

from __future__ import annotations

from petra.engine.answers import Answered
from petra.engine.engine import Engine

__all__ = ["Answered", "Engine"]
