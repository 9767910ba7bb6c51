"""What pages weigh over the wire is bounded: a phone on a train loads the list in a breath."""

from __future__ import annotations

import build_ui
import pytest
import ui_bytes


def test_no_page_is_heavier_than_it_may_be() -> None:
    if not (build_ui.BUILT / "manifest.json").exists():
        pytest.skip("the web UI is not built; 'make ui' builds it")
    heavy = [one for one in ui_bytes.sizes() if one.found > one.budget]
    assert not heavy, (
        "load what few need when they need it; 'python scripts/build_ui.py' builds it anew"
    )
