"""What a playbook cannot do by accident: inject into a shell, reach inside, be judged by rules it was not stored under."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import playbook
from support.stub_http import reply, serving

from petra.embedded import Home
from petra.engine.cache import Cache
from petra.playbook import InvalidPlaybookError, read, read_stored
from petra.store import Batch
from petra.store.memory import MemoryStore
from petra.testing.store_rows import make_playbook

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: test}\nworkflow:\n"
SCRIPT = HEAD + "  - step: a\n    tool: {kind: shell, script: 'echo {{ workload.name }}'}\n"


@pytest.mark.spec("S22")
def test_a_script_with_a_template_is_refused_with_the_fix() -> None:
    (problem,) = [one for one in read(SCRIPT).problems if one.severity == "error"]
    assert problem.code == "P125"
    assert "'env'" in (problem.hint or "")
    assert "$NAME" in (problem.hint or "")


@pytest.mark.spec("S3")
def test_a_stored_playbook_is_not_judged_by_what_is_checked_today() -> None:
    with pytest.raises(InvalidPlaybookError):
        read(SCRIPT).checked()

    async def loading() -> None:
        store = MemoryStore(clock=lambda: 0.0)
        row = make_playbook("d1", source=SCRIPT.encode())
        await store.commit(Batch(playbooks=(row,)))
        program = await Cache(store).program("d1")
        assert list(program.steps) == ["a"]

    asyncio.run(loading())
    with pytest.raises(InvalidPlaybookError):
        read_stored("a: [", "broken")


@pytest.mark.slow
@pytest.mark.spec("S22")
def test_one_variable_keeps_every_worker_from_reaching_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asking(home: Path) -> str:
        async with serving({"/": reply("inside")}) as stub, Home.open(home) as local:
            done = await local.run(
                playbook(f"  - step: a\n    tool: {{kind: http, url: '{stub.url()}'}}\n")
            )
            return f"{done.status} {done.error}"

    assert asyncio.run(asking(tmp_path / "one")).startswith("completed")
    monkeypatch.setenv("PETRA_REFUSE_PRIVATE", "1")
    refused = asyncio.run(asking(tmp_path / "two"))
    assert refused.startswith("failed")
    assert "not public" in refused
