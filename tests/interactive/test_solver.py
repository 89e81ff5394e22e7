"""The solver in the page: its optimum is MurTree's, its CART is CART, its tree what it says."""

from pathlib import Path

import numpy as np
import pytest
from browser import chromium

from odtlib import CARTClassifier, MurTreeClassifier

SOLVER = Path(__file__).resolve().parents[2] / "_static" / "solver.js"
SOLVE = """(tables) => { const core = odtCore();
return tables.map(({ columns, y, K, ...asked }) => {
  const T = core.pack(columns, y, K), { errors, tree, counts } = core.solve(T, asked);
  const greedy = core.labelled(core.cart(T, asked.nodes + 1, asked.depth), columns, y, K);
  const made = core.labelled(tree, columns, y, K);
  const depth = (node) => node.zero ? 1 + Math.max(depth(node.zero), depth(node.one)) : 0;
  const wrong = y.filter((c, r) => core.predict(made, columns, r) !== c).length;
  return { errors, counts, made: made.errors, wrong, leaves: made.leaves, depth: depth(made),
           greedy: greedy.errors, greedyLeaves: greedy.leaves, greedyDepth: depth(greedy) };
}); }"""


@pytest.fixture(scope="module")
def page():
    with chromium() as browser:
        page = browser.new_page()
        page.add_script_tag(path=SOLVER)
        yield page


def table(seed):
    """Return 0/1 rows and classes: some with near copies of columns, equal rows, few classes."""
    rng = np.random.default_rng(seed)
    n, p, K = rng.integers(4, 70), rng.integers(1, 9), rng.integers(2, 5)
    if seed % 3:
        X = (rng.random((n, p)) < rng.choice([0.15, 0.5, 0.8])).astype(int)
        y = rng.integers(0, K, n)
    else:                   # thresholds of two numbers: neighbours differ by few rows
        numbers = rng.integers(0, 12, (n, 2))
        X = np.hstack([numbers <= t for t in range(1, 11)]).astype(int)
        y = (numbers.sum(axis=1) // 4 + (rng.random(n) < 0.2)) % K
    return X, np.unique(y, return_inverse=True)[1]


@pytest.mark.parametrize("chunk", range(10))
def test_the_optimum_is_that_of_the_library(page, chunk):
    asked, wanted, seeds = [], [], range(50 * chunk, 50 * chunk + 50)
    for seed in seeds:
        X, y = table(seed)
        rng = np.random.default_rng([seed, 1])
        depth = int(rng.integers(1, 5))
        nodes = int(rng.integers(0, 2 ** depth))
        off = {name: False for name in ("pairs", "cache", "similarity", "equal", "upper")
               if seed % 2 and rng.random() < 0.5}
        asked.append({"columns": X.T.tolist(), "y": y.tolist(), "K": int(y.max()) + 1,
                      "depth": depth, "nodes": nodes, "use": off})
        wanted.append(0 if y.max() == 0 else
                      MurTreeClassifier(depth, nodes).fit(X, y).report_.objective)
    for seed, ask, want, got in zip(seeds, asked, wanted, page.evaluate(SOLVE, asked)):
        assert got["errors"] == got["made"] == got["wrong"] == want, (seed, got)
        assert got["leaves"] <= ask["nodes"] + 1 and got["depth"] <= ask["depth"], seed
        assert got["greedy"] >= want and got["greedyLeaves"] <= ask["nodes"] + 1, seed
        assert got["greedyDepth"] <= ask["depth"], seed


def test_each_bound_closes_something(page):
    saved = dict.fromkeys(("hits", "upper", "similarity", "equal"), 0)
    for seed in range(0, 60, 3):
        X, y = table(seed)
        got = page.evaluate(SOLVE, [{"columns": X.T.tolist(), "y": y.tolist(), "nodes": 15,
                                     "K": int(y.max()) + 1, "depth": 4}])[0]
        saved = {name: saved[name] + got["counts"][name] for name in saved}
    assert all(saved.values()), saved


def test_cart_is_the_librarys_where_no_two_splits_are_equally_good(page):
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(40):
        X = (rng.random((301, 7)) < rng.uniform(0.2, 0.8, 7)).astype(int)
        y = (X[:, 0] + X[:, 1] * X[:, 2] + (rng.random(301) < 0.2)) % 3
        models = [CARTClassifier(3, random_state=seed).fit(X, y) for seed in range(3)]
        found = {model.report_.objective for model in models}
        if len(found) == 1:
            ask = {"columns": X.T.tolist(), "y": y.tolist(), "K": 3, "depth": 3, "nodes": 7}
            assert page.evaluate(SOLVE, [ask])[0]["greedy"] == found.pop()
            compared += 1
    assert compared > 20


def test_the_solver_keeps_small():
    lines = SOLVER.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 300 and max(map(len, lines)) <= 100
