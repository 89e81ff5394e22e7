"""Put packages through drawn cases, each in a process of its own, and judge what comes back.

The environment variable ``ODT_PACKAGES_PYTHON`` may name another Python, which has the packages
and what odtlib itself needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Hangs
from importlib import import_module, metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

from odtbook.datasets import load
from odtbook.experiments import published
from odtbook.given_trees import Given, Leaf, given_tree, node_of
from odtbook.lifetime import end_with
from odtbook.referee import referee

__all__ = ["OUTCOMES", "PACKAGES", "Worker", "asked", "draw", "judge", "kinds", "printed",
           "shortened"]
COLUMNS, VALUES, SQUARES, LINES = "columns", "thresholds", "squares", "threshold squares"
OUTCOMES = ("optimal", "beaten", "outside", "open", "stopped", "crashed", "hangs", "late",
            "misreported")
# Kind of case -> the forms that have it.
KINDS = {"plain": (COLUMNS, VALUES, SQUARES, LINES), "equal rows": (COLUMNS, SQUARES),
         "one class": (COLUMNS, VALUES), "text labels": (COLUMNS, VALUES),
         "weights": (COLUMNS, VALUES), "split price": (COLUMNS, VALUES),
         "leaf size": (COLUMNS, VALUES), "node limit": (COLUMNS, VALUES), "ties": (VALUES, LINES),
         "last bit": (VALUES, LINES), "tiny values": (VALUES,), "seconds": (VALUES,),
         "large targets": (SQUARES,), "tiny targets": (SQUARES,)}
USUAL = {"weight": None, "price": 0.0, "leaf": 1, "nodes": None, "limit": 5.0}
TRIAL = USUAL | {"X": [[0, 1], [1, 0], [0, 0], [1, 1]] * 5, "y": [0, 1, 0, 1] * 5, "depth": 1,
                 "limit": 60.0}
ALL = {"weights", "split price", "leaf size", "node limit", "text labels", "time limit"}
LARGE = 125     # every so many cases, one is too large for most packages, with a second to do it


class Package(NamedTuple):
    """A package: where it is, which cases it claims to solve (see KINDS), and how it is asked."""

    distribution: str
    module: str
    forms: set
    claims: set
    fit: Callable


def kinds():
    """Return the pairs of kind and form, in the order in which cases are drawn."""
    return [(kind, form) for kind, forms in KINDS.items() for form in forms]


def draw(number):
    """Return a case, the same for the same number, as JSON can hold it."""
    rng = np.random.default_rng([60, number])
    kind, form = kinds()[number % len(kinds())]
    shape = int(rng.integers(6, 21)), int(rng.integers(1, 4))
    if number % LARGE == LARGE - 1:
        kind, form, shape = "time limit", (COLUMNS, VALUES)[number % 2], (200, 30)
    X = rng.integers(0, 2 if form in (COLUMNS, SQUARES) else 6, shape)
    if form in (VALUES, LINES) and kind != "ties":
        X = X + rng.random(shape)
    if kind == "equal rows":
        X = X[rng.integers(0, 3, len(X))]
    elif kind == "last bit":
        X = 1.0 + np.floor(X) * 2.0**-52
    elif kind == "tiny values":
        X = X * 1e-7
    elif kind == "seconds":
        X = 1.7e9 + np.floor(60 * X)
    y = rng.integers(0, rng.integers(2, 4), len(X))
    if form in (SQUARES, LINES):
        y = rng.integers(0, 40, len(X)) / 4.0 * {"large targets": 1e8, "tiny targets": 1e-6}.get(
            kind, 1.0)
    elif kind == "one class":
        y[:] = 1
    elif kind == "text labels":
        y = np.array(["no", "yes", "perhaps"])[y]
    case = USUAL | {"kind": kind, "form": form, "X": X.tolist(), "y": y.tolist(),
                    "depth": int(rng.integers(1, 3))}
    change = {"weights": ("weight", rng.integers(1, 6, len(X)).tolist()),
              "split price": ("price", float(rng.choice([0.5, 1.0, 2.0]))),
              "leaf size": ("leaf", int(rng.integers(2, 5))),
              "node limit": ("nodes", int(rng.integers(1, 3)))}.get(kind)
    if kind == "time limit":
        case |= {"depth": 5 if form == COLUMNS else 4, "limit": 1.0}
    return case | dict([change] if change else [])


def printed(source, limit):
    """Return the questions whose optimum a source prints, each as a case, and the optima.

    A case names its data set; what is printed are errors, or for squared errors the share of the
    variance that a tree explains.
    """
    if source == "Quant-BnB":
        table = published("bos2025_quantbnb").rename(columns={"train_score": "r2"}).reset_index()
        table["dataset"] = "quantbnb/" + table["dataset"]
        table = table.assign(rows=np.nan, min_samples_leaf=1)
    else:
        table = published("optima").loc[[source]]
    cases, optima = [], []
    for row in table.to_dict("records"):
        rows = slice(None if np.isnan(row["rows"]) else int(row["rows"]))
        data = load(row["dataset"])
        X, y = np.asarray(data.X)[rows], np.asarray(data.y)[rows]
        if "r2" in row:
            form, kind, y = LINES, "plain", y.astype(float).ravel()
            optima.append((1.0 - row["r2"]) * len(y) * np.var(y))
        else:
            form = COLUMNS if np.isin(X, (0, 1)).all() else VALUES
            kind = "leaf size" if row["min_samples_leaf"] > 1 else "time limit"
            optima.append(row["errors"])
        cases.append(USUAL | {
            "data": row["dataset"], "kind": kind, "form": form, "X": X.tolist(), "y": y.tolist(),
            "depth": row["max_depth"], "leaf": row["min_samples_leaf"], "limit": limit})
    return cases, optima


def asked(package, case):
    """Return a case as a package is asked it, or None where it does not claim to solve it."""
    claims = PACKAGES[package].claims
    if case["form"] not in PACKAGES[package].forms or case["kind"] in ALL - claims or (
            "needs a price" in claims and case["kind"] != "split price"):
        return None
    # over 0/1 columns no tree needs a column twice on a path
    return case | {"depth": len(case["X"][0])} if "no depth" in claims else case


def _frame(X):
    import pandas as pd
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])


def _streed(m, case, X, y):
    options = {"max_depth": case["depth"], "min_leaf_node_size": case["leaf"],
               "max_num_nodes": case["nodes"], "time_limit": case["limit"]}
    if case["form"] == SQUARES:
        return m.STreeDRegressor("regression", **options).fit(X, y)
    price = case["price"] / len(y)
    task = "cost-complex-accuracy" if price else "accuracy"
    return m.STreeDClassifier(task, cost_complexity=price, **options).fit(X, y)


def _gosdt(m, case, X, y):
    return m.GOSDTClassifier(case["price"] / len(y), allow_small_reg=True,
                             time_limit=int(case["limit"]),
                             depth_budget=case["depth"] + 1).fit(_frame(X), y)


def _treefarms(m, case, X, y):
    import pandas as pd
    model = m.TREEFARMS({"regularization": case["price"] / len(y), "allow_small_reg": True,
                         "depth_budget": case["depth"] + 1, "rashomon_bound_multiplier": 0.0})
    model.fit(_frame(X), pd.Series(y, name="y"))
    return model[0].source


def _arborenum(m, case, X, y):
    model = m.ArborEnum()
    model.fit(_frame(X), y.astype(np.int32), proxy_mode="continuous", lambda_reg=0.0,
              depth_budget=case["depth"], rashomon_mult=0.0, lookahead_k=case["depth"] - 1,
              max_number_thresholds_per_feature=None, key_mode="exact")
    return np.asarray(model.get_predictions(0, _frame(X)))


def _osrt(m, case, X, y):
    # Its price of a leaf is a share of the squared error of a single leaf. By default it splits no
    # rows below fourteen, and raises a price below one over the number of rows.
    model = m.OSRT({"regularization": 0.0, "allow_small_reg": True, "minimum_captured_points": 1,
                    "depth_budget": case["depth"] + 1, "time_limit": int(case["limit"])})
    model.fit(_frame(X), y)
    return model.tree.source


def _odtlearn(m, case, X, y):
    import pandas as pd
    model = m.FlowOCT(solver="cbc", depth=case["depth"], time_limit=int(case["limit"]))
    model.fit(_frame(X), pd.Series(y))
    return np.asarray(model.predict(_frame(X)))


def _cart(m, case, X, y):
    name = "Regressor" if case["form"] in (SQUARES, LINES) else "Classifier"
    return getattr(m, "DecisionTree" + name)(
        max_depth=case["depth"], min_samples_leaf=case["leaf"], random_state=0).fit(
            X, y, case["weight"])


def _ours(forms, claims, name, **settings):
    def fit(m, case, X, y):
        own = {"max_nodes": case["nodes"], "min_samples_leaf": case["leaf"],
               "split_penalty": case["price"]} if name != "ColumnGenerationClassifier" else {}
        model = getattr(m, name)(max_depth=case["depth"], time_limit=case["limit"], **own,
                                 **settings)
        return model.fit(X, y, case["weight"])
    return Package("optimal-decision-trees", "odtlib", forms, claims, fit)


PACKAGES = {
    "STreeD": Package("pystreed", "pystreed", {COLUMNS, SQUARES},
                      {"split price", "leaf size", "node limit", "time limit"}, _streed),
    "ConTree": Package(
        "pycontree", "pycontree", {VALUES}, {"time limit"},
        lambda m, case, X, y: m.ConTree(case["depth"], time_limit=case["limit"]).fit(X, y)),
    "pytrees DL8.5": Package(
        "pytrees-rs", "pytrees", {COLUMNS}, {"leaf size", "time limit"},
        lambda m, case, X, y: m.DL85Classifier(
            max_depth=case["depth"], min_sup=case["leaf"], max_time=case["limit"]).fit(X, y)),
    "pytrees ConTree": Package(
        "pytrees-rs", "pytrees", {VALUES}, {"leaf size", "time limit"},
        lambda m, case, X, y: m.ConTreeClassifier(
            max_depth=case["depth"], min_sup=case["leaf"], max_time=case["limit"]).fit(X, y)),
    "DL8.5": Package(
        "pydl8.5", "pydl85", {COLUMNS}, {"leaf size", "time limit"},
        lambda m, case, X, y: m.DL85Classifier(
            max_depth=case["depth"], min_sup=case["leaf"],
            time_limit=int(case["limit"])).fit(X, y)),
    "GOSDT": Package("gosdt", "gosdt", {COLUMNS}, {"needs a price", "split price"}, _gosdt),
    "TreeFARMS": Package("treefarms", "treefarms", {COLUMNS}, {"needs a price", "split price"},
                         _treefarms),
    "ArborEnum": Package("arborenum", "arborenum", {COLUMNS, VALUES}, set(), _arborenum),
    "odtlearn": Package("odtlearn", "odtlearn.flow_oct", {COLUMNS}, {"time limit"}, _odtlearn),
    "OSRT": Package("osrt", "osrt", {SQUARES}, {"time limit"}, _osrt),
    "FastSmallTree": Package(
        "imodels", "imodels", {COLUMNS}, {"needs a price", "split price", "no depth"},
        lambda m, case, X, y: m.FastSmallTreeClassifier(
            case["price"] / len(y), time_limit=case["limit"]).fit(_frame(X), y)),
    "CART (greedy)": Package("scikit-learn", "sklearn.tree", {COLUMNS, VALUES, SQUARES, LINES},
                             {"weights", "leaf size", "text labels"}, _cart),
    "our MurTree": _ours({COLUMNS}, ALL, "MurTreeClassifier", binarizer=None),
    "our MurTree, default": _ours({VALUES}, ALL - {"time limit"}, "MurTreeClassifier"),
    "our Continuous": _ours({VALUES}, ALL, "ContinuousTreeClassifier"),
    "our MurTree regressor": _ours({SQUARES}, set(), "MurTreeRegressor", binarizer=None),
    "our Continuous regressor": _ours({LINES}, set(), "ContinuousTreeRegressor"),
    "our constrained regressor": _ours({SQUARES, LINES}, ALL, "OptimalConstrainedTreeRegressor"),
    "our column generation": _ours({VALUES}, {"time limit"}, "ColumnGenerationClassifier"),
}


class Worker:
    """A package in a process of its own, started again after a crash or a hang.

    It is ended after ``patience`` times the limit of a case.  ``missing`` says why it cannot be
    used here, ``version`` which one it is.  ``command`` is for tests: what is run in its place.
    """

    def __init__(self, package, patience, command=None):
        self.patience, self.process = patience, None
        python = os.environ.get("ODT_PACKAGES_PYTHON", sys.executable)
        self.command = command or [python, "-m", "odtbook.packages", package]
        self.pool = ThreadPoolExecutor(1)
        hello = self._start()
        self.missing = hello.get("missing", hello.get("error", ""))
        self.version = hello.get("version", "")

    def _start(self):
        root = str(Path(__file__).resolve().parents[1])
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, encoding="utf-8",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
        return self._answer(600.0)       # a package may compile first, for minutes

    def _answer(self, seconds):
        reading = self.pool.submit(self.process.stdout.readline)
        try:
            line, outcome = reading.result(seconds), "crashed"
        except Hangs:
            line, outcome = "", "hangs"
        try:
            return json.loads(line)
        except ValueError:
            code = self.close()
            return {"outcome": outcome, "error": "no answer" if outcome == "hangs" else
                    f"the process ended with status {code}"}

    def ask(self, case):
        """Return what the package answers to a case, a dictionary."""
        if self.process is None:
            self._start()
        if self.process is not None:
            try:
                self.process.stdin.write(json.dumps(case) + "\n")
                self.process.stdin.flush()
                return self._answer(self.patience * case["limit"])
            except OSError:
                self.close()
        return {"outcome": "crashed", "error": "the process ended before the case"}

    def close(self):
        """End the process and return its status."""
        if self.process is None:
            return None
        time.sleep(0.05)        # for one that ends by itself to say how
        if self.process.poll() is None:
            self.process.kill()
        code, self.process = self.process.wait(), None
        return code


def judge(case, answer, time_limit=60.0):
    """Return the outcome of a case, whether the report is wrong, and a sentence.

    An answer is that of a worker, or a printed optimum.  The limit of the case is time on a clock,
    and a busy machine is no fault of a package: late is one that also computed for longer.
    """
    if not isinstance(answer, dict):
        given = answer
    elif "error" in answer:
        return answer.get("outcome", "crashed"), False, answer["error"]
    elif answer["seconds"] >= case["limit"]:
        late = min(answer["seconds"], answer["cpu"]) > case["limit"] + 1.0
        return ("late" if late else "stopped"), False, (
            f"{answer['seconds']:.1f} seconds, of which it computed for {answer['cpu']:.1f}, and "
            f"the limit is {case['limit']:g}")
    else:
        said = None if answer["said"] is None else np.array(answer["said"])
        given = Given("package", None if answer["root"] is None else node_of(answer["root"]), said,
                      answer["loss"], answer["single"], answer["fault"])
    try:
        verdict = referee(given, np.array(case["X"], float), np.array(case["y"]),
                          max_depth=case["depth"], max_nodes=case["nodes"],
                          min_samples_leaf=case["leaf"], split_penalty=case["price"],
                          sample_weight=case["weight"], time_limit=time_limit,
                          objective="squared_error" if case["form"] in (SQUARES, LINES)
                          else "errors")
    except ValueError as error:     # what it predicts is nothing that can be judged
        return "outside", False, str(error)
    notes = [note for note in verdict.notes if "cannot be read" not in note]
    return verdict.status, bool(notes), str(verdict)


def shortened(case, fails):
    """Return a case with as few rows, then columns, as still fail: halves go, then single ones."""
    def without_rows(part):
        return case | {name: None if case[name] is None else
                       case[name][:part.start] + case[name][part.stop:]
                       for name in ("X", "y", "weight")}

    def without_columns(part):
        return case | {"X": [row[:part.start] + row[part.stop:] for row in case["X"]]}

    for number, least, without in ((len(case["y"]), 2, without_rows),
                                   (len(case["X"][0]), 1, without_columns)):
        size = number
        while size > 1:
            size = (size + 1) // 2
            for start in reversed(range(0, number, size)):
                part = slice(start, min(start + size, number))
                if number - part.stop + part.start >= least and fails(less := without(part)):
                    case, number = less, number - part.stop + part.start
    return case


def _nested(node):
    """Return a tree as nested dictionaries."""
    plain = lambda value: value.item() if isinstance(value, np.generic) else value  # noqa: E731
    if isinstance(node, Leaf):
        return {"label": plain(node.value)}
    return {"feature": plain(node.feature), "relation": node.relation,
            "threshold": float(node.threshold), "left": _nested(node.yes),
            "right": _nested(node.no)}


def main(package):
    """Answer case after case from the standard input; the first line says which version it is."""
    end_with(os.getppid())
    cases = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What a package prints is no answer, and no process of its own reads the cases.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def say(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    asked_of = PACKAGES[package]
    try:
        module = import_module(asked_of.module)
        version = (module.__version__ if package.startswith("our ")
                   else metadata.version(asked_of.distribution))
        trial = TRIAL | {"price": 0.5 * ("needs a price" in asked_of.claims),
                         "form": min(asked_of.forms)}
        asked_of.fit(module, trial, np.array(trial["X"]), np.array(trial["y"]))
    except Exception as error:      # not installed, or not able to fit at all
        return say({"missing": f"{type(error).__name__}: {error}"[:300]})
    say({"version": version})
    for line in cases:
        case = json.loads(line)
        X, y = np.array(case["X"]), np.array(case["y"])
        begun, cpu = time.perf_counter(), time.process_time()
        try:
            model = asked_of.fit(module, case, X, y)
            seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
            given = given_tree(model, X.astype(float), X)
            say({"root": None if given.root is None else _nested(given.root), "seconds": seconds,
                 "cpu": cpu, "said": None if given.said is None else given.said.tolist(),
                 "loss": given.loss, "single": given.single, "fault": given.fault})
        except Exception as error:      # whatever a package raises is its answer
            say({"error": f"{type(error).__name__}: {error}"[:300]})


if __name__ == "__main__":
    main(sys.argv[1])
