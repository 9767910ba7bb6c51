"""``python -m petra``."""

from __future__ import annotations

from petra.cli import main

if __name__ == "__main__":
    main()
