"""A benchmark that is made of the search's kernels finds what the search does."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_triples_find_the_optima_of_the_search():
    ended = subprocess.run([sys.executable, "benchmarks/depth_three.py", "--check", "20"], cwd=ROOT,
                           capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "all budgets agree on 20 random tables"
