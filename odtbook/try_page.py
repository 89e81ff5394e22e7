"""The page that `odt try` writes, and the files beside it."""

from __future__ import annotations

import io
import json
import re
from html import escape
from itertools import groupby

import numpy as np

from odtbook.studies import does_it_pay
from odtbook.trying import TREE, TUNED, Trial

SHOWN_ROWS = 30
BOUND = re.compile(r"( (?:<=|>) )-?[\d.e+-]+( or missing)?$")
OF_WORDS = re.compile(" (=|is not|in|not in) ")
CONFUSION = 12      # most classes of a confusion matrix

STYLE = """
:root { color-scheme: light dark; --back: #fff; --ink: #1a1a1a; --soft: #5a5a5a; --line: #d0d0d0;
  --box: #f4f4f4; --bar: #0072b2; --good: #00694d; --bad: #a33c00; }
@media (prefers-color-scheme: dark) { :root { --back: #121212; --ink: #e6e6e6; --soft: #a8a8a8;
  --line: #444; --box: #1e1e1e; --bar: #56b4e9; --good: #3fd0a4; --bad: #ff9d66; } }
* { box-sizing: border-box; }
body { background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
  margin: 0 auto; max-width: 60rem; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.soft { color: var(--soft); } .lead { font-size: 1.1rem; }
.wide { overflow-x: auto; } .wide:focus-visible { outline: 2px solid var(--bar); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
caption { text-align: left; padding: .3rem 0; color: var(--soft); }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .7rem .25rem 0; text-align: left; }
td.n, th.n { text-align: right; }
pre { background: var(--box); padding: .8rem; overflow-x: auto; overflow-wrap: normal; }
summary { cursor: pointer; padding: .3rem 0; }
svg { display: block; max-width: none; } .dark { display: none; }
@media (prefers-color-scheme: dark) { .light { display: none; } .dark { display: block; } }
"""


def page(trial: Trial, source: str, target: str, files: list[str]) -> str:
    """Return the page of a trial, as HTML that needs no other file."""
    table, tree = trial.table, trial.model.tree_
    parts = [
        _read(table), _pay(trial), _tree(trial), _proof(trial), _accuracy(trial),
        _confusion(trial), _wrong(trial), _python(trial, source, target, files)]
    words = f"{tree.n_leaves} leaves" if tree.n_splits else "one leaf"
    head = (f"{len(table.y):,} rows, {table.X.shape[1]} features; the tree has {words} "
            f"and depth {tree.depth}. Made in {trial.seconds:.0f} seconds.")
    found = "optimal tree" if trial.model.report_.status == "optimal" else "best tree found"
    return _document(f"{target}: the {found} of {source}", head, parts)


def unusable_page(table, source: str, target: str) -> str:
    """Return the page for a table from which nothing can be learned."""
    return _document(f"{target}: no tree for {source}", table.report.unusable, [_read(table)])


def _document(title, head, parts):
    return ("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<link rel=\"icon\" href=\"data:,\">\n"
            f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
            f"<h1>{escape(title)}</h1>\n<p class=\"lead\">{escape(head)}</p>\n"
            + "\n".join(parts) + "\n</main>\n</body>\n</html>\n")


def _section(title, *parts):
    return "\n".join([f"<section>\n<h2>{escape(title)}</h2>", *parts, "</section>"])


def _paragraph(text, kind=""):
    return f"<p{f' class={kind!r}' if kind else ''}>{escape(text)}</p>"


def _list(lines):
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _grid(caption, head, rows, numbers=()):
    """Return a table in a box that scrolls where it is too wide."""
    def row(cells, tag, extra=""):
        return "<tr>" + "".join(
            f"<{tag}{' class=n' if j in numbers else ''}{extra}>{escape(str(cell))}</{tag}>"
            for j, cell in enumerate(cells)) + "</tr>"
    body = "".join(row(cells, "td") for cells in rows)
    return (f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
            f"<caption>{escape(caption)}</caption>"
            + "<thead>" + row(head, "th", ' scope="col"') + "</thead>"
            + f"<tbody>{body}</tbody></table></div>")


def _read(table):
    return _section("What was read", _list(table.report.lines))


def _score_text(trial, triple, signed=False):
    mean, low, high = (100 * value for value in triple)
    if not signed:
        low, high = max(low, 0.0 if trial.gain is not None else -100.0), min(high, 100.0)
    else:
        low, high = max(low, -100.0), min(high, 100.0)
    form = "+.1f" if signed else ".1f"
    unit = " points" if signed else " %"
    return f"{mean:{form}}{unit} ({low:{form}} to {high:{form}})"


def verdict(trial: Trial) -> list[str]:
    """Return what the book's rule and the measurement say of optimality on this table."""
    apart = trial.interval(TREE, TUNED)
    mean, low, high = apart
    what = "accuracy" if trial.gain is not None else "the variance explained"
    said = []
    if trial.gain is not None:
        everything = does_it_pay.gains(does_it_pay.fold_table())
        tested = everything[everything["half"] == "tested on"]
        above = tested["training"] >= does_it_pay.LIMIT
        like = tested[above if trial.gain >= does_it_pay.LIMIT else ~above]
        said.append(
            "On the training rows, at depth four, the exact tree is right on "
            f"{abs(trial.gain):.1f} "
            + ("points more rows than CART. " if trial.gain >= 0 else
               "points fewer rows than CART, which cuts anywhere, and not only where the questions "
               "do: ContinuousTreeClassifier, which does so too, may fit better. ")
            + f"The book's rule is that {does_it_pay.LIMIT} points or "
            "more foretell a gain on new rows: so it says "
            + ("yes, it pays." if trial.gain >= does_it_pay.LIMIT else "no, expect nothing.")
            + f" Of {len(like)} data sets on which the rule was tested and said the same, "
            f"{int((like['test'] > 0).sum())} gained on new rows, and the mean gain was "
            f"{like['test'].mean():+.1f} points.")
    said.append(f"Measured here, the tuned optimal tree differs from tuned CART by "
                f"{_score_text(trial, apart, signed=True)} of {what}: "
                + ("it is better." if low > 0 else "it is worse." if high < 0 else
                   "too little to tell from chance."))
    best = max((name for name in trial.scores if name not in (TREE, "CART", TUNED)),
               key=lambda name: np.mean(trial.scores[name]))
    lead = trial.interval(best, TREE)
    if lead[1] > 0:
        said.append(f"If nobody needs to read the model, take {best}: it is ahead of the optimal "
                    f"tree by {_score_text(trial, lead, signed=True)}.")
    else:
        said.append("Neither a forest nor boosting is clearly better than the optimal tree here.")
    if trial.gain is None:
        said.insert(0, "The book's rule is about classes; for a quantity only the measurement "
                       "counts.")
    return said


def _pay(trial):
    return _section("Does an optimal tree pay here?", _list(verdict(trial)))


def leaf_words(tree, leaf, task):
    """Return what a leaf predicts and how many training rows bear it out."""
    if task == "regression":
        rows = "" if tree.weight is None else f" ({tree.weight[leaf]:,.0f} rows)"
        return f"{tree.value[leaf][0]:.4g}{rows}"
    counts = tree.value[leaf]
    right, total = counts[tree.label[leaf]], counts.sum()
    return f"{tree.classes[tree.label[leaf]]} ({right:,.0f} of {total:,.0f} rows)"


def _condition(model, node, branch):
    """Return the condition that leads from a node to a child, in words."""
    tree = model.tree_
    text = tree.split_text(node, branch)
    if not tree.is_condition(node) or branch == "right":
        return text
    name, binariser = tree.split_text(node, "right"), model.binarizer_
    if not hasattr(binariser, "missing_"):
        return text
    j = tree.feature[node]
    missing = " or missing" if binariser.missing_[j] == 0 else ""
    name = name.removesuffix(" or missing")
    if name.endswith(" is missing"):
        return f"{name.removesuffix(' is missing')} is known"
    if binariser.feature_[j] in binariser.categories_:
        for sign, other in ((" = ", " is not "), (" in (", " not in (")):
            if sign in name:
                return other.join(name.rsplit(sign, 1)) + missing
    elif np.isinf(binariser.lower_[j]):
        return " > ".join(name.rsplit(" <= ", 1)) + missing
    return text


def sentences(model, task: str) -> list[str]:
    """Return the tree as one sentence per leaf, the yes-branch of each test first."""
    tree = model.tree_
    found, stack = [], [(0, ())]
    while stack:
        node, conditions = stack.pop()
        if tree.feature[node] < 0:
            start = f"If {' and '.join(_tightest(conditions))}, then" if conditions else "Always"
            found.append(f"{start} {leaf_words(tree, node, task)}.")
            continue
        sides = [("left", tree.left[node]), ("right", tree.right[node])]
        if not tree.is_condition(node):
            sides.reverse()
        for branch, child in sides:      # a stack: what is pushed last is said first
            stack.append((child, (*conditions, _condition(model, node, branch))))
    return found


def _tightest(conditions):
    """Leave out the bounds that a later one of the same side of the same feature makes tighter."""
    last = {BOUND.sub(r"\1\2", text) if not OF_WORDS.search(text) else text: text
            for text in conditions}
    return list(last.values())


def _drawn(tree, theme):
    """Return the picture of the tree as SVG."""
    from matplotlib import pyplot as plt

    from odtbook import figures
    from odtlib import plotting
    with figures.style(theme), plt.rc_context({"svg.hashsalt": "odt", "axes.facecolor": "none"}):
        ax = plotting.draw_tree(tree)
        text = io.StringIO()
        ax.figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
        alt = plotting.alt_text(ax)
        plt.close(ax.figure)
    svg = text.getvalue()
    svg = svg[svg.index("<svg"):].replace('id="', f'id="{theme}-').replace(
        'href="#', f'href="#{theme}-').replace("url(#", f"url(#{theme}-")
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(alt)}"', 1)


def _tree(trial):
    tree = trial.model.tree_
    drawn = ""
    if tree.n_splits:
        drawn = ('<div class="wide" tabindex="0" role="region" aria-label="The tree, drawn">'
                 + "".join(f'<div class="{theme}">{_drawn(tree, theme)}</div>'
                           for theme in ("light", "dark")) + "</div>")
    lines = sentences(trial.model, trial.table.task)
    some = [] if tree.n_splits else [_paragraph(
        "The best tree is a single leaf: no question pays for itself, so the same answer is given "
        "to every row.")]
    return _section("The tree", drawn, *some, "<p>In sentences:</p>", _list(lines))


def _questions(trial):
    """Return the questions that the search had, by feature."""
    binariser = trial.model.binarizer_
    names = trial.table.feature_names
    if binariser is None:
        return {name: [name] for name in names}
    columns = binariser.get_feature_names_out(
        names if not hasattr(binariser, "feature_names_in_") else None)
    pairs = sorted(zip(binariser.feature_, columns), key=lambda pair: pair[0])
    return {names[j]: [str(column) for _, column in group]
            for j, group in groupby(pairs, key=lambda pair: pair[0])}


def _proof(trial):
    report, table = trial.model.report_, trial.table
    questions = _questions(trial)
    count = sum(map(len, questions.values()))
    errors = "squared error" if table.task == "regression" else "errors"
    penalty = trial.settings.get("split_penalty", 0)
    price = f", each split counted as {penalty:.3g}" if penalty else ""
    depth = trial.settings["max_depth"]
    if report.status == "optimal":
        claim = (f"Proved: of all trees of depth at most {depth} over the {count} questions below, "
                 f"none costs less than {report.objective:.6g} ({errors} on these "
                 f"{len(table.y):,} rows{price}).")
    else:
        claim = (f"Not proved, the time ran out: the tree costs {report.objective:.6g} ({errors} "
                 f"on these {len(table.y):,} rows{price}); no tree of depth at most {depth} over "
                 f"the {count} questions below costs less than {report.lower_bound:.6g}. More time "
                 "(--time) may prove or improve it.")
    lost = [name for name in table.feature_names if name not in questions]
    unused = [f"No question was made of {', '.join(map(repr, lost))}."] if lost else []
    body = "".join(f"<li>{escape(name)}: {escape('; '.join(asked[:40]))}"
                   f"{' …' if len(asked) > 40 else ''}</li>" for name, asked in questions.items())
    return _section(
        "What is proved", _paragraph(claim), _list([*trial.said, *report.notes, *unused]),
        "<p>The proof is about the training rows and these questions. What the tree is worth on "
        "new rows is the next section.</p>",
        f"<details><summary>The {count} questions</summary><ul>{body}</ul></details>")


def _accuracy(trial):
    classes = trial.table.task == "classification"
    rows = [[name, _score_text(trial, trial.interval(name))] for name in trial.scores]
    what = "right on new rows" if classes else "of the variance explained on new rows"
    rounds, rest = divmod(len(trial.scores[TREE]), trial.folds)
    done = [f"{rounds} round{'s' * (rounds > 1)} of {trial.folds} folds"] * (rounds > 0) + \
        [f"{rest} of {trial.folds} folds"] * (rest > 0)
    about = (f"Cross-validation, {' and '.join(done)}, as many as the time sufficed for; the sizes "
             "of the optimal tree and of tuned CART are chosen inside each training part. In "
             "brackets a 95 % interval that allows for overlapping training rows.")
    if trial.limited:
        trial.notes.append(f"The clock ended {trial.limited} of the trees that were fitted for it.")
    if classes:
        largest = np.unique(trial.table.y, return_counts=True)[1].max() / len(trial.table.y)
        trial.notes.append(f"The largest class has {100 * largest:.1f} % of the rows: so much is "
                           "right without any tree.")
    return _section("How good is it on new rows?",
                    _grid(f"Share {what}", ["method", what], rows),
                    _paragraph(about), _list(list(dict.fromkeys(trial.notes))))


def _confusion(trial):
    if trial.table.task == "regression":
        return ""
    labels = np.unique(trial.table.y)
    if len(labels) > CONFUSION:
        return ""
    truth = trial.table.y[trial.rows]
    rows = [[str(label), *(int(((truth == label) & (trial.predicted == other)).sum())
                              for other in labels)] for label in labels]
    return _section("Which classes are confused?", _grid(
        "Rows by class and prediction, by trees that did not see them",
        ["class", *(f"predicted {label}" for label in labels)], rows, range(1, len(labels) + 1)))


def _wrong(trial):
    table = trial.table
    truth = table.y[trial.rows]
    used = sorted({name for name in table.feature_names
                   if any(_of(name, text) for text in _tests(trial.model.tree_))},
                  key=table.feature_names.index) or table.feature_names[:4]
    if table.task == "regression":
        order = np.argsort(-np.abs(truth - trial.predicted), kind="stable")[:SHOWN_ROWS]
        title = "The rows that the tree gets most wrong"
        count = f"The {len(order)} largest errors, by trees that did not see the row."
    else:
        wrong = np.flatnonzero(truth != trial.predicted)
        order = wrong[:SHOWN_ROWS]
        title = "Rows that the tree gets wrong"
        count = (f"{len(wrong):,} of {len(truth):,} rows, by trees that did not see the row"
                 + (f"; the first {SHOWN_ROWS} of them." if len(wrong) > SHOWN_ROWS else "."))
    if not len(order):
        return _section(title, _paragraph("None."))
    X = table.X.iloc[trial.rows]
    rows = [[int(table.rows[trial.rows[i]]), *(_cell(X[name].iloc[i]) for name in used),
             _cell(truth[i]), _cell(trial.predicted[i])] for i in order]
    return _section(title, _grid(f"{count} Row 0 is the first of the file.",
                                 ["row", *used, table.target, "predicted"], rows))


def _tests(tree):
    return [tree.feature_name(j) for j in np.unique(tree.feature[tree.feature >= 0])]


def _of(name, test):
    """Tell whether a test is about a feature."""
    return test == name or any(test.startswith(f"{name}{sign}") or f" < {name} <= " in test
                               for sign in (" <= ", " > ", " = ", " in (", " is missing"))


def _cell(value):
    if value is None or value != value:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def ten_lines(trial: Trial, source: str, target: str) -> str:
    """Return the Python that repeats the tree."""
    name = type(trial.model).__name__
    task = f", task={trial.table.task!r}" if trial.table.task == "regression" else ""
    settings = ", ".join(f"{key}={value!r}" for key, value in trial.settings.items())
    return "\n".join([
        "from odtbook.tables import read_table",
        f"from odtlib import {name}",
        "",
        f"table = read_table({json.dumps(source, ensure_ascii=False)}, "
        f"target={json.dumps(target, ensure_ascii=False)}{task})",
        "print(table.report)",
        f"model = {name}({settings})",
        "model.fit(table.X, table.y)",
        "print(model.tree_)",
        "print(model.report_)",
        "print(model.predict(table.X.head()))"])


def _python(trial, source, target, files):
    return _section(
        "Take it with you",
        f"<pre tabindex=\"0\"><code>{escape(ten_lines(trial, source, target))}</code></pre>",
        _paragraph(f"Beside this page: {', '.join(files)}.", "soft"))


def standalone(trial: Trial) -> str:
    """Return the tree as a Python file that needs no package: ``predict(row)`` of a dict."""
    tree, model, table = trial.model.tree_, trial.model, trial.table
    binariser = model.binarizer_ if model._tree_over_columns else None
    lines = [f'"""The tree for {table.target!r}, as odt try wrote it."""', "", "",
             "def predict(row):",
             '    """Return the prediction for a dict of the columns; None for a gap."""']

    def heavier(node):
        sums = tree.weight if tree.weight is not None else tree.value.sum(axis=1)
        return sums[tree.left[node]] >= sums[tree.right[node]]

    def test(node):
        """Return the source of the test whose truth leads to the left child."""
        j = tree.feature[node]
        if binariser is None:
            value = f"row[{table.feature_names[j]!r}]"
            side = -1 if tree.missing_left is None else tree.missing_left[node]
            gap = bool(heavier(node) if side < 0 else side)
            if np.isinf(tree.threshold[node]):
                return f"{value} is not None"
            inside = f"{value} <= {float(tree.threshold[node])!r}"
        else:
            # Column 1 goes right, so that the left child has what is not inside.
            feature = int(binariser.feature_[j])
            value = f"row[{table.feature_names[feature]!r}]"
            low, high = float(binariser.lower_[j]), float(binariser.upper_[j])
            gap = bool(heavier(node) if binariser.missing_[j] < 0 else binariser.missing_[j] == 0)
            if np.isinf(low) and low > 0:
                return f"{value} is not None"
            if feature in binariser.categories_:
                inside = [str(category) for position, category
                          in enumerate(binariser.categories_[feature]) if low < position <= high]
                inside = f"{value} not in {inside!r}"
            else:
                bounds = [f"{value} <= {low!r}"] * bool(np.isfinite(low)) + \
                    [f"{value} > {high!r}"] * bool(np.isfinite(high))
                inside = " or ".join(bounds)
        return f"({value} is None or {inside})" if gap else \
            f"({value} is not None and ({inside}))"

    stack = [(0, 1, "")]
    while stack:
        node, level, word = stack.pop()
        if word:
            lines.append("    " * (level - 1) + word)
        if tree.feature[node] < 0:
            answer = float(tree.value[node][0]) if tree.kind == "regression" else \
                tree.classes[tree.label[node]].item()
            lines.append("    " * level + f"return {answer!r}")
            continue
        lines.append("    " * level + f"if {test(node)}:")
        stack += [(tree.right[node], level + 1, "else:"), (tree.left[node], level + 1, "")]
    return "\n".join(lines) + "\n"
