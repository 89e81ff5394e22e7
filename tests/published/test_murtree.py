"""The search as the paper prints it: against brute force, and its techniques one by one."""

from itertools import product

import numpy as np
import pytest

from odtbook.published import PaperSearch
from odtbook.published import _murtree_kernel as K
from odtbook.published.murtree import PaperSolver
from odtlib import MurTreeClassifier, MurTreeRegressor, MurTreeSearch
from odtlib.murtree.preparation import prepare
from odtlib.report import Clock, TimeUp
from tests.murtree.test_search import blobs
from tests.naive import best_tree_cost

SWITCHES = {
    "cache": ["dataset", "branch"], "similarity_bound": [True, False],
    "refined_bound": [True, False], "budget_bounds": [True, False],
    "propagate_optima": [True, False], "incremental_counts": [True, False],
    "lookup_buffer": [True, False], "feature_order": ["in-order", "gini", "random"],
    "child_order": ["dynamic", "post-order", "gap"]}


def small_instance(rng):
    """Return rows and classes with ties, equal, opposite and constant columns."""
    X = (rng.random((rng.integers(1, 20), rng.integers(1, 5))) < rng.choice([0.3, 0.5, 0.9]))
    if X.shape[1] > 2:
        X[:, 0] = X[:, 1] ^ rng.integers(2)
    return X.astype(np.uint8), rng.integers(0, rng.integers(2, 4), len(X))


def new_search(X, y, depth=4, nodes=15, **options):
    n_classes = int(y.max()) + 1
    problem = prepare(X, y, n_classes, merge_rows=False, merge_columns=False)
    return PaperSolver(problem, depth, nodes, PaperSearch(**options), 0)


def counted(search):
    return dict(zip(K.COUNTER_NAMES, search.counters.tolist(), strict=True))


def all_budgets(search, depth, nodes, leaf):
    """Return the errors with 1 to ``nodes`` feature nodes, each below that of the one before."""
    best, errors = leaf, []
    for n in range(1, nodes + 1):
        found = search.solve(min(depth, n), n, best - 1)
        best = best if found is None else found[0]
        errors.append(best)
    return errors


def test_every_combination_of_techniques_finds_the_optima_of_brute_force():
    rng = np.random.default_rng(0)
    instances = []
    for _ in range(24):
        X, y = small_instance(rng)
        depth = int(rng.integers(1, 5 if X.shape[1] < 4 else 4))
        nodes = min(2 ** depth - 1, 7)
        weight, n_classes = np.ones(len(y)), int(y.max()) + 1
        optima = [best_tree_cost(X, y, weight, n_classes, depth, n) for n in range(nodes + 1)]
        instances.append((X, y, depth, nodes, optima))
    for k, values in enumerate(product(*SWITCHES.values())):
        X, y, depth, nodes, optima = instances[k % len(instances)]
        options = dict(zip(SWITCHES, values, strict=True))
        search = new_search(X, y, depth, nodes, **options)
        assert all_budgets(search, depth, nodes, int(optima[0])) == optima[1:], options


class Reference:
    """Algorithms 1 to 3 by recursion, on sets of rows; depth two by brute force over roots."""

    def __init__(self, X, y, cache, similar):
        self.X, self.y, self.by_branch, self.similar = X, y, cache == "branch", similar
        self.known, self.stored, self.solved = {}, {}, 0

    def leaf(self, D):
        return len(D) - max(np.bincount(self.y[sorted(D)]))

    def sides(self, D, j):
        one = frozenset(r for r in D if self.X[r, j])
        return D - one, one

    def name(self, D, branch):
        return branch if self.by_branch else D

    def bound(self, D, branch, d, n):
        entries = self.known.get(self.name(D, branch), {})
        return max((value for (e, m), (value, _, _) in entries.items() if e >= d and m >= n),
                   default=0)

    def store(self, D, branch, d, n, value, exact, size=0):
        entries = self.known.setdefault(self.name(D, branch), {})
        limits = {(d, n)}
        if exact:
            limits |= {(e, m) for m in range(max(size, 1), n + 1)
                       for e in range(max(1, min(d, size)), min(d, m) + 1)}
        for limit in limits:
            old = entries.get(limit, (0, False, 0))
            if not old[1] and (exact or value > old[0] or limit not in entries):
                entries[limit] = max(value, 0), exact, size

    def keep(self, D, branch, d):
        two = self.stored.setdefault(d, [])
        if not self.similar:
            return
        if len(two) == 2:
            two[min(range(2), key=lambda k: len(two[k][0] ^ D))] = D, branch
        else:
            two.append((D, branch))

    def solve(self, D, branch, d, n, upper):
        """Return (errors, nodes), or None if no tree has at most ``upper`` errors."""
        if upper < 0:
            return None
        if n == 0:
            return (self.leaf(D), 0) if self.leaf(D) <= upper else None

        def known():
            found = self.known.get(self.name(D, branch), {}).get((d, n), (0, False, 0))
            return ((found[0], found[2]) if found[0] <= upper else None,) if found[1] else None

        if known():
            return known()[0]
        best = 0
        for A, other in self.stored.get(d, []):
            best = max(best, self.bound(A, other, d, n) - len(A - D))
            if A == D and self.name(A, other) != self.name(D, branch):
                for (e, m), (value, exact, size) in list(
                        self.known[self.name(A, other)].items()):
                    entries = self.known.setdefault(self.name(D, branch), {})
                    if not entries.get((e, m), (0, False))[1]:
                        entries[e, m] = value, exact, size
        if best > 0:
            self.store(D, branch, d, n, best, False)
        if known():
            return known()[0]
        lower, leaf = self.bound(D, branch, d, n), self.leaf(D)
        if lower > upper:
            return None
        if lower == leaf:
            return leaf, 0
        if d <= 2:
            self.solved += 1
            tree = self.depth_two(D)
            for m in (1, 2, 3):
                self.store(D, branch, min(m, 2), m, tree[m][0], True, tree[m][1])
            self.keep(D, branch, d)
            return tree[n] if tree[n][0] <= upper else None
        return self.branch(D, branch, d, n, upper, lower, leaf)

    def depth_two(self, D):
        best = {m: (self.leaf(D), 0) for m in range(4)}
        for j in range(self.X.shape[1]):
            parts = self.sides(D, j)
            if all(parts):
                ways = [[(self.leaf(part), 0)] + [
                    (sum(self.leaf(side) for side in self.sides(part, k) if side), 1)
                    for k in range(self.X.shape[1])] for part in parts]
                for (a, m), (b, n) in product(*ways):
                    for size in range(1 + m + n, 4):
                        best[size] = min(best[size], (a + b, 1 + m + n))
        return best

    def branch(self, D, branch, d, n, upper, lower, leaf):
        best, refined = ((leaf, 0) if leaf <= upper else None), []
        most = min(2 ** (d - 1) - 1, n - 1)
        for j in range(self.X.shape[1]):
            parts = self.sides(D, j)
            if not all(parts):
                continue
            for n_0 in range(n - 1 - most, most + 1):
                if best and best[0] == lower:
                    break
                limit = upper if best is None else min(upper, best[0] - 1)
                asked = [(parts[s], branch | {(j, s)}, min(d - 1, m), m)
                         for s, m in enumerate((n_0, n - 1 - n_0))]
                first = 0 if self.leaf(parts[0]) > self.leaf(parts[1]) else 1
                a = self.solve(*asked[first], limit - self.bound(*asked[1 - first]))
                b = self.solve(*asked[1 - first], limit - a[0]) if a else None
                if b:
                    best = a[0] + b[0], 1 + a[1] + b[1]
                else:
                    refined.append(sum(self.bound(*child) for child in asked))
        if best:
            self.store(D, branch, d, n, best[0], True, best[1])
        else:
            value = max([upper + 1, lower, *([min(refined)] if refined else [])])
            self.store(D, branch, d, n, value, False)
        self.keep(D, branch, d)
        return best


@pytest.mark.parametrize("similar", [True, False])
@pytest.mark.parametrize("cache", ["dataset", "branch"])
def test_the_kernel_does_what_the_algorithms_say(cache, similar):
    rng = np.random.default_rng(1)
    entries = 0
    for _ in range(25):
        X, y = rng.integers(0, 2, (int(rng.integers(8, 30)), 5)), rng.integers(0, 2, 30)
        y = y[:len(X)]
        kept = (X != X[:1]).any(axis=0)
        X = X[:, kept].astype(np.uint8)
        if len(np.unique(y)) < 2:
            continue
        search = new_search(X, y, cache=cache, similarity_bound=similar)
        slow = Reference(X, y, cache, similar)
        rows = np.argsort(y, kind="stable")             # as the search numbers them
        slow.X, slow.y = X[rows], y[rows]
        best = int(min(np.bincount(y)))
        everything = frozenset(range(len(y)))
        for n in range(1, 16):
            found = search.solve(min(4, n), n, best - 1)
            wanted = slow.solve(everything, frozenset(), min(4, n), n, best - 1)
            assert (found is None) == (wanted is None)
            if found is not None:
                size = 0 if found[1] < 0 else 1 + found[2] + found[3]
                assert (found[0], size) == wanted
                best = found[0]
            assert counted(search)["depth_two_problems"] == slow.solved
            assert search.control[K.N_SUBTREES] == len(slow.known)
        entries += len(slow.known)
    assert entries > 500


def test_stored_counters_hold_the_counts_of_their_data_sets():
    X, y = blobs(n_rows=120, n_columns=9)
    searches = [new_search(X, y, incremental_counts=stored) for stored in (True, False)]
    for search in searches:
        all_budgets(search, 4, 15, int(min(np.bincount(y))))
    assert counted(searches[0])["rows_counted"] < counted(searches[1])["rows_counted"]
    for name in ("depth_two_problems", "nodes"):
        assert counted(searches[0])[name] == counted(searches[1])[name]
    stored = searches[0].stored
    for rows, n, counts in zip(stored["counted_rows"], stored["n_counted"],
                               stored["pair_counts"], strict=True):
        rows = rows[:n]
        for c in range(2):
            of_class = searches[0].X[rows[searches[0].fixed["of_class"][rows] == c]].astype(int)
            assert np.array_equal(counts[c], of_class.T @ of_class)


def test_the_buffer_saves_look_ups_and_changes_nothing_else():
    X, y = blobs(n_rows=100, n_columns=8)
    searches = [new_search(X, y, lookup_buffer=buffer) for buffer in (True, False)]
    for search in searches:
        all_budgets(search, 4, 15, int(min(np.bincount(y))))
    with_buffer, without = map(counted, searches)
    assert with_buffer.pop("buffer_hits") > 0 == without.pop("buffer_hits")
    assert with_buffer == without
    assert searches[0].control[K.N_SUBTREES] == searches[1].control[K.N_SUBTREES]


def test_what_is_known_of_a_data_set_is_transferred_to_an_equal_one_under_another_branch():
    X, y = blobs(n_rows=100, n_columns=6)
    X = np.column_stack([X, X])                          # every data set under several branches
    transferred = {}
    for similar, cache in product((True, False), ("branch", "dataset")):
        search = new_search(X, y, similarity_bound=similar, cache=cache)
        all_budgets(search, 4, 15, int(min(np.bincount(y))))
        transferred[similar, cache] = counted(search)["entries_transferred"]
    assert transferred.pop((True, "branch")) > 0
    assert not any(transferred.values())


def test_a_deeper_search_uses_what_a_shallower_one_found():
    X, y = blobs(n_rows=120, n_columns=8)
    work = {}
    for depths in ((3,), (4,), (3, 4)):
        search = new_search(X, y)
        for depth in depths:
            all_budgets(search, depth, 2 ** depth - 1, int(min(np.bincount(y))))
        work[depths] = counted(search)["depth_two_problems"]
    assert work[3, 4] < work[(3,)] + work[(4,)]
    fits = [MurTreeClassifier(4, search=PaperSearch(deepening=deepening)).fit(X, y)
            for deepening in (True, False)]
    assert fits[0].report_.objective == fits[1].report_.objective
    assert len(fits[0].report_.trace) > len(fits[1].report_.trace)


@pytest.mark.parametrize("seed", range(2))
def test_a_fit_and_a_path_agree_with_the_search_of_the_library(seed):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        X, y = small_instance(rng)
        X, y = np.vstack([X, X[:2]]), np.concatenate([y, y[:2]])
        if len(np.unique(y)) < 2:
            continue
        weight = [None, rng.integers(1, 4, len(y))][rng.integers(2)]
        penalty, minimise = float(rng.choice([0.0, 0.7, 1.0])), bool(rng.integers(2))
        limits = {"max_depth": int(rng.integers(0, 5)), "split_penalty": penalty,
                  "max_nodes": [None, int(rng.integers(0, 9))][rng.integers(2)]}
        ours = MurTreeClassifier(**limits, search=MurTreeSearch(minimise_nodes=minimise))
        paper = MurTreeClassifier(**limits, search=PaperSearch(
            minimise_nodes=minimise, merge_rows=bool(rng.integers(2))))
        for model in (ours, paper):
            model.fit(X, y, weight)
        assert paper.report_.status == "optimal"
        assert paper.report_.objective == pytest.approx(ours.report_.objective, rel=1e-12)
        assert paper.verify(X, y, weight) == pytest.approx(paper.report_.objective, rel=1e-12)
        if minimise:
            assert paper.tree_.n_splits == ours.tree_.n_splits
        paths = [[entry.objective for entry in model.path(X, y, weight)]
                 for model in (ours, paper)]
        assert paths[0] == pytest.approx(paths[1], rel=1e-12)


@pytest.mark.parametrize("changes", [{}, {"incremental_counts": False}])
def test_slices_of_the_search_change_nothing(changes, monkeypatch):
    X, y = blobs(n_rows=60, n_columns=6)
    model = MurTreeClassifier(3, search=PaperSearch(**changes))
    whole = model.fit(X, y).report_.counters
    tree = str(model.tree_)
    monkeypatch.setattr("odtlib.fit.FIRST_SLICE", 1)
    assert model.fit(X, y).report_.counters == whole
    assert str(model.tree_) == tree


def test_a_search_that_was_ended_while_it_counted_may_be_followed_by_another():
    X, y = blobs(n_rows=60, n_columns=6)
    search, other = new_search(X, y), new_search(X, y)
    with pytest.raises(TimeUp):
        search.solve(3, 7, clock=Clock(0.0))
    search.control[K.LEVEL] = 0
    while search.control[K.OLD_DONE] + search.control[K.NEW_DONE] == 0:
        search.run_kernel(1)
    assert search.solve(3, 7) == other.solve(3, 7)


def test_a_time_limit_leaves_a_tree():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (300, 60)), rng.integers(0, 2, 300)
    model = MurTreeClassifier(5, time_limit=0.2, search=PaperSearch()).fit(X, y)
    assert model.report_.status == "time_limit" and model.tree_.n_splits > 0
    assert model.verify(X, y) == model.report_.objective >= model.report_.lower_bound


@pytest.mark.parametrize("options", [
    {"cache": None}, {"cache": "closure"}, {"similarity_bound": "siblings"}, {"merge_rows": "no"},
    {"feature_order": "depth-two"}, {"child_order": None}, {"lookup_buffer": 2}])
def test_what_the_paper_does_not_have_is_refused(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"The '{name}' parameter of PaperSearch must be"):
        PaperSearch(**options)


@pytest.mark.parametrize("parameters", [
    {"min_samples_leaf": 2}, {"n_jobs": 2}, {"start": "cart"},
    {"objective": "f1"}, {"objective": "balanced-accuracy"}])
def test_parameters_without_a_meaning_are_refused(parameters):
    X, y = blobs(n_rows=30, n_columns=5)
    with pytest.raises(ValueError, match="cannot be combined with"):
        MurTreeClassifier(3, search=PaperSearch(), **parameters).fit(X, y)


def test_weights_that_are_not_counts_are_refused():
    X, y = blobs(n_rows=30, n_columns=5)
    with pytest.raises(ValueError, match="counts rows; give weights that are small whole"):
        MurTreeClassifier(2, search=PaperSearch()).fit(X, y, np.full(30, 0.3))
    with pytest.raises(ValueError, match="'search' parameter of MurTreeRegressor must be"):
        MurTreeRegressor(2, search=PaperSearch(merge_rows=True)).fit(X, y)
