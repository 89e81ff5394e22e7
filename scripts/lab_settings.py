"""Give this environment's JupyterLab the book's settings; for ``make lab`` and Binder."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

SETTINGS = Path(__file__).resolve().parents[1] / ".binder" / "overrides.json"


def main() -> None:
    target = Path(sys.prefix) / "share" / "jupyter" / "lab" / "settings"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(SETTINGS, target)


if __name__ == "__main__":
    main()
