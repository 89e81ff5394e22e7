"""What the whole table is: labels, features, and what to know before a tree is learned."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd
from pandas import isna
from sklearn.linear_model import LinearRegression
from sklearn.metrics.cluster import contingency_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from odtbook.tables.columns import FEW_ROWS, MOST_EXACT, understand
from odtbook.tables.words import be, count, listed
from odtlib.text import number_text, short_text

OTHER = "(other)"
IDENTIFIER = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|key|index|idx|number|num|nr|no|code|row|record)$|^id([^a-z]|$)|"
    r"^unnamed", re.I)
MANY_NUMBERS, FEW_NUMBERS, MANY_LEVELS, MANY_GAPS = 20, 5, 30, 5
LARGE, DRAWN = 10_000, 2500     # of so many rows a draw says first that a column tells little
PERSON = re.compile(
    r"(^|[^a-z])(patient|subject|person|participant|donor|client|customer|user|member|employee|"
    r"student|pupil|household|family|animal)s?$", re.I)
EVENT = re.compile(r"(^|[^a-z])(event|cens\w*|status|death|dead|died|arrest|failure)$", re.I)
DURATION = re.compile(r"(^|[^a-z])(time|weeks?|days|duration|futime|survtime|lifetime|survival)$",
                      re.I)


def labels_of(frame, target, task, report, commas):
    """Return the frame without the target and the rows that lack it, the labels, and the task."""
    if task not in (None, "classification", "regression"):
        raise ValueError(f"task is {task!r}; use 'classification', 'regression' or None.")
    read = understand(frame[target], commas)
    numeric = read.kind in ("number", "date")
    values, none = read.values, np.array([
        read.kind == "category" and isinstance(cell, str) and cell.strip().lower() == "none"
        for cell in frame[target].astype(object)], bool)
    if none.any():
        values[none] = "none"
        report.say(f"is 'none' in {count(none.sum(), 'row')}, which is read as a class; if it "
                   "stands for a gap, empty these cells.", target)
    for sentence in read.says:
        report.say(sentence, target)
    if read.written and not none.any():
        report.say(_gaps(read), target)
    known = ~isna(values)
    report.leave_out(int((~known).sum()), "row", f"without a value of {target!r}")
    frame, values = frame.drop(columns=target)[known], values[known]
    if not numeric:
        if task == "regression":
            raise ValueError(f"{target!r} holds words, such as {values[0]!r}; regression needs "
                             "numbers." if len(values) else f"{target!r} holds no numbers.")
        return frame, values.astype(str), "classification"
    values = values.astype(np.float64)
    distinct = len(np.unique(values))
    if task is None:
        quantity = distinct > (MANY_NUMBERS if read.whole else FEW_NUMBERS)
        task = "regression" if quantity else "classification"
        if quantity:
            report.say(f"holds {distinct:,} different numbers and is read as a quantity "
                       "(regression); with --task classification each number is a class.", target)
        elif distinct > 2:
            report.say(f"holds {distinct} different {'whole ' if read.whole else ''}numbers and "
                       f"is read as {distinct} "
                       "classes; with --task regression it is a quantity.", target)
    if task == "regression":
        return frame, values, task
    if np.all((values == np.floor(values)) & (np.abs(values) < MOST_EXACT)):
        return frame, values.astype(np.int64), task
    return frame, np.array([number_text(value) for value in values], str), task


def features_of(frame, report, commas):
    """Return the features that are kept; say why each of the others is not.

    Beside them stand, by name, what the zero of a column means, and what words are read as others.
    """
    n = len(frame)
    columns, seen, origins, spelt, gaps = {}, {}, {}, {}, {}
    for name in frame.columns:
        read = understand(frame[name], commas)
        reason = _why_dropped(name, read, n)
        if reason is None:
            key = (read.kind, (read.values if read.kind != "category" else
                               pd.factorize(read.values, use_na_sentinel=False)[0]).tobytes())
            twin = seen.setdefault(key, name)
            if twin != name:
                reason = f"says the same as {twin!r} in every row and is dropped."
        for sentence in read.says if reason is None or read.kind == "category" else ():
            report.say(sentence, name)
        if reason is not None:
            report.say(reason, name)
            continue
        report.columns[name] = "category" if isinstance(read.origin, list) else read.kind
        values = read.values
        if read.gaps:
            gaps[name] = read
        if read.origin is not None:
            origins[name] = read.origin
        if read.kind == "category":
            values = _merged(name, values, report)
            spelt[name] = {cell: value for cell, value in zip(frame[name].astype(object), values)
                           if isinstance(cell, str) and cell != value}
        elif read.kind == "number" and read.whole and n >= FEW_ROWS and \
                len(np.unique(values)) == n:
            report.say("holds a different whole number in each row; it is read as a number; drop "
                       "it if it is an identifier.", name)
        columns[name] = pd.Series(values, dtype=object if read.kind == "category" else np.float64)
    if len(gaps) > MANY_GAPS:
        most = sorted(gaps, key=lambda name: -gaps[name].gaps)
        report.say(f"{len(gaps)} of {len(columns)} features have gaps, most of all " + ", ".join(
            f"{name!r} (in {gaps[name].gaps:,} of {n:,} rows{gaps[name].written})"
            for name in most[:3]) + ".")
    else:
        for name, read in gaps.items():
            report.say(_gaps(read), name)
    return pd.DataFrame(columns, index=range(n)), origins, spelt


def _gaps(read):
    return f"has {count(read.gaps, 'gap')} in {count(len(read.values), 'row')}{read.written}."


def _why_dropped(name, read, n):
    """Return why a column is no feature, or None."""
    if read.kind == "empty":
        return "holds no value in any row and is dropped."
    present = read.values[~isna(read.values)]
    gaps, distinct = n - len(present), len(set(present.tolist()))
    if distinct == 1 and not gaps:
        return f"is {_written(present[0])} in every row and is dropped."
    if read.kind == "category":
        if distinct > max(10, len(present) / 4) and (
                words := np.mean([len(value.split()) for value in present])) >= 4:
            return (f"holds sentences ({words:.0f} words on average, {distinct:,} different ones) "
                    "and is dropped; turn it into numbers first, for example by "
                    "sklearn.feature_extraction.text.TfidfVectorizer.")
        if len(present) >= FEW_ROWS and distinct > 0.9 * len(present):
            return (f"has a value of its own in nearly every row ({distinct:,} values in "
                    f"{n:,} rows), so it identifies the row and is dropped.")
    if read.kind == "number" and n >= FEW_ROWS:
        named = IDENTIFIER.search(str(name))
        if read.whole and distinct > 0.95 * n and not gaps and (
                named or np.ptp(present) + 1 == n == distinct):
            return (f"numbers the rows ({distinct:,} values in {n:,} rows), so it identifies the "
                    "row and is dropped.")
        if named and np.mean(np.diff(read.values) == 1) > 0.9:
            return "goes up by one from row to row, so it numbers the rows and is dropped."
    return None


def _merged(name, values, report):
    """Return categories with the rare ones under one name, where there are at least two."""
    counts = Counter(value for value in values if value is not None)
    fewest = min(5, max(2, len(values) // 20))
    rare = sorted(value for value, count in counts.items() if count < fewest)
    if len(rare) > 1 and len(counts) > 2:
        report.say(f"has {count(len(rare), 'value')} with fewer than {fewest} rows "
                   f"({listed(rare)}), read together as {OTHER!r}.", name)
        gone = set(rare)
        values = np.array([OTHER if value in gone else value for value in values], object)
        counts = Counter(value for value in values if value is not None)
    elif rare:
        report.say(f"has the value {rare[0]!r} in {count(counts[rare[0]], 'row')} only.", name)
    if len(counts) > MANY_LEVELS:
        report.say(f"is read as categories and has {len(counts)} of them, one 0/1 column each.",
                   name)
    return values


def _written(value):
    """Return a word in quotes, or a number."""
    return repr(str(value)) if isinstance(value, str) else number_text(value)


def alike(frame):
    """Return a number per row, the same for rows that agree in every column."""
    if frame.empty:
        return np.zeros(len(frame), int)
    return pd.factorize(pd.util.hash_pandas_object(frame, index=False))[0]


def _most_frequent(values, y):
    """Return how many rows have the label that is most frequent beside their value."""
    return int(contingency_matrix(values, y, sparse=True).max(axis=1).sum()) if len(y) else 0


def tells_rows_apart(X):
    """Tell whether a number has so many values that equal rows are copies of one."""
    return (X.select_dtypes("number").nunique() >= max(10, len(X) / 10)).any()


def judge(X, y, task, target, report, same, again, copies):
    """Say whether a tree can be learned, and what to know before one is.

    ``same`` numbers the rows by their features; ``again`` rows equal an earlier one in the label
    as well, and ``copies`` says whether such rows are one group.
    """
    n, classes = len(y), Counter(y.tolist())
    if n == 0:
        report.unusable = "The table has no rows with a label."
    elif X.shape[1] == 0:
        report.unusable = f"There is no column to predict {target!r} from."
    elif len(classes) == 1:
        report.unusable = f"{target!r} is {_written(y[0])} in every row: nothing to predict."
    elif task == "classification" and len(classes) > n / 2:
        report.unusable = (f"{target!r} has {len(classes):,} classes in {n:,} rows: too few rows "
                           "of each to learn from.")
    if report.unusable:
        report.say(report.unusable)
        return
    if task == "classification":
        rare = sorted((str(label) for label, count in classes.items() if count < 5))
        if rare:
            report.say(f"has fewer than five rows of {count(len(rare), 'class', 'classes')} "
                       f"({listed(rare)}); little can be learned about "
                       f"{'it' if len(rare) == 1 else 'them'}"
                       + "; correct what is misspelt" * (y.dtype.kind == "U") + ".", target)
    if again:
        report.say(f"{count(again, 'row')} of {n:,} {be(again)} the same as an earlier one in "
                   "the target and every feature"
                   + "; such rows count as copies, and are never both learned from and tested on"
                   * copies + ".")
    right = np.ceil(1000 * _most_frequent(same, y) / n) / 10
    if task == "classification" and right <= 99:
        report.say("differs between rows that agree in every feature, so no model of these "
                   f"features is right on more than {right:.1f} % of the rows.", target)
    for name in X.columns:
        found = _gives_away(X[name], y, task)
        if found:
            report.say(f"alone tells {target!r} {found}; if it is known only afterwards, leave it "
                       "out (--drop).", name)
        elif EVENT.search(target) and DURATION.search(name):
            report.say(f"may be, by its name, the time until {target!r}; then it is known only "
                       "afterwards, and should be left out (--drop).", name)
        if X[name].dtype == object and (
                IDENTIFIER.search(name) or PERSON.search(name) and X[name].nunique() >= 10
                or _fixes_another(X, name)):
            report.say("may say which rows belong together; --groups keeps them together.", name)
            report.together.append(name)
    if task == "regression" and (parts := _sum_of(X, y)):
        what = f"{listed(parts)} times a number, plus another," if len(parts) == 1 else \
            f"a sum of {listed(parts, 5)}, each times a number,"
        report.say(f"is {what} in every row; if known only afterwards, leave "
                   f"{'it' if len(parts) == 1 else 'them'} out (--drop).", target)
    if n < 50:
        report.say(f"{n} rows are very few: any accuracy below is a rough guess.")
    report.say(f"Read: {count(n, 'row')}, {count(X.shape[1], 'feature')}, target {target!r} "
               + (f"with {len(classes)} classes." if task == "classification" else
                  "as a quantity."))


def _fixes_another(X, name):
    """Tell whether a column of words, such as persons, has one number per value elsewhere."""
    counts = X[name].value_counts()
    if not 10 <= len(counts) <= len(X) / 2 or counts.min() < 2:
        return False
    numbers = X.select_dtypes("number")
    parts = numbers.groupby(X[name])
    same = ((parts.max() - parts.min()).max() == 0) & (numbers.nunique() > len(counts) / 2)
    return bool(same.any())


def _sum_of(X, y):
    """Return the columns of numbers of which a quantity is a weighted sum, but for rounding."""
    numbers = X.select_dtypes("number")
    numbers = numbers.loc[:, numbers.notna().all() & (numbers.abs().max() < 1e100)]
    if not 2 <= numbers.shape[1] <= len(y) / 10 or np.ptp(y) == 0:
        return []
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(numbers, y)
    return [name for name, weight in zip(numbers, model[-1].coef_)
            if abs(weight) > 1e-3 * np.std(y)] if model.score(numbers, y) >= 1 - 1e-9 else []


def _gives_away(column, y, task):
    """Return in words how well one column alone tells the target, if it hardly errs; else "".

    By its values, or by where it has gaps.
    """
    known, told = column.notna().to_numpy(), ""
    if known.sum() >= max(10, len(known) / 2) and column.nunique() > 1:
        told = _tells(column[known], y[known], task, known.all())
    if not told and not known.all() and (
            told := _tells(pd.Series(np.where(known, "known", ""), dtype=object), y, task)):
        told += ", by where it has gaps"
    return told


def _tells(values, y, task, everywhere=True, slack=1):
    """Return in words how well values tell the target; ``everywhere``: each row has one.

    ``slack`` is how many times as badly as usual they may tell it.

    Words by what is most frequent beside each, or by their mean; numbers by one cut, or by two for
    each class but one, and in a quantity by their order and up to 19 cuts.
    """
    words, n = values.dtype == object, len(y)
    if not words and n > LARGE and slack == 1 and values.nunique() > n / 10:
        few = np.random.default_rng(0).choice(n, DRAWN, replace=False)
        if not _tells(values.iloc[few], y[few], task, everywhere, slack=3):
            return ""
    if words:
        values = values.astype(str)
    else:
        ranks = values.rank(method="dense").to_numpy()[:, None]     # trees have float32
    if task == "regression":
        y = y / (np.abs(y).max() or 1.0)
        if np.std(y) == 0:
            return ""
        y = (y - np.mean(y)) / np.std(y)
        target = pd.Series(y, values.index)
        if words:
            means = target.groupby(values).transform("mean")
            shares = {"": 1 - np.var(y - means) / np.var(y)} if values.nunique() <= n / 10 else {}
        else:
            same = abs(values.corr(target, method="spearman"))
            if same >= 1 - 0.03 * slack:
                return f"nearly (rank correlation {same:.3f})"
            tree = DecisionTreeRegressor(max_leaf_nodes=20, min_samples_leaf=max(5, n // 50))
            shares = {of: tree.fit(ranks, what).score(ranks, what)
                      for of, what in (("", target), (" of its ranks", target.rank()))}
        return next((f"nearly (it explains {100 * share:.1f} % of the variance{of})"
                     for of, share in shares.items() if share >= 1 - 0.03 * slack), "")
    counts = np.sort(np.unique(y, return_counts=True)[1])
    base, right, how, most = n - counts[-1], 0, "", 0.1 * slack
    if slack > 1 and base < 100:
        return "perhaps"
    every = "in every row" if everywhere else f"in all {n:,} rows that have it"
    if values.nunique() <= max(2, n / 10):
        right = _most_frequent(values, y)
        if right == n and base:
            return every
    if not words and n - counts[-2:].sum() <= 0.1 * slack * base:     # a cut has two sides
        seen = contingency_matrix(values, y, dtype=np.int32)    # values go up
        below = seen.cumsum(axis=0, dtype=np.int32)
        hits = below.max(axis=1) + (below[-1] - below).max(axis=1)
        right = int(hits.max())
        how = f" (one cut, at {short_text(np.unique(values)[hits.argmax()])})"
    if not words and len(counts) <= MANY_LEVELS and not (how and n - right <= most * base):
        tree = DecisionTreeClassifier(max_leaf_nodes=2 * len(counts) - 1, random_state=0)
        right, most = int((tree.fit(ranks, y).predict(ranks) == y).sum()), 0.03 * slack
        how = f" ({tree.get_n_leaves() - 1} cuts)"
    wrong = n - right
    if wrong > most * base or base < 10:
        return ""
    return f"in {right:,} of {n:,} rows{how}" if wrong else f"{every}{how}"
