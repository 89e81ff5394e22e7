"""``odt referee``: a tree and a table go in, a verdict comes out."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from odtlib.requirements import needs


def add_parser(commands) -> None:
    """Add ``referee`` to the subcommands of ``odt``."""
    parser = commands.add_parser(
        "referee", help="say whether a tree is the best one, with a proof or a better tree",
        description="Count the errors of a tree on a table again, and say whether a better tree "
        "exists: one sentence. The exit status is 0 if the tree is proved optimal, else 1.")
    parser.set_defaults(command=run, words={
        "max_depth": "--depth", "max_nodes": "--nodes", "min_samples_leaf": "--leaf",
        "split_penalty": "--price", "time_limit": "--time"})
    add = parser.add_argument
    add("tree", metavar="TREE", help="JSON of `DecisionTree.to_json`, of nested nodes, or the text "
        "that a package prints")
    add("data", metavar="DATA", help="the table, as for `odt try`; all columns but the target are "
        "numbers and none is left out, unless the tree is the .json of `odt try`")
    add("--target", metavar="COLUMN", help="what the tree predicts (default: the last column)")
    add("--depth", type=int, metavar="D", help="most tests on a path (default: as in the tree)")
    add("--nodes", type=int, metavar="N", help="most feature nodes (default: no limit)")
    add("--leaf", type=int, default=1, metavar="ROWS", help="least rows in a leaf (default: 1)")
    add("--price", type=float, default=0.0, metavar="COST", help="of a feature node (default: 0)")
    add("--time", type=float, default=60.0, metavar="SECONDS",
        help="about how long it may take (default: 60)")
    add("--save", metavar="FILE", help="where to write the certificate (.npz) of an optimal tree, "
        "or the better tree (.json)")


def run(options) -> int:
    """Print the verdict."""
    needs("pandas", "tables", "odt referee")
    from odtbook.files import hand_over, to_write
    from odtbook.referee import referee
    from odtbook.tables import printable, read_table
    save = to_write(options.save, options.tree, options.data) if options.save else None
    if not Path(options.tree).exists() or Path(options.tree).is_dir():
        raise FileNotFoundError(f"there is no file {options.tree!r}; give that of a tree.")
    table = read_table(options.data, options.target)
    for line in table.report.lines:
        if "dropped" in line or "left out" in line:
            print(printable(f"odt: {line}"), file=sys.stderr)
    verdict = referee(
        Path(options.tree), table.X, table.y, max_depth=options.depth, max_nodes=options.nodes,
        min_samples_leaf=options.leaf, split_penalty=options.price, time_limit=options.time,
        objective="squared_error" if table.task == "regression" else "errors")
    print(verdict)
    if verdict.better is not None:
        print(verdict.better.to_text())
    if save and verdict.better is not None:
        hand_over(save, verdict.better.to_json())
        print(f"{save}: the better tree")
    elif save and verdict.certificate is not None:
        with TemporaryDirectory() as folder:
            proof = Path(folder) / "proof"
            verdict.certificate.save(proof)
            hand_over(save, proof.read_bytes())
        print(f"{save}: the certificate")
    elif save:
        print(f"{save} is not written: there is neither a certificate nor a better tree")
    return 0 if verdict.status == "optimal" else 1
