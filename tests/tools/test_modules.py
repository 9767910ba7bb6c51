"""Modules that came along with a playbook: imported from their sources, apart from all others."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from support.attempts import bad, good, run

from petra.tools.registry import Registry

pytestmark = pytest.mark.spec("S22")
everywhere = pytest.mark.parametrize("where", ["thread", "process"])


def python(where: str, scope: Any = None, **fields: Any) -> Any:
    return run("python", fields, spec={"isolation": where}, scope=scope or {})


@everywhere
def test_code_and_functions_import_what_came_along(where: str) -> None:
    modules = {"prices": "import rates\ndef total(n, alpha): return rates.of(n) + alpha", "rates": "def of(n): return 2 * n"}  # fmt: skip
    scope = {"n": 4, "alpha": 1}
    assert good(python(where, scope, function="prices:total", modules=modules)) == 9
    code = "from prices import total\ndef main(n): import rates; return [total(n, 0), rates.of(1)]"
    assert good(python(where, scope, code=code, modules=modules)) == [8, 2]
    assert "prices" not in sys.modules
    assert "rates" not in sys.modules


def test_two_playbooks_may_have_modules_of_one_name() -> None:
    for n in (1, 2, 1):
        assert good(python("thread", code="import m; result = m.N", modules={"m": f"N = {n}"})) == n


def test_a_run_does_not_see_what_another_did_to_a_module() -> None:
    code = "import m; m.N += 1; result = m.N"
    assert [good(python("thread", code=code, modules={"m": "N = 0"})) for _ in "ab"] == [1, 1]


def test_what_did_not_come_along_is_the_worker_s() -> None:
    code = (
        "import m, json.decoder, os.path as p; from collections import OrderedDict; result = m.f()"
    )
    modules = {"m": "import json\ndef f(): return json.loads('[1]')"}
    assert good(python("thread", code=code, modules=modules)) == [1]
    error = bad(python("thread", code="import nowhere_at_all", modules=modules))
    assert "No module named 'nowhere_at_all'" in error.message
    error = bad(python("thread", function="nowhere_at_all:f"))
    assert "neither beside the playbook nor on the worker" in error.message


def test_modules_may_import_each_other_in_a_circle_and_have_dataclasses() -> None:
    modules = {
        "a": "from __future__ import annotations\nfrom dataclasses import dataclass\nimport b\n@dataclass\nclass A:\n    n: int = 1\n",
        "b": "import a\ndef n(): return a.A().n\n",
    }  # fmt: skip
    assert good(python("thread", code="import b; result = b.n()", modules=modules)) == 1


def test_code_may_have_dataclasses_with_annotations_that_are_texts() -> None:
    code = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    n: int = 1\nresult = A().n"  # fmt: skip
    assert good(python("thread", code=code)) == 1


@everywhere
def test_a_failure_names_the_line_of_the_file(where: str) -> None:
    modules = {"prices": "def total(n):\n    return 1 / n\n"}
    outcome = python(where, {"n": 0}, function="prices:total", modules=modules)
    assert bad(outcome).message.startswith("ZeroDivisionError: division by zero")
    assert "prices.py:2, total, line 2: 1 / n" in str(outcome)
    outcome = python(where, code="x = 1\ny = x / 0\n", file="deep/x.py")
    assert "deep/x.py:2, line 2: x / 0" in str(outcome)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("python", {}), ("shell", {}), ("sqlite", {"database": "x"}), ("duckdb", {})],
)
def test_a_file_that_did_not_come_along_is_an_error(kind: str, fields: dict[str, Any]) -> None:
    error = bad(run(kind, {"file": "x", **fields}))
    assert (error.kind, error.message) == (
        "not_found", "the file 'x' did not come with the playbook",
    )  # fmt: skip


def test_a_function_that_came_along_says_what_it_reads() -> None:
    registry = Registry()
    fields = {"function": "m:f", "modules": {"m": "def f(rows, n=1): return rows"}}
    reads = registry.reads("python", fields)
    assert reads is not None
    assert {"rows", "n"} <= reads
    assert registry.reads("python", {"function": "json:dumps"}) is None


PACKAGE = {
    "shop.__init__": "from .prices import total\nNAME = 'shop'\n",
    "shop.prices": "from . import rates\nfrom .deep.taxes import tax\n\ndef total(n):\n    return rates.of(n) + tax(n)\n",
    "shop.rates": "def of(n):\n    return 2 * n\n",
    "shop.deep.__init__": "",
    "shop.deep.taxes": "from ..limits import MOST\n\ndef tax(n):\n    return min(n, MOST) / (n - 9)\n",
    "shop.limits": "MOST = 1\n",
}  # fmt: skip


@pytest.mark.slow
@everywhere
def test_packages_are_imported_in_every_way_there_is(where: str) -> None:
    for function in ("shop:total", "shop.prices:total"):
        assert good(python(where, {"n": 10}, function=function, modules=PACKAGE)) == 21
    code = """
import shop.deep.taxes
import shop.limits as limits
from shop import rates, NAME
from shop.deep import taxes
result = [shop.total(10), limits.MOST, rates.of(1), NAME, taxes is shop.deep.taxes, shop.prices.__package__]
"""
    assert good(python(where, code=code, modules=PACKAGE)) == [21, 1, 2, "shop", True, "shop"]
    assert not [name for name in sys.modules if name.partition(".")[0] == "shop"]


def test_a_failure_in_a_package_names_its_file() -> None:
    outcome = python("thread", {"n": 9}, function="shop.deep.taxes:tax", modules=PACKAGE)
    assert "shop/deep/taxes.py:4, tax, line 4: min(n, MOST) / (n - 9)" in str(outcome)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import shop.nothing", "No module named 'shop.nothing'"),
        ("from shop import nothing", "cannot import name 'nothing'"),
        ("from . import shop", "relative import"),
    ],
)
def test_what_a_package_does_not_have_is_an_import_error(code: str, words: str) -> None:
    assert words in bad(python("thread", code=code, modules=PACKAGE)).message


def test_dots_do_not_lead_out_of_a_package() -> None:
    modules = {"a.__init__": "", "a.b": "from ... import c"}
    assert "relative import" in bad(python("thread", code="import a.b", modules=modules)).message


def test_a_package_says_what_its_functions_read_wherever_they_come_from() -> None:
    reads = Registry().reads("python", {"function": "shop:total", "modules": PACKAGE})
    assert reads is not None
    assert "n" in reads
