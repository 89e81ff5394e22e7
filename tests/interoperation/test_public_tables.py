"""Tables that packages ship go through `odt try`; what the page says follows from its own numbers.

The packages are installed for their tables alone and never imported.
"""

import importlib.metadata
import os
import re

import nbformat
import numpy as np
import pytest

from odtbook.cli import main
from odtbook.tables import read_table
from odtlib import DecisionTree

#: Package, file, target, and options of the command.
TABLES = [
    ("ISLP", "Caravan.csv", "Purchase"), ("ISLP", "Default.csv", "default"),
    ("ISLP", "OJ.csv", "Purchase"), ("ISLP", "Carseats.csv", "Sales"),
    ("ISLP", "College.csv", "Private"), ("ISLP", "Wage.csv", "wage", "--drop", "logwage"),
    ("ISLP", "Bikeshare.csv", "bikers"), ("ISLP", "Auto.csv", "mpg"),
    ("ISLP", "Credit.csv", "Balance"), ("ISLP", "Weekly.csv", "Direction"),
    ("ISLP", "BrainCancer.csv", "status", "--drop", "time"),
    ("Orange3", "heart_disease.tab", "diameter narrowing"), ("Orange3", "titanic.tab", "survived"),
    ("Orange3", "zoo.tab", "type", "--metric", "accuracy"), ("Orange3", "housing.tab", "MEDV"),
    ("Orange3", "imports-85.tab", "fuel-type"),
    ("lifelines", "rossi.csv", "arrest", "--drop", "week"),
    ("lifelines", "kidney_transplant.csv", "death", "--cost", "1=4"),
    ("lifelines", "lung.csv", "status", "--depth", "2"), ("lifelines", "larynx.csv", "death"),
    ("scikit-survival", "GBSG2.arff", "cens"), ("scikit-survival", "veteran.arff", "Status"),
    ("scikit-survival", "whas500.arff", "fstat", "--leaves", "4"),
    ("statsmodels", "datasets/fair/fair.csv", "affairs"),
    ("statsmodels", "datasets/heart/heart.csv", "censors"),
    ("statsmodels", "datasets/modechoice/modechoice.csv", "choice", "--groups", "individual"),
    ("statsmodels", "datasets/anes96/anes96.csv", "vote"),
    ("statsmodels", "datasets/randhie/randhie.csv", "mdvis"),
    ("statsmodels", "datasets/ccard/ccard.csv", "OWNRENT"),
    ("statsmodels", "datasets/statecrime/statecrime.csv", "murder"),
    ("scikit-learn", "datasets/data/breast_cancer.csv", "column31"),
]


def path_of(package, name):
    """Return the path of a file of a package, or skip the test."""
    try:
        files = importlib.metadata.files(package)
    except importlib.metadata.PackageNotFoundError:
        if os.environ.get("ODT_INTEROPERATION"):
            raise
        pytest.skip(f"{package} is not installed")
    return next(file.locate() for file in files
                if str(file).endswith(f"/{name}") and "/src/" not in str(file))


def texts(notebook):
    """Return what each cell of a notebook printed, by its id."""
    return {cell.id: "\n".join(output.data["text/plain"] for output in cell.outputs
                               if "text/plain" in output.get("data", {}))
            for cell in notebook.cells if cell.cell_type == "code"}


@pytest.mark.parametrize("package, name, target, options", [
    pytest.param(package, name, target, options, id=f"{package} {name}")
    for package, name, target, *options in TABLES])
def test_no_sentence_of_the_page_is_false(package, name, target, options, tmp_path, capsys):
    path, page = path_of(package, name), tmp_path / "page.html"
    assert main(["try", str(path), "--target", target, "--time", "20", "--output", str(page),
                 *options]) == 0
    said = texts(nbformat.read(page.with_suffix(".ipynb"), as_version=4))
    given = dict(zip(options[::2], options[1::2]))
    table = read_table(path, target, drop=[given["--drop"]] if "--drop" in given else [],
                       groups=given.get("--groups"))
    y, classes = table.y, table.task == "classification"
    # 1. what was read
    assert f"Read: {len(y):,} row" in said["read"]
    # 2. the tree: its sentences are right about the rows, by the file that needs no package
    program = {}
    exec(page.with_suffix(".py").read_text(encoding="utf-8"), program)
    found = np.array([program["predict"](row) for row in table.X.to_dict("records")])
    rows = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) rows", said["sentences"])]
    assert sum(rows) == len(y)
    if classes:
        right = [int(n.replace(",", "")) for n in re.findall(r"\(([\d,]+) of", said["sentences"])]
        assert sum(right) == np.sum(found == y)
    # 3. what is proved: the claim is what the tree costs
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    weight = np.ones(len(y))
    if "balanced accuracy on new rows" in said["question"]:
        weight = (len(y) / (len(labels) * counts))[codes]
        if sum(counts >= 5) > 1:        # of fewer rows nothing can be learned
            weight[counts[codes] < 5] = weight.min()
    if "--cost" in given:
        label, _, cost = given["--cost"].partition("=")
        weight = np.where(y.astype(str) == label, float(cost), 1.0)
    price = re.search(r"and ([\d.e+-]+) for each split", said["proof"])
    loss = (weight * (found != y)).sum() if classes else ((y - found) ** 2).sum()
    if "Gini impurity" in said["proof"]:
        tree = DecisionTree.from_json(page.with_suffix(".json").read_text(encoding="utf-8"))
        leaves = np.zeros((tree.n_nodes, len(labels)))
        np.add.at(leaves, (tree.apply(table.X), codes), weight)
        whole = leaves.sum(axis=1)
        loss = (whole - (leaves**2).sum(axis=1) / np.where(whole > 0, whole, 1.0)).sum()
    loss += (float(price[1]) if price else 0.0) * (len(rows) - 1)
    claimed = float(re.search(r"The tree costs (\S+):", said["proof"])[1])
    assert claimed == pytest.approx(loss, rel=1e-6)
    # 4. shares of classes
    largest = re.search(r"The largest class has (\S+) %", said["how"])
    assert not largest or abs(float(largest[1]) - 100 * counts.max() / len(y)) <= 0.0501
    # 5. every comparison says what its interval says, and needs five folds
    assert re.search(r"rounds? of 5 |no verdict", said["how"])
    for line in said["pays"].splitlines():
        if interval := re.search(r"\(([+-]\S+) to ([+-]\S+)\)", line):
            low, high = map(float, interval.groups())
            assert ("it is better" in line) == (low > 0) or "ahead" in line
            assert ("it is worse" in line) == (high < 0)
            assert ("chance" in line or "clearly" in line) == (low <= 0 <= high) or high < 0
    gain = re.search(r"one answer for all rows by (\S+) points", said["pays"])
    if gain and not classes:
        explained = re.search(r"optimal tree +(\S+) %", said["worth"])     # one answer: nothing
        assert float(gain[1]) == pytest.approx(float(explained[1]), abs=0.11)
    # 6. columns that give the target away
    for column, hits, n, cut in re.findall(
            r"'([^']+)' alone tells '[^']+' in ([\d,]+) of ([\d,]+) rows \(one cut, at (\S+)\)",
            said["read"]):
        values = table.X[column].to_numpy()
        below = values <= float(cut) * (1 + 1e-5 * np.sign(float(cut)))
        known = ~np.isnan(values)
        best = sum(np.unique(y[side & known], return_counts=True)[1].max()
                   for side in (below, ~below))
        assert abs(best - int(hits.replace(",", ""))) <= 1
        assert known.sum() == int(n.replace(",", ""))
    # 7. good trees ask what the proof is about, and nothing speaks of the program's own parts
    questions = int(re.search(r"over the (\d+) questions? below|$", said["proof"])[1] or 10**9)
    assert sum(line.count(";") + 1 for line in said["asked"].splitlines()) <= questions
    if "those of a CART tree" in said["proof"]:
        depth = int(re.search(r"depth at most (\d+)|$", said["proof"])[1] or 9)
        assert len({*re.findall(r"[^;]+ <= [^ ;\n]+", said["asked"])}) < 2**depth
    begins = re.search(r"begin with one of (\d+) questions", said["good"])
    assert not begins or 2 <= int(begins[1]) <= questions
    assert not re.search(r"\b_[A-Z]\w+|feature names", "\n".join(said.values()))
