"""Company: what a call means among the playbooks that lay beside each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.folder_files import read_file
from petra.kernel import State
from petra.kernel.snapshot import restore, snapshot
from petra.library import beside, gather
from petra.playbook import read
from petra.playbook.company import Companion, Company

pytestmark = pytest.mark.spec("S16")

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {%s}\nworkflow:\n"
NOOP = "  - {step: a, tool: {kind: noop}}\n"


def member(place: str, name: str = "x", path: str = "", **more: object) -> Companion:
    return Companion(place=place, digest=place, name=name, path=path, **more)  # type: ignore[arg-type]


def put(file: Path, metadata: str, *calls: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    steps = "".join(
        f"  - {{step: s{n}, tool: {{kind: playbook, path: '{call}'}}}}\n"
        for n, call in enumerate(calls)
    )
    file.write_text(HEAD % metadata + (steps or NOOP), encoding="utf-8")
    return file


def gathered(file: Path, *shelves: Path) -> list[str]:
    found = gather(file, read(file.read_text()).checked(), shelves, read=read_file)
    return list(found.readings)


def test_a_call_is_seen_from_the_file_of_whoever_calls() -> None:
    members = [member("x.yaml", "top"), member("sub/x.yaml", "deep"), member("../x.yml", "above")]
    top = Company(place="p.yaml", members=members)
    deep = top.seen_from(members[1])
    found = [top.find("x"), top.find("sub/x.yaml"), top.find("../x"), deep.find("x")]
    assert found == [members[0], members[1], members[2], members[1]]
    assert deep.find("../x") == members[0]
    assert top.find("/x.yaml") is None


def test_names_hold_in_the_folder_and_on_shelves_only() -> None:
    members = [member("sub/a.yaml", "bill"), member("lib/b.yaml", "ship", shelved=True)]
    top = Company(place="p.yaml", members=members)
    assert top.find("bill") is None
    assert top.seen_from(members[0]).find("bill") == members[0]
    assert top.find("ship") == top.seen_from(members[0]).find("ship") == members[1]


def test_a_version_is_asked_for() -> None:
    one, two = member("a.yaml", "bill", version="1"), member("b.yaml", "bill", version="2")
    company = Company(place="p.yaml", members=[one, two])
    assert [company.find("bill", version) for version in (None, "2", "3")] == [one, two, None]
    assert company.find("a", "2") is None


def test_what_is_called_is_gathered_with_what_that_calls_and_nothing_else(tmp_path: Path) -> None:
    parent = put(tmp_path / "p.yaml", "name: p", "sub/c", "p")
    put(tmp_path / "sub/c.yaml", "name: c", "g")
    put(tmp_path / "sub/any.yaml", "name: g", "../p.yaml")
    put(tmp_path / "other.yaml", "name: other")
    assert gathered(parent) == ["p.yaml", "sub/any.yaml", "sub/c.yaml"]


def test_a_template_may_call_everything_around(tmp_path: Path) -> None:
    parent = put(tmp_path / "p.yaml", "name: p", "{{ workload.which }}")
    put(tmp_path / "a.yaml", "name: a")
    (tmp_path / "broken.yaml").write_text(HEAD % "name: broken" + "  - {step: a}\n")
    put(tmp_path / "lib/deep/b.yaml", "name: b")
    assert gathered(parent, tmp_path / "lib") == ["lib/deep/b.yaml", "a.yaml", "p.yaml"]


def test_what_is_called_by_name_and_has_errors_is_faulty(tmp_path: Path) -> None:
    parent = put(tmp_path / "p.yaml", "name: p", "broken")
    (tmp_path / "broken.yaml").write_text(HEAD % "name: broken" + "  - {step: a}\n")
    found = gather(parent, read(parent.read_text()).checked(), read=read_file)
    assert [Path(one.name).name for one in found.faulty] == ["broken.yaml"]
    assert found.company() is None


@pytest.mark.slow
def test_too_many_are_refused_with_a_way_out(tmp_path: Path) -> None:
    parent = put(tmp_path / "p.yaml", "name: p", "{{ workload.which }}")
    for number in range(257):
        put(tmp_path / f"c{number}.yaml", f"name: c{number}")
    with pytest.raises(Exception, match=r"more than 256 playbooks.*petra apply"):
        gathered(parent)


names = st.sampled_from(["a", "b", "sub/a", "../a", "a.yaml", "b.yml", "sub/b", "./a", "c"])
files = st.sampled_from(
    ["a.yaml", "b.yml", "sub/a.yaml", "sub/b.yaml", "lib/a.yaml", "lib/x/c.yml"]
)


@given(
    st.dictionaries(files, st.tuples(names, st.sampled_from(["", "a", "b", "sub/a"])), min_size=1),
    st.sampled_from(["p.yaml", "sub/p.yaml"]),
    names,
)
def test_what_is_found_when_it_runs_is_what_the_check_found(
    tmp_path_factory: pytest.TempPathFactory,
    laid: dict[str, tuple[str, str]],
    caller: str,
    call: str,
) -> None:
    root = tmp_path_factory.mktemp("laid")
    for place, (name, path) in laid.items():
        put(root / place, f"name: '{name}'" + (f", path: '{path}'" if path else ""))
    first = put(root / "first.yaml", "name: first", caller)
    put(root / caller, "name: caller", call)
    found = gather(first, read(first.read_text()).checked(), [root / "lib"], read=read_file)
    company = found.company()
    assert company is not None
    own = next(one for one in company.members if one.place == caller)
    expected = beside(root / caller, [root / "lib"]).find(call)
    meant = company.seen_from(own).find(call)
    assert (root / meant.place if meant else None) == expected


def test_a_state_in_company_is_the_same_from_a_snapshot() -> None:
    company = Company("p.yaml", [member("a.yaml", "a", shelved=True)])
    state = State(id="x", company=company, labels={"a": "b"})
    assert restore(snapshot(state)) == state
