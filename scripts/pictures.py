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
COLOURS = 64
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
        small = picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
        small.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
            target, optimize=True
        )


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
