"""Measure how long ``odt figure`` takes for each figure, and write ``data/figures.csv``.

CPU seconds of a process of its own, with compiled kernels. Names as arguments measure these alone.
"""

import csv
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from odtbook.figure_code import figures
from odtbook.figure_command import seconds

FILE = Path(__file__).resolve().parents[1] / "data" / "figures.csv"


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    known = seconds() if FILE.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for figure in figures():
            if sys.argv[1:] and figure.name not in sys.argv[1:]:
                continue
            before = used()
            subprocess.run([sys.executable, "-m", "odtbook", "figure", figure.name, "--out",
                            f"{folder}/figure.png"], check=True, stdout=subprocess.DEVNULL)
            known[figure.name] = used() - before
            with FILE.open("w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(["figure", "seconds"])
                rows.writerows((one.name, f"{known[one.name]:.1f}") for one in figures()
                               if one.name in known)


if __name__ == "__main__":
    main()
