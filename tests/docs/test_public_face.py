"""What is public is listed, described, and shows nothing that is not; the pages of it are made from the code."""

from __future__ import annotations

import importlib
import pydoc
import subprocess
import sys
import types
from pathlib import Path

import pytest
from public_face import (
    MODULES,
    doc_of,
    doc_of_name,
    leaks_of,
    leaks_of_function,
    members_of,
    public_names,
)
from python_pages import EXAMPLES, python_page
from server.conftest import serve

from petra.engine import Engine

PUBLIC = {
    "petra": """
        run open read OpenHome Result Playbook Problem Record
        News Appended Ended Gone Head Hint Lagged Printed Reset Attempt Error LogLine Retrying
        PetraError ExpressionError HeldError InvalidPlaybookError NetError ObjectError PlaybookError StoppedError
        StoreError UnavailableError UnknownExecutionError UnreadableError UsageError
    """,
    "petra.net": """
        Net Place Transition Mode Production Abort Question AnswerIn Token TokenRecord Marking modes
        start Configuration enabled Firing step Stepped drain Drained Aborted is_quiescent quiescence Rest blocked Blocked
        Strategy Fifo Priority ByName ByHash Random
        inject withdraw exchange cancel_region cancel Region tasks
        Receipt Produced write_receipts read_receipts verify Flaw compare Equivalence first_difference causal_form
        confluence Confluence Clash Divergence explore
        check Verdict Finding Counterexample Limits FinalMarkings FinalAnyOf read_final read_pnml write_pnml
        compile Compiled Origin prove Proof Budget
    """,
    "petra.testing": "Case CaseResult Execution Simulation Suite TestError load_suite run_case store_conformance",
    "petra.tools": """
        Tool ToolContext ToolError Outcome Error ErrorKind Cancellation Objects Say attempt failed ok
        Fields says Text Texts Data Map Number Flag Constant
    """,
    "petra.client": "Client Execution ServerError Told connect",
}
NOT_SHOWN = {
    "petra.Problem.mark": "a pair of line and column, which are fields of it",
    "petra.Record.event": "a class for each type of event",
    "petra.Record.receipt": "what the kernel writes of tokens",
    "petra.net.Compiled.contexts": "how the compiler numbered what it copied",
    "petra.net.Configuration.log": "behind `receipts`",
    "petra.net.Budget.ends_at": "for the search",
    "petra.net.prove": "takes the reading of a text too, which is how lines get into problems",
    "petra.testing.Case.beside": "what was found on disk",
    "petra.testing.Case.expect": "the words of a test file",
    "petra.testing.Case.playbook": "the reading of a text",
    "petra.testing.Case.readings": "the readings of texts",
    "petra.testing.Case.world": "the words of a test file",
    "petra.testing.Execution.definition": "for the simulation",
    "petra.testing.Execution.ledger": "for the simulation",
    "petra.testing.Execution.program": "what the kernel compiled",
    "petra.testing.Execution.settings": "for the simulation",
    "petra.testing.Execution.state": "the state of the kernel",
    "petra.testing.Execution.wholes": "for the simulation",
    "petra.testing.Simulation.send": "a command of the kernel",
    "petra.tools.ToolContext.written": "where code stands, for tracebacks",
}
"""Members of public classes, and functions, that show what is not public; and what that is."""


@pytest.mark.parametrize("module", MODULES)
def test_a_module_lists_exactly_what_is_public(module: str) -> None:
    assert sorted(public_names(module)) == sorted(PUBLIC[module].split())


@pytest.mark.parametrize("module", MODULES)
def test_what_is_public_has_a_docstring(module: str) -> None:
    bare = [
        name
        for name, thing in public_names(module).items()
        if not (
            doc_of(thing)
            if isinstance(thing, type | types.FunctionType | types.ModuleType)
            else doc_of_name(name, module)
        )
    ]
    assert bare == []


@pytest.mark.parametrize("module", MODULES)
def test_a_member_of_what_is_public_has_a_docstring(module: str) -> None:
    bare = [
        f"{name}.{member.name}"
        for name, cls in public_names(module).items()
        if isinstance(cls, type)
        for member in members_of(cls)
        if member.kind in ("method", "property") and not doc_of(member.value)
    ]
    assert bare == []


def test_what_is_public_shows_nothing_that_is_not_but_for_what_pages_leave_out() -> None:
    leaking = set()
    for module in MODULES:
        for name, thing in public_names(module).items():
            if isinstance(thing, types.FunctionType) and leaks_of_function(thing):
                leaking.add(f"{module}.{name}")
            if isinstance(thing, type):
                leaking |= {
                    f"{module}.{name}.{member.name}"
                    for member in members_of(thing)
                    if leaks_of(member)
                }
    assert leaking == set(NOT_SHOWN)


def _gives_what_is_private() -> list[Engine] | None: ...


def test_a_function_that_returns_what_is_not_public_is_found() -> None:
    assert leaks_of_function(_gives_what_is_private) == ["petra.engine.engine.Engine"]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_entry_on_its_page(module: str, root: Path) -> None:
    page = (root / f"docs/reference/python/{module}.md").read_text("utf-8")
    assert page == python_page(module)
    entries = [line[4:] for line in page.splitlines() if line.startswith("### ")]
    assert sorted(entries) == sorted(public_names(module))


def test_what_is_read_can_be_proved_compiled_and_simulated(root: Path) -> None:
    import petra  # noqa: PLC0415 - as a program does
    from petra import net, testing  # noqa: PLC0415

    playbook = petra.read(root / "examples/hello.yaml")
    assert net.prove(playbook).verdict == "sound"
    assert "greet.start" in net.compile(playbook).net.transitions
    simulation = testing.Simulation(playbook, tools={"greet": {"ok": "Hello!"}})
    simulation.start({"name": "Ada"})
    simulation.run()
    assert (simulation.status()[0], simulation.output) == ("completed", "Hello!")


@pytest.mark.parametrize("module", MODULES)
def test_help_and_completion_show_what_is_imported_when_it_is_asked_for(module: str) -> None:
    place = importlib.import_module(module)
    assert set(place.__all__) <= set(dir(place))
    names = public_names(module)
    shown = pydoc.plain(pydoc.render_doc(place))
    assert [name for name in names if name not in shown] == []
    assert [name for name, thing in names.items() if not pydoc.render_doc(thing)] == []


def test_what_a_prompt_shows_of_nets_and_cases_fits_on_a_line(root: Path) -> None:
    from petra import net, testing  # noqa: PLC0415 - as a program does

    coffee = net.Net.of(
        "coffee", places="coin cup", transitions=[net.Transition.of("pay", "coin -> cup")]
    )
    assert repr(coffee) == "<Net coffee: 2 places, 1 transition>"
    suite = testing.load_suite(root / "examples/hello.test.yaml")
    result = testing.run_case(suite.cases[0])
    assert [text for text in map(repr, (suite, result)) if len(text) > 400] == []
    assert "name='the world is greeted by default'" in repr(result)


def test_a_test_file_is_named_by_a_string_as_well(root: Path) -> None:
    from petra import testing  # noqa: PLC0415 - as a program does

    suite = testing.load_suite(str(root / "examples/hello.test.yaml"), [str(root / "examples")])
    assert [testing.run_case(case).result for case in suite.cases] == ["passed", "passed"]


def test_a_name_that_is_not_public_is_not_found() -> None:
    import petra  # noqa: PLC0415 - as a program does

    with pytest.raises(AttributeError, match="module 'petra' has no attribute 'Engine'"):
        petra.Engine  # type: ignore[attr-defined]  # noqa: B018 - that is what is asked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("petra", {"petra", "petra.lazy_names"}),
        ("petra.tools", {"petra", "petra.lazy_names", "petra.tools"}),
        ("petra.testing.plugin", {"petra", "petra.lazy_names", "petra.testing", "petra.testing.plugin"}),
    ],
)  # fmt: skip
def test_what_is_imported_often_imports_nothing(module: str, allowed: set[str]) -> None:
    shown = "print(*(name for name in sys.modules if name.partition('.')[0] == 'petra'))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}\n{shown}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(done.stdout.split()) == allowed


@pytest.mark.slow
@pytest.mark.parametrize("module", [name for name in MODULES if name != "petra.client"])
def test_an_example_prints_what_its_page_says(module: str, root: Path, tmp_path: Path) -> None:
    assert _printed(EXAMPLES[module][0], root, tmp_path) == EXAMPLES[module][1]


@pytest.mark.slow
def test_the_example_of_the_client_talks_to_a_server(root: Path, tmp_path: Path) -> None:
    code, printed = EXAMPLES["petra.client"]
    with serve(tmp_path / "served") as served:
        code = code.replace("http://127.0.0.1:7777", served.url)
        code = code.replace("TOKEN", served.said["token"])
        assert _printed(code, root, tmp_path) == printed


def _printed(code: str, root: Path, folder: Path) -> str:
    (folder / "examples").symlink_to(root / "examples")
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
