"""Slow, obvious references for the heuristics."""

import numpy as np


def random_rows(random, n_rows, n_features, n_values, n_classes, weights="ones"):
    """Draw a small table with ties; duplicates with different labels occur by themselves."""
    X = random.randint(0, n_values, (n_rows, n_features)).astype(float)
    if n_features > 1 and random.rand() < 0.3:
        X[:, random.randint(n_features)] = 1.0   # a constant feature
    y = random.randint(0, n_classes, n_rows)
    y[:n_classes] = np.arange(n_classes)
    weight = {"ones": np.ones(n_rows), "integers": random.randint(1, 6, n_rows).astype(float),
              "floats": random.rand(n_rows) + 0.01}[weights]
    return X, y, weight


def correct_weight(labels, weights, slot, n_classes):
    """Weight of correct rows when every leaf slot predicts its heaviest class."""
    return sum(max(weights[(slot == s) & (labels == c)].sum() for c in range(n_classes))
               for s in np.unique(slot))


def all_splits(ranks, rows, labels, weights, members, left_slot, right_slot, n_classes, min_leaf):
    """Yield (feature, partition as a tuple of bool, weight of correct rows) of each allowed cut."""
    for feature in range(len(ranks)):
        for cut in np.unique(ranks[feature, rows])[:-1]:
            low = ranks[feature, rows] <= cut
            slot = np.where(low, left_slot[rows], right_slot[rows])
            held = np.bincount(slot, members[rows])
            if np.any((held > 0) & (held < min_leaf)):
                continue
            yield feature, tuple(low), correct_weight(labels[rows], weights[rows], slot, n_classes)


def gini_purity(labels, weights, n_classes):
    """Sum of squared class weights over the whole weight: large where a node is pure."""
    sums = np.array([weights[labels == c].sum() for c in range(n_classes)])
    return (sums ** 2).sum() / sums.sum()


def coordinate_steps(tree, X):
    """Yield every tree that differs from ``tree`` in one split, at all midpoints of the data."""
    for node in np.flatnonzero(tree.feature >= 0):
        for feature in range(X.shape[1]):
            values = np.unique(X[:, feature])
            for threshold in (values[1:] + values[:-1]) / 2:
                features, thresholds = tree.feature.copy(), tree.threshold.copy()
                features[node], thresholds[node] = feature, threshold
                yield tree.replace(feature=features, threshold=thresholds)
