"""A wheel has the web UI in it, or is not built; what is installed for working on it may do without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class UiHook(BuildHookInterface):  # type: ignore[type-arg]
    """Looks whether the web UI was built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Refuse a wheel without it."""
        del build_data
        if version != "editable" and not Path(self.root, "src/petra/server/ui/index.html").exists():
            raise RuntimeError("the web UI is not built; run 'make ui' first")
