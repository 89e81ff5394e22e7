"""Two seeds share no draw, in estimators and experiments, and no seed is made of another."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest
from estimators import PUBLIC, made, rows

from odtbook import published
from odtlib import (
    ColumnGenerationClassifier,
    ColumnGenerationSearch,
    ConstrainedForestRegressor,
    ConstrainedTreeRegressor,
    LocalSearchTreeClassifier,
    MurTreeClassifier,
    MurTreeSearch,
    RestrictedTreeClassifier,
)
from odtlib.column_generation import ThresholdSampling
from odtlib.constrained import sets
from odtlib.heuristics.threshold_sampling import TreeSampler, sample_splits

ROOT = Path(__file__).resolve().parents[2]
FEW = ThresholdSampling(n_trees=40)
DRAWN = {                               # what is drawn at random, of the options that draw
    "RestrictedTreeClassifier": RestrictedTreeClassifier(2, sampling=FEW),
    "sampled by scikit-learn": RestrictedTreeClassifier(
        2, sampling=ThresholdSampling(n_trees=40, backend="sklearn")),
    "ColumnGenerationClassifier": ColumnGenerationClassifier(2, sampling=FEW),
    "LocalSearchTreeClassifier": LocalSearchTreeClassifier(2, max_restarts=3),
    "a random order": MurTreeClassifier(
        2, binarizer="all", search=MurTreeSearch(feature_order="random")),
    "ConstrainedTreeRegressor": ConstrainedTreeRegressor(sets.Box(0.0, 9.0), max_features=2),
    "ConstrainedForestRegressor": ConstrainedForestRegressor(
        sets.Box(0.0, 9.0), n_estimators=3, max_features=2),
}


@pytest.fixture
def streams(monkeypatch):
    """Note the first state of every legacy generator that is made from a seed, or seeded anew."""
    made_of = []

    class Noted(np.random.RandomState):
        def __init__(self, seed=None):
            super().__init__(seed)
            if seed is not None:
                made_of.append(self.get_state()[1].tobytes())

        def seed(self, seed=None):
            super().seed(seed)
            made_of.append(self.get_state()[1].tobytes())

    monkeypatch.setattr(np.random, "RandomState", Noted)

    def of(action):
        made_of.clear()
        action()
        return set(made_of)
    return of


@pytest.mark.parametrize("name", [*PUBLIC, *DRAWN])
def test_two_seeds_of_an_estimator_share_no_stream(name, streams):
    kind = name if name in PUBLIC else "MurTreeClassifier"
    model = DRAWN.get(name) or made(name)
    X, y = rows(kind) if "Regressor" not in type(model).__name__ else rows("MurTreeRegressor")
    if "random_state" not in model.get_params():
        return
    seen = [streams(lambda s=seed: model.set_params(random_state=s).fit(X, y))
            for seed in (0, 1, 7)]
    assert not (seen[0] & seen[1] or seen[0] & seen[2] or seen[1] & seen[2])
    assert name not in DRAWN or all(seen), "nothing was drawn"


def test_twenty_seeds_of_the_sampling_share_no_part_of_the_rows():
    """Tree i of seed s saw sample s + i: twenty seeds shared 281 of 300 trees."""
    X, y = np.random.RandomState(0).rand(200, 3), np.arange(200) % 2
    parts = {}
    for seed in range(20):
        sampler = TreeSampler(X, y, 2, seed=seed)
        for tree in range(100):
            part = sampler.part(0.9, tree)
            parts.setdefault(np.sort(part).tobytes(), []).append((seed, tree))
    assert max(map(len, parts.values())) == 1
    counted = [tuple(map(tuple, sample_splits(X, y, 2, max_depth=1, n_trees=60,
                                              random_state=seed).counts)) for seed in range(6)]
    assert len(set(counted)) > 3


def test_seed_zero_draws_as_the_published_program():
    X, y = np.random.RandomState(0).rand(50, 3), np.arange(50) % 2
    for tree in (0, 3, 299):
        expected = np.random.RandomState(tree).permutation(50)[5:]
        assert np.array_equal(TreeSampler(X, y, 2).part(0.9, tree), expected)
    assert published.PathPool(0).random.rand() == np.random.RandomState(0).rand()


def test_two_seeds_of_an_experiment_share_no_stream(streams):
    """The methods of the template that measures what a seed changes, each fitted with two seeds."""
    template = json.loads((ROOT / "chapters/experiments/seeds.ipynb").read_text("utf-8"))
    cells = ["".join(c["source"]) for c in template["cells"] if c["cell_type"] == "code"]
    code = "\n".join(cells[:2]).partition("data = load(")[0]
    space = {}
    exec(compile(code, "seeds.ipynb", "exec"), space)
    space["max_depth"] = 2
    X, y = np.random.RandomState(3).rand(60, 3), np.random.RandomState(4).randint(0, 2, 60)
    for name, method in space["methods"].items():
        seen = [streams(lambda m=method, s=seed: m(s).fit(X, y)) for seed in (0, 1, 2)]
        assert all(seen), name
        assert not (seen[0] & seen[1] or seen[0] & seen[2] or seen[1] & seen[2]), name


def test_columns_and_paths_of_the_papers_take_the_seed(streams):
    X, y = np.random.RandomState(3).rand(60, 3), np.random.RandomState(4).randint(0, 2, 60)

    def fit(seed):
        ColumnGenerationClassifier(2, sampling=FEW, random_state=seed, search=(
            ColumnGenerationSearch(start_columns=published.SampledColumns(seed=seed),
                                   heuristic_pricing=published.RandomPaths(seed)))).fit(X, y)
    seen = [streams(lambda s=seed: fit(s)) for seed in (0, 1)]
    assert all(seen) and not seen[0] & seen[1]


def _sources():
    for folder in ("odtlib", "odtbook"):
        for path in (ROOT / folder).rglob("*.py"):
            yield path, path.read_text("utf-8")
    for path in (ROOT / "chapters").rglob("*.ipynb"):
        if ".ipynb_checkpoints" in path.parts:
            continue
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                yield path, re.sub(r"^\s*[%!].*$", "", "".join(cell["source"]), flags=re.MULTILINE)


def test_no_seed_is_made_of_another_by_arithmetic():
    """``seed + 1`` is the neighbour's draw: spawn a stream instead."""
    words = ("seed", "random_state")
    found = []
    for path, source in _sources():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
                for side in (node.left, node.right):
                    name = getattr(side, "id", getattr(side, "attr", ""))
                    if name in words:
                        found.append(f"{path.name}: {ast.unparse(node)}")
    assert not found
