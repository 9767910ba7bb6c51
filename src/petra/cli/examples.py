"""What one types: examples of every verb, shown at the end of its help. A test has each of them read by its verb."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import click

HEADING = "Examples"

EXAMPLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "init": ("init hello", "init flows/orders"),
        "check": ("check orders.yaml", "check .", "check flows --strict -o json"),
        "test": (
            "test orders.test.yaml",
            "test . -k refund",
            "test . --explore 20 --junit report.xml",
        ),
        "simulate": (
            "simulate orders.yaml",
            "simulate orders.yaml --seed 7 --set order=9",
            "simulate orders.yaml -i",
        ),
        "graph": (
            "graph orders.yaml",
            "graph orders.yaml -f svg > orders.svg",
            "graph 01a1e0000003 > run.svg",
        ),
        "migrate": ("migrate old.yaml", "migrate old.yaml --write"),
        "schema": ("schema > playbook.schema.json", "schema test"),
        "lsp": ("lsp",),
        "run": (
            "run orders.yaml",
            "run orders.yaml --set order.id=7 --set 'names=[\"Ada\"]'",
            "run orders.yaml --workload @order.json -o json",
            "run orders.yaml --wait",
        ),
        "watch": ("watch 01a1e0000003", "watch 01a1e0000003 --follow"),
        "apply": ("apply orders.yaml", "apply flows"),
        "playbooks": ("playbooks", "playbooks shop/orders"),
        "start": ("start shop/orders --set order.id=7", "start shop/orders --version 3 --detach"),
        "schedule list": ("schedule list",),
        "schedule get": ("schedule get nightly",),
        "schedule apply": ("schedule apply nightly.yaml",),
        "schedule preview": (
            "schedule preview nightly.yaml",
            "schedule preview nightly --from 2026-03-28 -n 5",
        ),
        "schedule pause": ("schedule pause nightly --reason 'the shop is closed'",),
        "schedule resume": ("schedule resume nightly",),
        "schedule run": ("schedule run nightly",),
        "schedule backfill": (
            "schedule backfill nightly --from 2026-03-01 --to 2026-03-07 --dry-run",
        ),
        "schedule rm": ("schedule rm nightly",),
        "resource list": ("resource list",),
        "resource get": ("resource get database",),
        "resource set": ("resource set database --units 4", "resource set mail --rate 100/60"),
        "resource rm": ("resource rm database",),
        "trigger list": ("trigger list",),
        "trigger get": ("trigger get paid",),
        "trigger apply": ("trigger apply paid.yaml",),
        "trigger test": ("trigger test paid.yaml --event @event.json",),
        "trigger explain": ("trigger explain paid",),
        "trigger dead": ("trigger dead paid -n 5",),
        "trigger replay": ("trigger replay paid",),
        "trigger pause": ("trigger pause paid --reason 'the shop is closed'",),
        "trigger resume": ("trigger resume paid",),
        "trigger rm": ("trigger rm paid",),
        "serve": ("serve", "serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem"),
        "dev": ("dev", "dev flows --port 0 --open"),
        "worker": (
            "worker --server https://petra.example --pool gpu --slots 2",
            "worker --server https://petra.example --token-file token",
        ),
        "mcp": ("mcp", "mcp --allow start,act --playbook shop/orders"),
        "ps": (
            "ps",
            "ps --status waiting --playbook orders",
            "ps --label team=shop --limit 200 -o json",
        ),
        "get": ("get 01a1e0000003", "get 01a1e0000003 -o json"),
        "result": (
            "result 01a1e0000003",
            "result 01a1e0000003 --step fetch",
            "result 01a1e0000003 --ctx total",
        ),
        "logs": ("logs 01a1e0000003", "logs 01a1e0000003 --step fetch --follow"),
        "events": ("events 01a1e0000003", "events 01a1e0000003 --follow"),
        "explain": ("explain 01a1e0000003", "explain P128"),
        "task list": ("task list", "task list --as ada --role finance --due day"),
        "task get": ("task get 01a1e0000003/approve",),
        "task claim": ("task claim 01a1e0000003/approve --as ada",),
        "task release": ("task release 01a1e0000003/approve --as ada",),
        "task start": ("task start 01a1e0000003/approve --as ada",),
        "task save": ("task save 01a1e0000003/approve --data '{\"amount\": 90}'",),
        "task complete": (
            "task complete 01a1e0000003/approve approve --as ada",
            "task complete 01a1e0000003/approve approve --data '{\"amount\": 90}'",
        ),
        "task fail": ("task fail 01a1e0000003/approve --reason 'no invoice'",),
        "task cancel": ("task cancel 01a1e0000003/approve --admin --reason 'no longer needed'",),
        "task delegate": ("task delegate 01a1e0000003/approve --as ada --to bob",),
        "task reassign": ("task reassign 01a1e0000003/approve --admin --to bob",),
        "task suspend": ("task suspend 01a1e0000003/approve --as ada",),
        "task resume": ("task resume 01a1e0000003/approve --as ada",),
        "task comment": ("task comment 01a1e0000003/approve --reason 'asked the shop'",),
        "signal": (
            "signal 01a1e0000003 paid",
            "signal 01a1e0000003 paid --key 17 --payload '{\"amount\": 120}'",
        ),
        "patch": ("patch 01a1e0000003 open=true --reason 'the shop opens'",),
        "pause": ("pause 01a1e0000003",),
        "resume": ("resume 01a1e0000003",),
        "cancel": ("cancel 01a1e0000003 --reason 'ordered twice'",),
        "override": ("override 01a1e0000003 fetch --ok 120 --reason 'asked by telephone'",),
        "retry": ("retry 01a1e0000003 fetch",),
        "group": ("group 01a1e0000003 each add --item 7", "group 01a1e0000003 each complete"),
        "rerun": (
            "rerun 01a1e0000003 --from fetch",
            "rerun 01a1e0000003 --from fetch --playbook orders.yaml --set order=9",
        ),
        "fork": ("fork 01a1e0000003 --at 12",),
        "migrate-execution": (
            "migrate-execution 01a1e0000003 --to orders.yaml --plan",
            "migrate-execution 01a1e0000003 --to orders.yaml --map pay=charge",
        ),
        "bulk": (
            "bulk cancel --playbook shop/orders --status waiting --dry-run",
            "bulk rerun 01a1e0000003 01a1e0000004 --from fetch --yes",
        ),
        "verify": ("verify", "verify 01a1e0000003 --net --redecide"),
        "replay": ("replay 01a1e0000003", "replay 01a1e0000003 --to 12"),
        "diff": ("diff 01a1e0000003 01a1e0000004",),
        "export": (
            "export 01a1e0000003 > log.json",
            "export 01a1e0000003 -f xes -o log.xes",
        ),
        "rm": ("rm 01a1e0000003",),
        "prune": ("prune --older 30d --dry-run", "prune --older 12h --status completed"),
        "notifications list": ("notifications list --status given_up",),
        "notifications show": ("notifications show 4f1c2a",),
        "notifications retry": ("notifications retry 4f1c2a",),
        "secret set": ("secret set shop-token", "secret set database --json < database.json"),
        "secret list": ("secret list",),
        "secret rm": ("secret rm shop-token",),
        "secret rotate": ("secret rotate",),
        "user add": (
            "user add ada --role operator@default",
            "user add ci --service --role author@default",
        ),
        "user list": ("user list",),
        "user change": ("user change ada --role viewer@default", "user change ada --disable"),
        "token create": (
            "token create --user ci --label pipeline --expires 90d",
            "token create --role worker --pool gpu",
        ),
        "token list": ("token list",),
        "token revoke": ("token revoke 311c09eb85b1",),
        "audit list": ("audit list --limit 20",),
        "audit verify": ("audit verify",),
        "login": ("login https://petra.example --user ada",),
        "logout": ("logout",),
        "db stats": ("db stats",),
        "db migrate": ("db migrate",),
        "db backup": ("db backup copy.db",),
        "db accept-loss": ("db accept-loss",),
        "doctor": ("doctor", "doctor --server https://petra.example"),
        "config": ("config", "config --origin"),
        "version": ("version",),
    }
)
"""By the words of a verb, without ``petra``."""


def with_examples(verb: click.Command, *words: str) -> click.Command:
    """Give a verb the end of its help, unless it has one."""
    known = EXAMPLES.get(" ".join(words))
    if known and verb.epilog is None:
        verb.epilog = "\n".join((f"{HEADING}:", *(f"petra {example}" for example in known)))
    return verb
