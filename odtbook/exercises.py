"""Check answers to the exercises of the book, with hints instead of solutions.

Answers that are plain numbers are judged by ``exercises.toml``, all others by the functions below.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import resources
from io import StringIO
from textwrap import fill
from typing import Any

import numpy as np

_CHECKS: dict[str, Callable] = {}
CLOSE = 1e-3    # how near an answer must be to the right number


class Hint(Exception):
    """What is missing in an answer; a check raises it, and :func:`check` shows it."""


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and what to say about it."""

    right: bool
    message: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self):
        return fill(f"{'Right' if self.right else 'Not yet'}: {self.message}", 60)


def check(exercise: str, answer: Any) -> Verdict:
    """Check an answer to an exercise of the book.

    Parameters
    ----------
    exercise : str
        Label of the exercise, for instance ``"ch1-count"``.
    answer : object
        What the exercise asks for: a number, an array, a function, a fitted model.

    Returns
    -------
    Verdict
        A notebook shows it as one sentence: that the answer is right, or a hint.

    Raises
    ------
    ValueError
        If no exercise that can be checked has this label.

    Examples
    --------
    >>> from odtbook import check
    >>> check("ch1-count", 2744)
    Not yet: that counts trees. Many of them split the eight
    rows identically, or leave a side empty.
    """
    known = exercises()
    if exercise not in known:
        from odtbook.tables.words import suggestion
        raise ValueError(f"there is no exercise {exercise!r} to check{suggestion(exercise, known)}"
                         f"; those that can be checked are {', '.join(known)}.")
    try:
        praise = (_CHECKS[exercise](answer) if exercise in _CHECKS else
                  _judge_numbers(answer, **_numbers()[exercise]))
    except Hint as hint:
        return Verdict(False, str(hint))
    except Exception as error:  # the reader's own function may do anything
        why = f" ({type(error).__name__}: {error})" if callable(answer) else ""
        return Verdict(False, f"the answer could not be read{why}; it should be "
                              f"{_wanted(exercise)}")
    return Verdict(True, praise or "well done.")


def exercises():
    """Return the labels of the exercises that can be checked, sorted.

    Returns
    -------
    list of str
    """
    return sorted([*_CHECKS, *_numbers()])


def overview():
    """Return all exercises of the book with their points.

    Returns
    -------
    pandas.DataFrame
        One row per exercise, in the order of the book: ``label``, ``page`` (the notebook in which
        it stands), ``kind`` (``by hand``, ``code``, ``proof`` or ``open``), ``points``, and
        ``checked``, whether :func:`check` knows it.
    """
    import pandas as pd

    table = pd.read_csv(StringIO(_text("exercises.csv")))
    return table.assign(checked=table["label"].isin(exercises()))


def _text(name):
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _numbers():
    """Return the exercises that ask for numbers: label -> answer, hints and praise."""
    return tomllib.loads(_text("exercises.toml"))


def on_the_page(label):
    """Return what the built page needs to judge an answer, or None if it is not plain numbers.

    As ``exercises.toml`` says it, with each number as a pair: its value, and how near an answer
    must be.  ``_static/answers.js`` judges by it as :func:`check` does; a test compares them.
    """
    if label not in _numbers():
        return None
    lines = [{kind: values if kind in ("hint", "sum") else
              [value if value == "any" else _number(value) for value in values]
              for kind, values in line.items()} for line in _numbers()[label]["hints"]]
    return {"praise": "well done.", "any_order": False, **_numbers()[label], "hints": lines}


def numbers_in(text, count):
    """Return the lists of so many numbers that a text can mean, as ``_static/answers.js`` does.

    ``1,234`` is a thousand, or two numbers, or has a decimal comma; ``70 %`` is 0.7 or 70.
    """
    own = re.sub(r"[()\[\]{}]", " ", text).replace("−", "-")
    own = re.sub(r"\s*([*/^])\s*", r"\1", re.sub("[·×]", "*", own))
    own = re.sub(r"\band\b|&", " ", own)
    plain = re.sub(r"\s*%", "", own)
    found = [_listed(reading) for reading in (
        plain, re.sub(r"(\d)[,\u00a0\u202f ](?=\d{3}(?!\d))", r"\1", plain),
        re.sub(r"(\d),(?=\d{3}(?!\d))", r"\1", plain), re.sub(r"(\d),(?=\d)", r"\1.", plain))]
    found = [values for values in found if len(values) == count]
    return [part for values in found for part in ([v / 100 for v in values], values)
            ] if "%" in own else found


def _listed(text):
    """Return the numbers of a text, products and powers too; none where a word is no number."""
    number = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
    values = []
    for token in re.split(r"[\s,;]+", text.strip(" \t\n,;")):
        if not re.fullmatch(f"{number}(?:[*/^]{number})*", token):
            return []
        value = 1.0
        try:
            for sign, factor in re.findall(r"(^|[*/])([^*/]+)", token):
                base, *powers = (float(part) for part in factor.split("^"))
                for power in powers:
                    base **= power
                value = value / base if sign == "/" else value * base
        except (ArithmeticError, OverflowError):
            return []
        values.append(value)
    return values if np.isfinite(values).all() else []


def _judge_numbers(found, answer, hints, praise="", any_order=False):
    """Judge an answer of numbers, or a text of them, of which one reading may be right."""
    if not isinstance(found, str):
        return _judge_list(found, answer, hints, praise, any_order)
    first = Hint(f"give {answer}")
    for k, reading in enumerate(numbers_in(found, len(hints[-1]["is"]))):
        try:
            return _judge_list(reading, answer, hints, praise, any_order)
        except Hint as hint:
            first = hint if k == 0 else first
    raise first


def _judge_list(found, answer, hints, praise, any_order):
    """Go through the hints of an exercise of ``exercises.toml``; return the praise."""
    right = hints[-1]["is"]
    try:
        found = np.ravel(np.asarray(found, float))
    except (TypeError, ValueError):
        raise Hint(f"give {answer}") from None
    _expect(len(found) == len(right) and np.isfinite(found).all(), f"give {answer}")

    def matches(own, numbers):
        return all(number == "any" or _close(value, *_number(number))
                   for value, number in zip(own, numbers, strict=True))

    in_order = [np.sort(found), sorted(right, key=lambda number: _number(number)[0])]
    if any_order:
        found = in_order[0]
    _expect(matches(found, right) or not matches(*in_order),
            f"the numbers are right, but not in the order asked for; give {answer}")
    _expect(matches(found, right) or not all(map(_shortened, found, right)),
            "right so far, but rounded too much: give three decimals, or a fraction")
    for line in hints:
        if "none" in line:
            _expect(not any(matches([own], [number]) for own in found for number in line["none"]),
                    line["hint"])
        elif "sum" in line:
            _expect(_close(found.sum(), line["sum"]), line["hint"])
        else:
            _expect(matches(found, line.get("is", line.get("not"))) == ("is" in line),
                    line["hint"])
    return praise


def _shortened(value, number):
    """Return whether a value is a number, or that number with one or two decimals."""
    if number == "any" or _close(value, *_number(number)):
        return True
    return value != 0 and any(abs(value - np.floor(_number(number)[0] * unit + 0.5) / unit) < 1e-9
                              for unit in (10, 100))


def _number(number):
    """Return a number of ``exercises.toml`` and how near an answer must be.

    A text is a number as the solution prints it, and takes all numbers that are rounded to it.
    """
    if not isinstance(number, str):
        return number, CLOSE
    exponent = Decimal(number).as_tuple().exponent
    return float(number), max(CLOSE, 0.5 * 10.0**exponent)


def _wanted(exercise):
    if exercise in _CHECKS:
        return _CHECKS[exercise].__doc__.strip()
    return _numbers()[exercise]["answer"]


def _exercise(label):
    """Register a check: its docstring says what the answer is, in words that follow "be"."""
    def register(function):
        _CHECKS[label] = function
        return function
    return register


def _expect(condition, hint):
    if not condition:
        raise Hint(hint)


def _close(answer, right, tolerance=CLOSE):
    return bool(np.all(np.abs(np.asarray(answer, float) - right) <= tolerance))


# ------------------------------------------------------------------ chapter 1


@_exercise("ch1-misclassification")
def _(splits):
    """two splits, each a pair of leaves (a, b), the one that is the better beginning second."""
    first, second = (np.array(split, float) for split in splits)
    _expect(first.shape == second.shape == (2, 2), "give two splits of two leaves (a, b) each.")
    _expect((first >= 0).all() and (second >= 0).all(), "counts are not negative.")
    _expect((first.sum(0) == second.sum(0)).all(), "both splits must divide the same rows. "
            "The sums over the leaves differ.")
    _expect(first.min(1).sum() == second.min(1).sum(),
            "the two splits make different numbers of errors.")

    def impurity(split):
        total = split.sum(1)
        return (total - (split**2).sum(1) / np.maximum(total, 1)).sum() / total.sum()

    _expect(impurity(second) < impurity(first) - 1e-12,
            "Gini does not prefer the second split. Try one with a pure leaf.")
    return "the errors are the same, and Gini tells them apart."




# ------------------------------------------------------------------ chapter 4


@_exercise("ch4-costs")
def _(weights):
    """a function that takes the classes (1 is positive) and returns a weight for each row."""
    y = np.array([0, 1, 1, 0, 1])
    found = np.asarray(weights(y), float)
    _expect(found.shape == y.shape, "return one weight for each row.")
    _expect((found > 0).all(), "weights are positive.")
    ratio = found[y == 1].min() / found[y == 0].max()
    _expect(not _close(ratio, 0.2), "a false negative is an error on a *positive* row.")
    _expect(_close(ratio, 5) and np.ptp(found[y == 1]) == 0 == np.ptp(found[y == 0]),
            "an error on a positive row should cost five times an error on a negative one.")


# ------------------------------------------------------------------ chapter 5

@_exercise("ch5-classes")
def _(solve):
    """a function that takes a 0/1 table and class codes and returns the fewest errors."""
    from odtlib.murtree import MurTreeClassifier

    random = np.random.default_rng(1)
    for trial in range(20):
        table = random.integers(0, 2, (60, 6))
        codes = random.integers(0, 2 + trial % 3, 60)
        right = MurTreeClassifier(max_depth=2).fit(table, codes).report_.objective
        found = solve(table, codes)
        where = f"{found} errors in trial {trial} with {2 + trial % 3} classes"
        _expect(found >= right, f"{where}, but {right:.0f} is optimal: is a cell counted twice, or "
                "are majorities compared with the wrong total?")
        _expect(found == right, f"{where}, where {right:.0f} is possible: are both sides minimised "
                "apart, over all second features?")


@_exercise("ch5-leaf-size")
def _(example):
    """a 0/1 table, its class codes, and two masks: the rows of A and those of D."""
    table, codes, in_a, in_d = (np.asarray(part) for part in example)
    in_a, in_d = in_a.astype(bool), in_d.astype(bool)
    _expect(len(table) <= 6, "six rows are enough.")

    def errors(rows, least):
        def leaf(part):
            return len(part) - np.bincount(part, minlength=2).max()

        part, best = table[rows], leaf(codes[rows])
        for x in part.T == 1:
            if min(x.sum(), (~x).sum()) >= least:
                best = min(best, leaf(codes[rows][x]) + leaf(codes[rows][~x]))
        return best

    of_a, of_d, missing = errors(in_a, 2), errors(in_d, 2), (in_a & ~in_d).sum()
    _expect(of_d < of_a - missing, f"T(A, 1, 1) is {of_a} and T(D, 1, 1) is {of_d}; the bound "
            f"{of_a - missing} holds. What can a new row make possible?")
    return f"T(D, 1, 1) is {of_d}, below the bound of {of_a - missing}."


# ------------------------------------------------------------------ chapter 6


@_exercise("ch6-twice")
def _(example):
    """a set, a mean and a feasible target."""
    feasible_set, mean, target = example
    mean, target = np.asarray(mean, float), np.asarray(target, float)
    _expect(np.all(feasible_set.contains(target)), "the target is not in the set.")
    near = np.linalg.norm(mean - target)
    far = np.linalg.norm(feasible_set.project(mean) - target)
    _expect(near > 1e-9, "mean and target must differ.")
    _expect(far >= 1.8 * near, f"the projection is {far / near:.2f} times as far as the mean; "
            "in a convex set it is never farther, so leave a hole near the mean.")
    return f"{far / near:.2f} times as far."


# ------------------------------------------------------------------ chapter 7

@_exercise("ch7-choose")
def _(pick):
    """a function that takes a dictionary depth -> validation accuracy and returns a depth."""
    _expect(pick({2: 0.7, 3: 0.9, 4: 0.8}) == 3, "take the depth with the best accuracy.")
    _expect(pick({4: 0.9, 3: 0.8, 2: 0.9}) == 2, "of two depths that are equally good the smaller "
            "one is to be taken, whatever the order of the dictionary.")



# ------------------------------------------------------------------ chapter 8

def _depth_two_sums(X, y, ties):
    """Errors of the best tree below each root threshold; without ``ties`` equal values part."""
    sums = []
    for f in range(X.shape[1]):
        cuts = np.unique(X[:, f])
        left = X[:, [f]] <= (cuts[1:] + cuts[:-1]) / 2
        adds = np.hstack([left, ~left])
        rows, adds = adds.sum(0), adds * (2 * y - 1)[:, None]
        total = adds.sum(0)
        top = abs(total)
        for g in range(X.shape[1]):
            order = np.argsort(X[:, g], kind="stable")
            d = adds[order].cumsum(0)
            if ties:
                d = d[np.append(np.diff(X[order, g]) > 0, True)]
            top = np.maximum(top, np.maximum(2 * d.max(0) - total, total - 2 * d.min(0)))
        sums.append(np.add(*np.split((rows - top) // 2, 2)))
    return np.concatenate(sums)


@_exercise("ch8-2")
def _(X):
    """the ten points, with one value changed."""
    X = np.asarray(X, float)
    y = np.array([0, 0, 1, 0, 1, 1, 0, 1, 0, 1])
    _expect(X.shape == (10, 2), "keep the ten points and their two features.")
    _expect(len(np.unique(X[:, 1])) < 10, "no two rows share a value of the second feature.")
    right, naive = (_depth_two_sums(X, y, ties) for ties in (True, False))
    _expect((naive < right).any(), "the sums agree at every threshold: the tie is not where the "
            "best split would want to part it. Try other neighbours.")
    return f"{(naive < right).sum()} of the {len(right)} sums would be too small."


@_exercise("ch8-3")
def _(example):
    """the rows X of one feature, their classes y (0 or 1), and the two thresholds t < b."""
    X, y, t, b = example
    x, y = np.asarray(X, float).ravel(), np.asarray(y, int).ravel()
    _expect(len(x) == len(y) and t < b, "give as many classes as rows, and t < b.")

    def errors(limit):
        part = y[np.argsort(x, kind="stable")][: (x <= limit).sum()]
        cuts = np.sort(x)[: len(part)]
        ends = [0, *(k for k in range(1, len(part)) if cuts[k - 1] < cuts[k]), len(part)]
        leaf = [min(part[:k].sum(), k - part[:k].sum()) + min(
            part[k:].sum(), len(part) - k - part[k:].sum()) for k in ends]
        return min(leaf)

    between = (x <= b).sum() - (x <= t).sum()
    _expect(between > 0, "there are no rows between the two thresholds.")
    _expect(errors(t) == errors(b) - between, f"the best split makes {errors(t)} errors up to t "
            f"and {errors(b)} up to b; the rows between, {between} in number, are not all errors.")
