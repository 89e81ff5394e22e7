"""The command ``odt exam``: an examination whose numbers a seed draws, and its solutions apart."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil, log2, sqrt
from pathlib import Path

import numpy as np

from odtbook.files import hand_over


def _gini(random):
    a, b, c, d = (int(n) for n in random.integers(1, 9, 4))

    def gini(*counts):      # times the number of rows
        return sum(counts) - Fraction(sum(n * n for n in counts), sum(counts))

    rows, root, sides = a + b + c + d, gini(a + c, b + d), [gini(a, b), gini(c, d)]
    gain = (root - sum(sides)) / rows
    return (f"A split sends {a} rows of class 0 and {b} of class 1 to the left, {c} and {d} to "
            "the right. Compute its gain in the Gini index.",
            f"The root has {root / rows}, the weighted sides have {sides[0] / rows} and "
            f"{sides[1] / rows}. The gain is {gain}, or {float(gain):.3f}.")


def _reduced_cost(random):
    (p, q), (u, v) = random.integers(1, 8, 2) / 4, random.integers(1, 7, 2)
    gain = ceil(p * u + q * v) + int(random.integers(-1, 2))
    left = gain - p * u - q * v
    return (f"A linear program maximises. Its two resources have the prices {p:g} and {q:g}. A "
            f"new column uses {u} and {v} units of them, and gains {gain}. What is its reduced "
            "cost, and does it enter?",
            f"{gain} - ({u} x {p:g} + {v} x {q:g}) = {left:g}. "
            + ("It enters." if left > 0 else "It does not enter."))


def _paths(random):
    root, other, depth = (int(n) for n in random.integers([5, 2, 3], [12, 5, 5]))
    return (f"The root of a tree of depth {depth} has {root} candidate splits, every other "
            f"feature node {other}. How many paths lead to each leaf, and how many choices of "
            "splits has the whole tree?",
            f"{root} x {other}^{depth - 1} = {root * other**(depth - 1):,} paths, and "
            f"{root} x {other}^{2**depth - 2} = {root * other**(2**depth - 2):,} choices.")


def _binoct(random):
    p, thresholds, classes, d = (int(n) for n in random.integers([4, 5, 2, 2], [20, 60, 5, 5]))
    bits, inner, leaves = ceil(log2(thresholds)), 2**d - 1, 2**d
    return (f"How many binary variables has BinOCT for {p} features with {thresholds} thresholds "
            f"each, {classes} classes and depth {d}?",
            f"{bits} bits a node: {inner} x ({p} + {bits}) + {leaves} x {classes} = "
            f"{inner * (p + bits) + leaves * classes}.")


def _bounds(random):
    found = int(random.integers(20, 60))
    bound = found + random.integers(1, 12) + random.integers(1, 9) / 10
    return (f"A solver maximises a whole number. It is stopped with the incumbent {found} and the "
            f"bound {bound:g}. Between which numbers does the optimum lie?",
            f"Between {found} and {int(bound)}, since the bound can be rounded down.")


def _similar(random):
    errors, lost, new = (int(n) for n in random.integers([8, 1, 1], [20, 7, 7]))
    return (f"The best tree of depth three makes {errors} errors on a set of rows. Another set "
            f"lacks {lost} of these rows and contains {new} others. Between which numbers does "
            "its optimum at depth three lie?",
            f"Between {errors - lost} and {errors + new}. A row that is removed takes away at "
            "most one error, and a new one adds at most one.")


def fewest_errors(rows, label, depth: int) -> int:
    """Return the fewest errors of a tree on 0/1 columns, by trying all trees."""
    leaf = int(min(label.sum(), (1 - label).sum()))
    return min([leaf] + [sum(fewest_errors(rows[x == v], label[x == v], depth - 1)
                             for v in (0, 1)) for x in rows.T if depth])


def _eight_rows(random):
    rows = random.permuted([[0] * 3] * 4 + [[1] * 3] * 4, axis=0)
    label = random.permuted([0, 0, 0, 0, 1, 1, 1, 1])
    roots = [sum(fewest_errors(rows[x == v], label[x == v], 1) for v in (0, 1)) for x in rows.T]
    table = [f"| {' | '.join(map(str, row))} | {k} |" for row, k in zip(rows, label, strict=True)]
    return ("\n".join(["Find the fewest errors of a tree of depth one and of depth two on these "
                       "rows, and the errors with each of the three roots at depth two.", "",
                       "| x1 | x2 | x3 | label |", "|---|---|---|---|", *table]),
            f"Depth one: {fewest_errors(rows, label, 1)}. Depth two: {min(roots)}. The roots x1, "
            f"x2 and x3 reach {', '.join(map(str, roots))}.")


def _penalties(random):
    errors, hull = np.cumsum(random.integers(1, 9, 4))[::-1].tolist(), [0]
    while (n := hull[-1]) < 3:
        hull.append(max(range(n + 1, 4), key=lambda m, n=n: ((errors[n] - errors[m]) / (m - n), m)))
    changes = [f"{Fraction(errors[n] - errors[m], m - n)} (from {n} to {m} nodes)"
               for n, m in pairwise(hull)]
    return (f"The optimal trees of a data set make {', '.join(map(str, errors))} errors for the "
            "budgets of 0, 1, 2 and 3 feature nodes. At which penalties per node does the best "
            "budget change?", f"At {', '.join(changes)}.")


def _project(random):
    mean = random.choice(np.arange(1, 10), 4, replace=False).tolist()
    near = [m if m in sorted(mean)[2:] else 0 for m in mean]
    far = sum((a - b) ** 2 for a, b in zip(mean, near, strict=True))
    return (f"At most two of four targets may be above zero, and none below. A leaf has the mean "
            f"{mean} over five rows. What does it predict under squared error, and by how much "
            "does the rule raise its cost?", f"{near}. The cost rises by 5 x {far} = {5 * far}.")


def _interval(random):
    ahead = random.integers(-2, 6, 5)
    spread = float(ahead.std(ddof=1))
    usual, right = (2.776 * spread * sqrt(factor) for factor in (0.2, 0.45))
    return (f"On five folds a method is ahead of another by {', '.join(map(str, ahead))} points. "
            "Compute the usual 95 % interval for the mean and the corrected one (the quantile of "
            "Student's distribution is 2.776).",
            f"The mean is {ahead.mean():.2f}, the standard deviation {spread:.2f}. The usual "
            f"interval is plus or minus {usual:.2f}, the corrected one, with 1/5 + 1/4 in place "
            f"of 1/5, plus or minus {right:.2f}.")


# Points, and what asks for them.
QUESTIONS = (
    (3, _gini), (3, _reduced_cost), (3, _paths), (3, _binoct), (2, _bounds), (3, _similar), (5,
    _eight_rows), (4, _penalties), (3, _project), (4, _interval),
)


def questions(seed: int) -> list[tuple[int, str, str]]:
    """Return the questions of an examination, each as points, text and solution in Markdown."""
    random = np.random.default_rng(seed)
    return [(points, *ask(random)) for points, ask in QUESTIONS]


def add_parser(commands) -> None:
    """Add ``exam`` to the subcommands of ``odt``."""
    parser = commands.add_parser("exam", help="write an examination, and its solutions apart")
    parser.set_defaults(command=exam_command)
    parser.add_argument("--seed", type=int, default=1, help="what draws the numbers (default: 1)")
    parser.add_argument("--to", type=Path, default=Path(), metavar="FOLDER",
                        help="where the two files go (default: here)")


def exam_command(options) -> int:
    """Write the questions to one Markdown file and the solutions to another."""
    if options.seed < 0:
        raise ValueError(f"--seed {options.seed} draws no numbers; use 0 or more.")
    asked, files = questions(options.seed), {}
    for part, name in ((1, "exam"), (2, "solutions")):
        lines = [f"# Optimal decision trees: {name} {options.seed}",
                 f"{sum(points for points, _, _ in asked)} points.",
                 *(f"**{k}.** ({q[0]} points) {q[part]}" for k, q in enumerate(asked, 1))]
        files[options.to / f"{name}-{options.seed}.md"] = "\n\n".join(lines) + "\n"
    if options.to.is_file():
        raise ValueError(f"--to {options.to} is a file; name a folder.")
    options.to.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        if file.exists() and file.read_bytes() != text.encode():
            raise ValueError(f"{file} exists, and is not as `odt exam` writes it; move it, or name "
                             "another folder by --to.")
    for file, text in files.items():
        hand_over(file, text)
        print(file)
    return 0
