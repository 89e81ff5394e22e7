"""An examination is drawn by its seed, and its solutions hold for the library too."""

import re
from fractions import Fraction

import numpy as np
import pytest

from odtbook import cli
from odtbook.exam_command import questions
from odtlib import MurTreeClassifier
from odtlib.constrained import sets


def numbers(text):
    return [float(Fraction(one)) for one in re.findall(r"-?\d+(?:/\d+|\.\d+)?", text)]


def test_the_seed_draws_the_numbers():
    assert questions(3) == questions(3)
    assert all(a[1:] != b[1:] for a, b in zip(questions(3), questions(4), strict=True))
    assert sum(points for points, _, _ in questions(0)) == 33


@pytest.mark.parametrize("seed", range(20))
def test_solutions_are_those_of_the_library(seed):
    gini, *_, rows, penalties, project, interval = questions(seed)
    (a, b, c, d), gain = [numbers(gini[1])[k] for k in (0, 2, 4, 5)], numbers(gini[2])[-2]
    tree = [(n * (1 - np.square(p).sum() / n**2)) for p in ((a + c, b + d), (a, b), (c, d))
            for n in [sum(p)]]
    assert gain == pytest.approx((tree[0] - tree[1] - tree[2]) / (a + b + c + d))

    table = np.array([numbers(line) for line in rows[1].splitlines()[4:]], int)
    one, two, *roots = (int(n) for n in re.findall(r"(?<!x)\d(?=[.,])", rows[2]))
    for depth, errors in ((1, one), (2, two)):
        model = MurTreeClassifier(depth, binarizer="all").fit(table[:, :3], table[:, 3])
        assert model.report_.objective == errors
    assert min(roots) == two and len(roots) == 3

    errors = numbers(penalties[1])[:4]
    for at, n, m in np.reshape(numbers(penalties[2]), (-1, 3)):
        cost = [e + at * k for k, e in enumerate(errors)]
        assert cost[int(n)] == pytest.approx(min(cost)) == cost[int(m)]

    mean, near = numbers(project[1]), numbers(project[2])
    found = sets.AtMostKNonzero(2, upper=10).project(mean)
    assert found.tolist() == near[:4]
    assert near[-1] == 5 * np.square(np.subtract(mean, near[:4])).sum()

    ahead, said = numbers(interval[1])[:5], numbers(interval[2])
    assert said[:2] == pytest.approx([np.mean(ahead), np.std(ahead, ddof=1)], abs=0.006)


def test_the_command_keeps_the_solutions_apart(tmp_path, capsys):
    assert cli.main(["exam", "--seed", "7", "--to", str(tmp_path)]) in (0, None)
    exam, solutions = (tmp_path / f"{name}-7.md" for name in ("exam", "solutions"))
    assert capsys.readouterr().out.split() == [str(exam), str(solutions)]
    for (_, text, solution), k in zip(questions(7), range(1, 11), strict=True):
        assert f"**{k}.**" in exam.read_text() and text in exam.read_text()
        assert solution in solutions.read_text() and solution not in exam.read_text()
    assert cli.main(["exam", "--to", str(exam)]) == 2
    assert f"--to {exam} is a file" in capsys.readouterr().err
