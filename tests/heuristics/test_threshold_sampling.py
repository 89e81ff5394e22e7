"""Threshold sampling against an obvious CART, scikit-learn, and the papers' own words."""

import numpy as np
import pytest
from heuristics.reference import gini_purity, random_rows
from sklearn.model_selection import train_test_split

from odtlib.heuristics.threshold_sampling import TreeSampler, sample_splits, tree_of_splits
from odtlib.report import Clock
from odtlib.tree import midpoint


def purity(y, weight, low, n_classes):
    """Sum over both sides of squared class weights over the side's weight."""
    return sum(gini_purity(y[side], weight[side], n_classes) for side in (low, ~low))


def slow_cart(X, y, weight, n_classes, depth):
    """Splits in heap order: of the purest cuts the first feature, then the smallest threshold."""
    splits = [None] * (2 ** depth - 1)

    def grow(node, rows):
        if node >= len(splits) or len(np.unique(y[rows])) < 2:
            return
        best = 0.0
        for f in range(X.shape[1]):
            values = np.unique(X[rows, f])
            for low, high in zip(values[:-1], values[1:], strict=True):
                found = purity(y[rows], weight[rows], X[rows, f] <= low, n_classes)
                if found > best * (1 + 1e-12):
                    best, splits[node] = found, (f, float(midpoint(low, high)))
        if splits[node] is not None:
            goes_left = X[rows, splits[node][0]] <= splits[node][1]
            grow(2 * node + 1, rows[goes_left])
            grow(2 * node + 2, rows[~goes_left])

    grow(0, np.arange(len(y)))
    return splits


@pytest.mark.parametrize("seed", range(60))
def test_compiled_trees_equal_the_obvious_cart(seed):
    random = np.random.RandomState(seed)
    n_classes = random.randint(2, 6)
    kind = ("ones", "integers")[seed % 2]
    X, y, weight = random_rows(random, random.randint(n_classes, 40), random.randint(1, 5),
                               random.randint(2, 9), n_classes, kind)
    X = X * 10.0 ** random.randint(-200, 200)
    depth = random.randint(1, 5)
    sampler = TreeSampler(X, y, n_classes, weight, depth)
    assert sampler.grow() == slow_cart(X, y, weight, n_classes, depth)
    chosen = np.sort(sampler.part(0.7, seed))
    assert sampler.grow(chosen) == slow_cart(X[chosen], y[chosen], weight[chosen], n_classes, depth)


@pytest.mark.parametrize("seed", range(20))
def test_real_weights_choose_the_purest_cut(seed):
    random = np.random.RandomState(seed)
    X, y = random.rand(60, 4), random.randint(0, 3, 60)
    y[:3] = 0, 1, 2
    weight = random.rand(60) + 0.01
    assert TreeSampler(X, y, 3, weight, 3).grow() == slow_cart(X, y, weight, 3, 3)


def agree(X, y, n_classes, ours, theirs, node=0, rows=None):
    """Count the nodes at which two trees have the same split; where they part they must tie."""
    rows = np.arange(len(y)) if rows is None else rows
    if node >= len(ours) or (ours[node] is None and theirs[node] is None):
        return 0
    (f, t), (g, u) = ours[node], theirs[node]
    low = X[rows, f] <= t
    if ours[node] != theirs[node]:
        ones = np.ones(len(rows))
        assert purity(y[rows], ones, low, n_classes) == pytest.approx(
            purity(y[rows], ones, X[rows, g] <= u, n_classes), rel=1e-11)
        return 0
    return (1 + agree(X, y, n_classes, ours, theirs, 2 * node + 1, rows[low])
            + agree(X, y, n_classes, ours, theirs, 2 * node + 2, rows[~low]))


@pytest.mark.parametrize("seed", range(20))
def test_compiled_and_sklearn_differ_only_where_gains_tie(seed):
    random = np.random.RandomState(seed)
    n_classes = 2 + seed % 3
    X = random.rand(150, 5)
    if seed % 2:
        X = np.floor(X * 12)
    y = (X[:, 0] * 3 + random.rand(150) * 2).astype(int) % n_classes
    same = nodes = 0
    for part in range(5):
        compiled, sklearn = (TreeSampler(X, y, n_classes, None, 3, backend)
                             for backend in ("compiled", "sklearn"))
        chosen = compiled.part(0.9, part)
        ours, theirs = compiled.grow(chosen), sklearn.grow(chosen)
        same += agree(X, y, n_classes, ours, theirs, rows=chosen)
        nodes += sum(split is not None for split in theirs)
    assert same > 0.5 * nodes   # ties are the exception


@pytest.mark.parametrize("share", [0.5, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("n_rows", [2, 10, 11, 79])
def test_parts_are_those_of_sklearn(share, n_rows):
    sampler = TreeSampler(np.arange(n_rows, dtype=float)[:, None], np.arange(n_rows) % 2, 2)
    kept, _ = train_test_split(np.arange(n_rows), test_size=round(1 - share, 1), random_state=7)
    assert np.array_equal(sampler.part(share, 7), kept)


def trees_of(X, y, n_trees, share=0.9, depth=2):
    sampler = TreeSampler(X, y, 2, None, depth)
    return [sampler.grow(sampler.part(share, i)) for i in range(n_trees)], sampler.grow()


def data(seed, n_rows=60):
    random = np.random.RandomState(seed)
    X = np.floor(random.rand(n_rows, 4) * 8)
    return X, (X[:, 0] + X[:, 1] * random.rand(n_rows) > 7).astype(int)


@pytest.mark.parametrize("seed", range(10))
def test_most_frequent_splits_are_kept(seed):
    X, y = data(seed)
    trees, cart = trees_of(X, y, 40)
    sampled = sample_splits(X, y, 2, max_depth=2, n_trees=40, root_candidates=3,
                            node_candidates=2, n_jobs=1 + seed % 2)
    assert sampled.cart == cart and sampled.n_trees == 40 and sampled.complete
    for node, kept in enumerate(sampled.splits):
        seen = [tree[node] for tree in trees if tree[node] is not None]
        order = list(dict.fromkeys(seen))   # as found
        if cart[node] is not None and cart[node] not in order:
            order.append(cart[node])
        expected = sorted(order, key=lambda s: (s == cart[node], seen.count(s), order.index(s)),
                          reverse=True)
        assert kept == expected[:3 if node == 0 else 2]
        assert sampled.counts[node] == [seen.count(split) for split in kept]


@pytest.mark.parametrize("seed", range(10))
def test_splits_of_cart_may_be_added_to_the_most_frequent(seed):
    X, y = data(seed)
    trees, cart = trees_of(X, y, 40)
    options = dict(max_depth=2, n_trees=40, root_candidates=2, node_candidates=2)
    added, counted = (sample_splits(X, y, 2, add_cart=add, **options) for add in (True, False))
    for node, kept in enumerate(added.splits):
        seen = [tree[node] for tree in trees if tree[node] is not None]
        order = list(dict.fromkeys(seen))
        frequent = sorted(order, key=lambda s: (seen.count(s), order.index(s)), reverse=True)[:2]
        assert len(set(kept)) == len(kept)
        assert set(kept) == {*frequent, *([cart[node]] if cart[node] else [])}
        assert kept[0] == counted.splits[node][0]
        assert set(kept) >= set(counted.splits[node])
        assert added.counts[node] == [seen.count(split) for split in kept]


def test_all_splits_are_kept_on_demand():
    X, y = data(3)
    trees, cart = trees_of(X, y, 30)
    sampled = sample_splits(X, y, 2, max_depth=2, n_trees=30, root_candidates="all")
    assert set(sampled.splits[0]) == {tree[0] for tree in [*trees, cart]}
    assert len(sampled.splits[1]) <= 33


def algorithm_1(roots, tau, printed):
    """Count the trees of Algorithm 1 (Firat et al. 2020) given each tree's root split."""
    known, i, grown = set(), 0, 0
    while i < tau:
        root = roots[grown]
        grown += 1
        if printed:
            known.add(root)                    # line 6 stands before the test of line 7
        i = i + 1 if root in known else 0      # lines 7 to 11
        known.add(root)
    return grown


@pytest.mark.parametrize("seed", range(8))
def test_algorithm_1_as_printed_never_resets_its_counter(seed):
    X, y = data(seed, 40)
    trees, _ = trees_of(X, y, 400, share=0.5)
    roots = [tree[0] for tree in trees]
    assert algorithm_1(roots, 20, printed=True) == 20
    for stopping, printed in (("fixed", True), ("no-new-root", False)):
        sampled = sample_splits(X, y, 2, max_depth=2, n_trees=20, sample_share=0.5,
                                stopping=stopping)
        assert sampled.n_trees == algorithm_1(roots, 20, printed)


def test_the_corrected_rule_grows_more_trees():
    X, y = data(1, 40)
    assert sample_splits(X, y, 2, max_depth=2, n_trees=20, sample_share=0.5,
                         stopping="no-new-root").n_trees > 20


def test_a_node_that_no_tree_splits_takes_the_first_split():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]] * 5), np.array([0, 0, 1, 1] * 5)
    sampled = sample_splits(X, y, 2, max_depth=2, n_trees=5)
    assert sampled.splits == [[(0, 0.5)]] * 3 and sampled.cart == [(0, 0.5), None, None]


def test_constant_rows_have_no_splits():
    sampled = sample_splits(np.ones((6, 2)), np.array([0, 1] * 3), 2, max_depth=2, n_trees=5)
    assert sampled.splits == [[], [], []]


def test_without_features_no_node_has_a_split():
    sampled = sample_splits(np.empty((4, 0)), np.array([0, 1, 1, 0]), 2, max_depth=2, n_trees=5)
    assert sampled.splits == [[], [], []] and sampled.cart == [None, None, None]


def test_time_may_end_before_the_rows_are_sorted(monkeypatch):
    X, y = data(0)
    clock = Clock(1.0)
    monkeypatch.setattr(Clock, "expired", property(lambda self: True))
    sampled = sample_splits(X, y, 2, max_depth=2, n_trees=5, time_limit=1.0)
    assert clock.expired and not sampled.complete and sampled.n_trees == 0
    assert sampled.splits == [[], [], []] and sampled.cart == [None] * 3


def test_the_clock_is_looked_at_before_every_tree(monkeypatch):
    X, y = data(0)
    looks = []
    monkeypatch.setattr(Clock, "expired", property(
        lambda self: self.time_limit == 99.0 and (looks.append(1) or len(looks) > 30)))
    sampled = sample_splits(X, y, 2, max_depth=2, n_trees=100, time_limit=99.0)
    assert not sampled.complete and 0 < sampled.n_trees < 30 and sampled.splits[0]


def test_the_time_limit_ends_the_sampling():
    X, y = data(0)
    sampled = sample_splits(X, y, 2, max_depth=2, n_trees=10 ** 9, time_limit=0.05)
    assert not sampled.complete and sampled.n_trees < 10 ** 9 and sampled.splits[0]


def test_tree_of_splits_labels_its_leaves():
    X, y = data(2)
    sampled = sample_splits(X, y, 2, max_depth=3, n_trees=5)
    tree = tree_of_splits(sampled.cart, X, y, 2)
    assert tree.value[0].tolist() == np.bincount(y).tolist()
    assert tree.depth <= 3


def test_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="use 'compiled' or 'sklearn'"):
        TreeSampler(np.ones((2, 1)), np.array([0, 1]), 2, backend="fast")
