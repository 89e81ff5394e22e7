"""The kernels of the local search against slow references."""

from itertools import product

import numpy as np
import pytest
from heuristics import reference
from naive import best_tree_cost, cuts

from odtlib.heuristics import _kernels
from odtlib.heuristics.cart import ONE_LEAF, cart_nodes
from odtlib.heuristics.local_search import _Search
from odtlib.heuristics.ranks import RankedRows


def instances(count, seed=0):
    """Yield random ranked rows and a segment of them, sorted by every feature."""
    random = np.random.RandomState(seed)
    for _ in range(count):
        n_classes = random.randint(2, 5)
        X, y, weight = reference.random_rows(
            random, random.randint(n_classes, 25), random.randint(1, 5), random.randint(1, 8),
            n_classes, random.choice(["ones", "integers", "floats"]))
        rows = RankedRows(X, y, n_classes, weight)
        if random.rand() < 0.5:
            rows = rows.merged()
        order = np.argsort(rows.ranks, axis=1, kind="stable").astype(np.int32)
        if random.rand() < 0.5:
            yield random, rows, order, 0, rows.n_rows
        else:   # some of the rows, as below a split
            inside = random.rand(rows.n_rows) < 0.6
            inside[random.randint(rows.n_rows)] = True
            segment = np.array([np.r_[line[inside[line]], line[~inside[line]]] for line in order])
            yield random, rows, segment, 0, int(inside.sum())


def slots(random, rows):
    """Draw, for every row, its leaf on the left and on the right: disjoint numbers."""
    n_left, n_right = random.randint(1, 4), random.randint(1, 4)
    return (random.randint(0, n_left, rows.n_rows),
            n_left + random.randint(0, n_right, rows.n_rows), n_left + n_right)


def scratch(n_slots, n_classes):
    return _kernels.Leaves(np.full((2, n_slots, n_classes), 7.0), np.full((2, n_slots), 7.0),
                           np.full((2, n_slots), 7, np.int64))


def table(rows):
    signed = np.where(rows.labels == 0, -rows.weights, rows.weights)
    return _kernels.Rows(rows.ranks, rows.labels, rows.weights, signed, rows.members)


@pytest.mark.parametrize("min_leaf", [1, 2, 4])
def test_best_split_of_a_node(min_leaf):
    generator = np.array([5], np.uint64)
    found_none = found_some = 0
    for random, rows, order, low, high in instances(250, seed=min_leaf):
        left_slot, right_slot, n_slots = slots(random, rows)
        node = order[0, low:high]
        options = list(reference.all_splits(rows.ranks, node, rows.labels, rows.weights,
                                            rows.members, left_slot, right_slot, rows.n_classes,
                                            min_leaf))
        # two classes are counted in a way of their own, unless there is a third without rows
        for n_classes in {rows.n_classes, max(3, rows.n_classes)}:
            best, feature, cut = _kernels.best_split(
                order, low, high, table(rows), left_slot, right_slot, n_slots, min_leaf, generator,
                scratch(n_slots, n_classes))
            if not options:
                assert feature == -1
                found_none += 1
                continue
            found_some += 1
            assert best == pytest.approx(max(correct for *_, correct in options), abs=1e-9)
            partition = tuple(rows.ranks[feature, node] <= cut)
            value = [correct for f, p, correct in options if (f, p) == (feature, partition)]
            assert value and value[0] == pytest.approx(best, abs=1e-9)
    assert found_some > 50 and found_none > 5


@pytest.mark.parametrize("min_leaf", [1, 3])
@pytest.mark.parametrize("errors_first", [False, True])
def test_best_split_of_a_leaf(errors_first, min_leaf):
    generator = np.array([5], np.uint64)
    for _, rows, order, low, high in instances(200, seed=10 + min_leaf):
        node = order[0, low:high]
        n_classes, labels, weights = rows.n_classes, rows.labels[node], rows.weights[node]
        options = {}
        slots = np.zeros(rows.n_rows, int), np.ones(rows.n_rows, int)
        for feature, partition, correct in reference.all_splits(
                rows.ranks, node, rows.labels, rows.weights, rows.members, *slots, n_classes,
                min_leaf):
            left = np.array(partition)
            purity = sum(reference.gini_purity(labels[side], weights[side], n_classes)
                         for side in (left, ~left))
            options[feature, partition] = (correct if errors_first else 0.0, purity)
        feature, cut = _kernels.best_stump(
            order, low, high, table(rows), min_leaf, errors_first, generator,
            np.bincount(labels, weights, n_classes), rows.members[node].sum(),
            np.empty(n_classes), np.empty(n_classes))
        if not options:
            assert feature == -1
            continue
        chosen = options[feature, tuple(rows.ranks[feature, node] <= cut)]
        correct = max(value[0] for value in options.values())
        assert chosen[0] == pytest.approx(correct, abs=1e-9)
        assert chosen[1] == pytest.approx(
            max(value[1] for value in options.values() if value[0] >= correct - 1e-9), abs=1e-8)


@pytest.mark.parametrize("min_leaf", [1, 3])
def test_best_tree_of_depth_two(min_leaf):
    generator = np.array([5], np.uint64)
    feature, cut = np.empty(3, np.int32), np.empty(3, np.int32)
    depths = []
    for _, rows, order, low, high in instances(70, seed=20 + min_leaf):
        node = np.sort(order[0, low:high])
        labels, weights, members = rows.labels[node], rows.weights[node], rows.members[node]
        X = rows.ranks[:, node].T
        best = _kernels.best_depth_two(
            order, low, high, table(rows), min_leaf, generator, np.empty(rows.n_rows, bool),
            feature, cut, np.empty((5, rows.n_classes)), np.empty(2), np.empty((5, 2), np.int64))
        one = np.repeat(np.arange(len(node)), members)      # a row each
        optimum = weights.sum() - best_tree_cost(
            cuts(X[one]), labels[one], (weights / members)[one], rows.n_classes, 2,
            min_leaf=min_leaf)
        assert best == pytest.approx(optimum, abs=1e-9)
        slot = np.zeros(len(node), int)        # the tree found has that weight, and large leaves
        if feature[0] >= 0:
            slot = 1 + (X[:, feature[0]] > cut[0])
            for side in (1, 2):
                if feature[side] >= 0:
                    slot[(slot == side) & (X[:, feature[side]] > cut[side])] += 2
            assert min(members[slot == s].sum() for s in np.unique(slot)) >= min_leaf
        assert reference.correct_weight(labels, weights, slot, rows.n_classes) == pytest.approx(
            best, abs=1e-9)
        depths.append(0 if feature[0] < 0 else 1 + (feature[1:] >= 0).any())
        assert _kernels.count_cuts(order, low, high, rows.ranks) == cuts(X).shape[1]
    assert {0, 2} <= set(depths)


def test_equally_good_splits_are_drawn_evenly():
    ranks = np.array([[0, 1, 2, 3, 4]] * 2, np.int32)   # five rows of one class: all cuts are equal
    order = np.array([[0, 1, 2, 3, 4]] * 2, np.int32)
    generator = np.array([99], np.uint64)
    ones, slot = np.ones(5), np.zeros(5, np.int64)
    rows = _kernels.Rows(ranks, slot + 1, ones, ones, slot + 1)
    count = np.zeros((2, 5), int)
    for _ in range(4000):
        _, feature, cut = _kernels.best_split(order, 0, 5, rows, slot, slot + 1, 2, 1, generator,
                                              scratch(2, 2))
        count[feature, cut] += 1
    assert count[:, 4].sum() == 0 and np.all(np.abs(count[:, :4] - 500) < 100)


def test_partition_keeps_every_order():
    for random, rows, order, low, high in instances(100, seed=3):
        feature = random.randint(len(rows.ranks))
        cut = random.randint(-1, rows.ranks.max() + 1)
        before = order.copy()
        middle = _kernels._partition(order, low, high, rows.ranks, feature, cut,
                                     np.empty(rows.n_rows, bool), np.empty(rows.n_rows, np.int32))
        goes_left = rows.ranks[feature] <= cut
        for line, old in zip(order, before, strict=True):
            segment = old[low:high]
            assert line[low:middle].tolist() == segment[goes_left[segment]].tolist()
            assert line[middle:high].tolist() == segment[~goes_left[segment]].tolist()
            assert line[high:].tolist() == old[high:].tolist()


def run(rows, start, *, max_depth, min_leaf=1, patience=5, seed=1, budget=None, check=None,
        depth_two=False):
    """Run one search to its end, in slices of ``budget``, and return it."""
    search = _Search(rows, max_depth, min_leaf, patience, depth_two)
    search.begin(start, seed)
    while not search.finished:
        if budget is None:
            search.step(4_000_000)
        else:
            _kernels.search(budget, *search.fixed, search.nodes, search.unused, search.kept,
                            search.kept_unused, search.state, search.correct, search.random,
                            *search.scratch)
        if check:
            check(search)
    return search


def test_a_search_ends_when_one_kick_more_than_its_patience_brings_nothing():
    ended = 0
    for random, rows, *_ in instances(30, seed=9):
        merged, patience, improved = rows.merged(), random.randint(4), [(0, -1.0)]

        def check(search, improved=improved):
            best = search.correct[_kernels.BEST]
            if best > improved[-1][1] + 1e-9:                # that tree has been kicked by now
                improved.append((search.state[_kernels.KICKS], best))

        search = run(merged, ONE_LEAF, max_depth=2, patience=patience, budget=1, check=check)
        if search.correct[_kernels.BEST] < merged.attainable - 1e-9:
            ended += 1
            assert search.state[_kernels.KICKS] == improved[-1][0] + patience
    assert ended > 5


def test_what_trees_of_depth_two_reach_is_kept_for_the_right_rows():
    found = 0
    for _, rows, *_ in instances(60, seed=13):
        rows = rows.merged()
        if rows.n_rows > 9:
            continue
        known = run(rows, ONE_LEAF, max_depth=3, depth_two=True).scratch[1].known
        for chosen in product([False, True], repeat=rows.n_rows):
            key = known.word[list(chosen)].sum()
            at = int(key) % len(known.key)
            if any(chosen) and known.key[at] == key:
                found += 1
                weight = rows.weights[list(chosen)]
                least = best_tree_cost(cuts(rows.ranks.T[list(chosen)]),
                                       rows.labels[list(chosen)], weight, rows.n_classes, 2)
                assert known.correct[at] == pytest.approx(weight.sum() - least, abs=1e-9)
    assert found > 50


def lines_in_use(nodes):
    """The lines that the tree at line 0 uses, in preorder; each must be used once."""
    used, stack = [], [0]
    while stack:
        line = stack.pop()
        used.append(line)
        assert nodes[line, 0] != _kernels.UNUSED
        if nodes[line, 0] >= 0:
            stack += nodes[line, 2:].tolist()
    assert len(set(used)) == len(used)
    return used


def test_every_line_is_either_in_the_tree_or_unused():
    def check(search):
        for nodes, unused in ((search.nodes, search.unused), (search.kept, search.kept_unused)):
            if nodes is search.kept and search.correct[_kernels.BEST] < 0:
                continue
            free = unused[1:unused[0] + 1].tolist()
            assert sorted(lines_in_use(nodes) + free) == list(range(len(nodes)))

    for random, rows, _, low, high in instances(25, seed=4):
        run(rows.merged(), ONE_LEAF, max_depth=random.randint(1, 9), min_leaf=random.randint(1, 4),
            budget=1, check=check, depth_two=random.rand() < 0.5)
        assert low < high


def test_reported_weight_and_leaf_sizes_are_those_of_the_tree():
    for random, rows, *_ in instances(150, seed=5):
        merged = rows.merged()
        depth, min_leaf = random.randint(1, 6), random.randint(1, 4)
        start = cart_nodes(rows, random, max_depth=depth, min_samples_leaf=min_leaf)
        search = run(merged, start, max_depth=depth, min_leaf=min_leaf,
                     depth_two=random.rand() < 0.5)
        tree = merged.tree(search.kept)
        leaf = tree.feature < 0
        assert tree.depth <= depth
        assert search.correct[_kernels.BEST] == pytest.approx(tree.value[leaf].max(axis=1).sum())
        X = np.array([v[r] for v, r in zip(rows.values, rows.ranks, strict=True)]).T
        held = np.bincount(tree.apply(X), rows.members, tree.n_nodes)
        assert held[leaf].min() >= min(min_leaf, rows.members.sum())
        assert search.correct[_kernels.BEST] <= merged.attainable + 1e-9


def test_slices_do_not_change_the_result():
    for random, rows, *_ in instances(30, seed=6):
        depth = random.randint(1, 5)
        whole = run(rows.merged(), ONE_LEAF, max_depth=depth)
        slices = run(rows.merged(), ONE_LEAF, max_depth=depth, budget=1)
        assert np.array_equal(whole.kept, slices.kept)
        assert np.array_equal(whole.state, slices.state)


def test_the_result_cannot_be_improved_by_one_split():
    for random, rows, *_ in instances(60, seed=7):
        merged = rows.merged()
        search = run(merged, ONE_LEAF, max_depth=random.randint(1, 4),
                     depth_two=random.rand() < 0.5)
        X = np.array([v[r] for v, r in zip(merged.values, merged.ranks, strict=True)]).T
        tree = merged.tree(search.kept)
        for neighbour in reference.coordinate_steps(tree, X):
            slot = neighbour.apply(X)
            value = reference.correct_weight(merged.labels, merged.weights, slot, rows.n_classes)
            assert value <= search.correct[_kernels.BEST] + 1e-9


def test_merging_keeps_weights_and_ignores_order_and_repetition():
    random = np.random.RandomState(8)
    for _ in range(50):
        X, y, weight = reference.random_rows(random, 20, 2, 3, 3, "integers")
        times = weight.astype(int)
        shuffled = random.permutation(20)
        one = RankedRows(X, y, 3, weight).merged()
        for other in (RankedRows(X[shuffled], y[shuffled], 3, weight[shuffled]).merged(),
                      RankedRows(X.repeat(times, 0), y.repeat(times), 3).merged()):
            for name in ("ranks", "labels", "weights"):
                assert np.array_equal(getattr(one, name), getattr(other, name))
        assert one.members.sum() == 20
        assert one.forced == weight.sum() - one.attainable
        points = np.unique(X, axis=0, return_inverse=True)[1]
        assert one.attainable == reference.correct_weight(y, weight, points.ravel(), 3)


def test_ties_of_a_stump_are_drawn():
    """Two equal features, and two equal cuts of each: every one of the four is taken."""
    X = np.array([[0, 0], [1, 1], [2, 2]])
    rows = RankedRows(X, np.array([0, 1, 0]), 2)
    order = np.argsort(rows.ranks, axis=1, kind="stable").astype(np.int32)
    generator = np.array([5], np.uint64)
    found = {_kernels.best_stump(order, 0, 3, table(rows), 1, errors_first, generator,
                                 np.array([2.0, 1.0]), 3, np.zeros(2), np.zeros(2))
             for errors_first in (False, True) for _ in range(50)}
    assert found == {(feature, cut) for feature in (0, 1) for cut in (0, 1)}
