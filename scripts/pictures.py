"""Photograph every page of the web UI from a real server, and write those that the documentation shows.

``make pictures`` writes all of them into web/.cache/pictures, for looking at, and a few into docs/images, with few
colours, so that they stay small.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from build_ui import ROOT, WEB, environment, node
from PIL import Image

TAKEN = WEB / ".cache/pictures"
SHOWN = ROOT / "docs/images"
IN_DOCS = {
    "execution-dark-1440": "execution-dark",
    "execution-light-1440": "execution-light",
    "executions-light-1440": "executions",
    "compare-light-1440": "compare",
    "inbox-light-1440": "inbox",
    "editor-light-1440": "editor",
}
COLOURS = 128
"""So many of the commonest colours are kept as they are, and so many mixed ones: a rare red still is red."""
WIDTH = 1200


def photograph() -> None:
    """Run the browser."""
    binary, _ = node()
    cli = WEB / "node_modules/@playwright/test/cli.js"
    asked = ["test", "--config", "playwright.pictures.ts"]
    subprocess.run([binary, cli, *asked], cwd=WEB, env=environment(), check=True)


def shrink(source: Path, target: Path) -> None:
    """Write a picture as documentation needs it: narrower, with a palette."""
    with Image.open(source) as picture:
        height = round(picture.height * WIDTH / picture.width)
        whole = picture.convert("RGB")
    small = whole.resize((WIDTH, height), Image.Resampling.LANCZOS)
    common = sorted(whole.getcolors(1 << 24) or [], reverse=True)[:COLOURS]
    mixed = small.quantize(COLOURS, method=Image.Quantize.MEDIANCUT).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*(part for _, colour in common for part in _rgb(colour)), *mixed])
    small.quantize(palette=palette, dither=Image.Dither.NONE).save(target, optimize=True)


def _rgb(colour: object) -> tuple[int, ...]:
    assert isinstance(colour, tuple), "the picture is RGB"
    return colour


def main() -> None:
    """Take all pictures; write those of the documentation."""
    if "--shrink" not in sys.argv:
        photograph()
    SHOWN.mkdir(exist_ok=True)
    for taken, shown in IN_DOCS.items():
        target = SHOWN / f"{shown}.png"
        shrink(TAKEN / f"{taken}.png", target)
        print(f"{target.relative_to(ROOT)}  {target.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
