"""The command ``odt try``: a table goes in, a page with its optimal tree comes out."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from odtlib.requirements import needs


def add_parser(commands):
    """Add the command to the parser of ``odt``."""
    parser = commands.add_parser(
        "try", help="the optimal tree of a table of your own, on one page",
        description="Read a table, find its optimal tree, and write one page that opens without a "
        "network: what was read, the tree, what is proved, how accurate it is beside CART, a "
        "forest and boosting, and whether optimality pays here. The tree is written beside it as "
        "JSON, as dot, and as a Python file that needs no package.")
    parser.set_defaults(command=_try)
    parser.add_argument("file", metavar="FILE", help="CSV, TSV or Parquet, one row per case")
    parser.add_argument("--target", metavar="COLUMN", help="what to predict (default: the last)")
    parser.add_argument("--task", choices=["classification", "regression"],
                        help="what the target is (default: decided from its values)")
    parser.add_argument("--time", type=float, default=60.0, metavar="SECONDS",
                        help="about how long it may take (default: 60)")
    parser.add_argument("--output", metavar="PAGE.html",
                        help="where to write (default: FILE-tree.html in this folder)")


def _try(options):
    needs("pandas", "tables", "odt try")
    needs("matplotlib", "tables", "odt try")
    from odtbook.tables import read_table
    if not options.time > 0:
        raise ValueError(f"--time {options.time:g} is no time; give a number of seconds above 0.")
    page = Path(options.output or f"{Path(options.file).name.partition('.')[0]}-tree.html")
    if page.parent != Path() and not page.parent.is_dir():
        raise ValueError(f"there is no folder {page.parent}; make it, or leave --output out.")
    begun = time.perf_counter()

    def say(line):
        print(f"odt try: {time.perf_counter() - begun:5.1f} s  {line}", file=sys.stderr, flush=True)

    say(f"reading {options.file}")
    table = read_table(options.file, options.target, task=options.task)
    print(table.report)
    from odtbook import try_page
    if table.report.unusable:
        page.write_text(try_page.unusable_page(table, options.file, table.target),
                        encoding="utf-8")
        print(f"{page}: what was read, and why there is no tree")
        return 0
    from odtbook.trying import try_table
    trial = try_table(table, max(1.0, options.time - (time.perf_counter() - begun)), say)
    tree = trial.model.tree_
    beside = {page.with_suffix(".json"): tree.to_json(), page.with_suffix(".dot"): tree.to_dot(),
              page.with_suffix(".py"): try_page.standalone(trial)}
    for path, text in beside.items():
        path.write_text(text, encoding="utf-8")
    page.write_text(try_page.page(trial, options.file, table.target,
                                  [path.name for path in beside]), encoding="utf-8")
    print()
    for line in [*try_page.sentences(trial.model, table.task), *try_page.verdict(trial)]:
        print(line)
    print(f"{page}: open it in a browser")
    return 0
