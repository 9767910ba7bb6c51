"""Published nets with published verdicts; they live beside the project and are not part of it."""

from __future__ import annotations

import csv
import io
import tarfile
from pathlib import Path

import pytest

from petra.net.pnml import read_pnml
from petra.net.soundness import check, read_final

NETS = Path(__file__).parents[3] / "shared" / "nets"

pytestmark = [
    pytest.mark.spec("S19"),
    pytest.mark.skipif(not NETS.is_dir(), reason="the labelled nets are not here"),
]

ANSWERS = {
    "sound": "sound",
    "unsound": "unsound",
    "not-a-wf-net": "not-a-workflow-net",
    "1": "sound",
    "0": "unsound",
}


def labels(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


def test_every_handmade_net_gets_its_verdict() -> None:
    rows = labels(NETS / "handmade" / "labels.csv")
    assert rows
    wrong = []
    for row in rows:
        net = read_pnml((NETS / "handmade" / f"{row['net']}.pnml").read_bytes())
        verdict = check(net)
        if verdict.verdict != ANSWERS[row["verdict"]]:
            wrong.append((row, verdict))
        assert (verdict.counterexample is not None) == (verdict.verdict == "unsound")
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("library", sorted(path.stem for path in NETS.glob("ibm_*.csv")))
def test_every_industrial_net_gets_its_published_verdict(library: str) -> None:
    rows = labels(NETS / f"{library}.csv")
    with tarfile.open(NETS / f"{library}.tar.gz") as archive:
        files = {
            Path(member.name).name: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive
            if member.isfile()
        }
    wrong = []
    for row in rows:
        net = read_pnml(files[f"{row['net']}.pnml"])
        verdict = check(net, final=read_final(files[f"{row['net']}.final.json"]))
        if verdict.verdict != ANSWERS[row["sound"]]:
            wrong.append((row["net"], row["sound"], verdict.verdict))
    assert wrong == []
