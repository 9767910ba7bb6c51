"""One word for one thing: a public class name that occurs twice has a reason, or another name."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "petra"
_CLASS = re.compile(r"^class ([^\W_]\w*)", re.MULTILINE)
_IMPORT = re.compile(r"^ *from (petra[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)

NODE = "a node of a syntax tree, which never leaves petra.expr"
SHAPE = "a shape of the API, whose name stands in its schema"
COMMAND = "always said with its module: c."
NET = "petra.net is a library of its own, in the words of Petri nets"
SCREEN = "what the terminal shows, seen by no other package"

# Names that occur more than once, and why that confuses nobody. Two that would meet in one file need other names.
SHARED = {
    "Agenda": NET,
    "Arc": "as written, and as counted by the coverage of tests",
    "BatchWriter": "the same thing for two databases",
    "Board": SCREEN,
    "Body": SHAPE,
    "Call": NODE,
    "Change": "of a text that is migrated, and of an execution by a batch: texts know no store",
    "Choice": NODE,
    "Client": "of the API, and of OAuth2, which says client itself",
    "Compiled": NET,
    "Document": "what is open in an editor, and what is checked",
    "Edge": NET,
    "Entry": "an execution in memory, and a key in a text that is typed",
    "Execution": SHAPE,
    "Fault": "of a key, and of a text: both inside of petra.playbook",
    "Finding": "of verify on the screen, and of a proof",
    "Firing": NET,
    "Frame": "between server and worker; one evaluation inside of petra.expr",
    "Group": SHAPE,
    "Keys": "that templates read, and that no grammar knows: both inside of petra.playbook",
    "Limits": NET,
    "Listed": "news of an engine, and a list as recorded: the kernel hears no news",
    "LogIn": SHAPE,
    "Migration": "of a playbook's text, and of a database's schema",
    "Name": NODE,
    "Namespace": "of an account, and of an expression while it is evaluated",
    "Node": NODE,
    "Note": "in the journal of accounts, and on a field of the grammar",
    "Outcome": SHAPE,
    "Output": NODE,
    "Page": SHAPE,
    "Parser": "of expressions, and of patterns inside of them",
    "Part": "of the grammar of playbooks, and of a syntax tree",
    "Place": NET,
    "Places": NET,
    "Produced": NET,
    "Reason": SHAPE,
    "Resting": NET,
    "Retry": f"by a policy, and by an operator; {COMMAND}",
    "Shape": SHAPE,
    "Signal": "kept in a mailbox, and waited for in a playbook",
    "Start": SHAPE,
    "Task": NET,
    "Text": SHAPE,
    "Timer": "of a clock, and of an execution: the kernel knows no clock",
    "Told": SHAPE,
    "View": "where a decision looks from, and a list that somebody keeps in the web UI",
    "WorkItem": SHAPE,
}


@cache
def places() -> dict[str, list[str]]:
    """Where each public class is."""
    places = defaultdict(list)
    for path in sorted(SOURCES.rglob("*.py")):
        for name in _CLASS.findall(path.read_text("utf-8")):
            places[name].append(path.relative_to(SOURCES).as_posix())
    return dict(places)


def test_a_class_name_that_occurs_twice_has_a_reason() -> None:
    twice = {name: files for name, files in places().items() if len(files) > 1}
    assert {name: files for name, files in twice.items() if name not in SHARED} == {}


def test_every_reason_for_a_shared_name_is_still_needed() -> None:
    assert [name for name in SHARED if len(places().get(name, ())) < 2] == []


def test_two_classes_of_one_name_never_stand_in_one_package() -> None:
    allowed = {"BatchWriter", "Keys", "Parser", "Part", "Node", "Fault", "Shape", "Body", "Group"}
    packages = {
        name: [file.split("/")[0] for file in files]
        for name, files in places().items()
        if name not in allowed
    }
    assert [name for name, files in packages.items() if len(set(files)) < len(files)] == []


def test_two_classes_of_one_name_never_meet_in_one_file() -> None:
    meeting = []
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text("utf-8")
        origins = {name: {"here"} for name in _CLASS.findall(text) if name in SHARED}
        for module, names in _IMPORT.findall(text):
            for name in SHARED.keys() & set(re.findall(r"\w+", names)):
                origins.setdefault(name, set()).add(module)
        meeting += [(path.name, name) for name, modules in origins.items() if len(modules) > 1]
    assert meeting == []
