"""Makes the examples of the API's description from what tests recorded.

    mkdir /tmp/seen && PETRA_EXAMPLES=/tmp/seen pytest tests/server && python scripts/api_examples.py /tmp/seen

Of each call and status the shortest is taken that says something and is of the shape that is described now. What is kept stays
where nothing better was seen.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bare_app import bare_description
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from petra.server.examples import FILE

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "src/petra/server" / FILE
_TOKEN = re.compile(r"petra_[a-z2-7]{32}[0-9a-f]{8}")
_PLACE = re.compile(rf"/dev/shm|/tmp/|/root/|/home/|/etc/|{re.escape(str(ROOT))}")
Found = dict[str, Any]


def chosen(records: Iterator[Found], known: dict[str, Found]) -> dict[str, Found]:
    """Return the examples: the best of what was seen, else what was known."""
    described = json.loads(json.dumps(bare_description()))
    best: dict[tuple[str, str, str], tuple[Any, Any]] = {}
    for one in records:
        method, path = one["operation"].split(" ", 1)
        call = described["paths"].get(path, {}).get(method)
        if call is None or _PLACE.search(json.dumps(one)):
            continue
        said = call["responses"].get(one["status"], {}).get("content", {})
        places = [("answers", one["status"], said.get("application/json"), one["answer"])]
        body = call.get("requestBody", {}).get("content", {}).get(one["media"])
        places.append(("sent", one["media"], body, one["sent"]))
        for kind, name, place, value in places:
            if place is not None and value is not None and _fits(described, place, value):
                key, rank = (one["operation"], kind, name), _rank(value)
                best[key] = min(best.get(key, (rank, value)), (rank, value), key=lambda two: two[0])
    made = {name: {"sent": {}, "answers": {}, **one} for name, one in known.items()}
    for (operation, kind, name), (_, value) in best.items():
        made.setdefault(operation, {"sent": {}, "answers": {}})[kind][name] = value
    return made


def _fits(described: Found, place: Found, value: Any) -> bool:
    schema = {**place["schema"], "components": described["components"]}
    return bool(Draft202012Validator(schema).is_valid(value))


def _rank(value: Any) -> Any:
    """Order by how little there is to read, what is empty last."""
    text = json.dumps(value, sort_keys=True)
    empty = isinstance(value, dict) and value.get("items") == []
    return (empty or value in ({}, [], ""), len(text), text)


def _read(folder: Path) -> Iterator[Found]:
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            yield json.loads(_TOKEN.sub("petra_" + "a" * 32 + "0" * 8, line))


def main(folder: Path) -> None:
    """Write the examples."""
    known = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    made = chosen(_read(folder), known)
    KEPT.write_text(json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(made)} calls have examples")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
