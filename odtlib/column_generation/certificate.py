"""The certificate of a best tree over candidate splits: their lists and the claim, no lines."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from odtlib.certificate import (
    MOST_STEPS,
    CertifiedMixin,
    OptimalityCertificate,
    fingerprint,
    words,
)
from odtlib.tolerance import PROOF

VERSION = 1
PAIRS_OF_A_STEP, NODES_OF_A_STEP = 256, 16      # of the checker
LARGEST = 2.0**50       # sums of whole weights below are exact


class CertifiedCandidates(CertifiedMixin):
    """The certificate of an estimator over candidate splits, which a checker proves by itself."""

    _certified_options = (
        *CertifiedMixin._certified_options,
        ("distinct_splits", False, "fit without"),
        ("limits", None, "fit without"),
    )

    def _write_certificate(self, X, y, weight, fitted=None):
        problem, bound = getattr(self, "problem_", None), self.report_.lower_bound
        splits = [] if problem is None else problem.splits
        n_nodes, budget = len(splits), None
        if problem is not None:
            budget = None if problem.max_leaves is None else problem.max_leaves - 1
        weight = np.ones(len(y)) if weight is None else weight
        data = SimpleNamespace(X=X, weight=weight, penalty=float(self.split_penalty),
                               least=int(self.min_samples_leaf), sums=False, objective=None)
        # No tree pays for a split that costs more than all rows.
        amounts = np.append(weight, min(data.penalty, float(weight.sum())))
        if np.any(amounts % 1) or amounts.sum() > LARGEST:
            bound = max(0.0, bound - PROOF * amounts.sum())
        lists = [(node, *split) for node, candidates in enumerate(splits) for split in candidates]
        lists = np.array(lists, float).reshape(-1, 3)
        steps = steps_of([len(candidates) for candidates in splits], budget)
        if steps > MOST_STEPS * lists.nbytes:
            raise ValueError(f"certificate is checked by trying all paths, and there are "
                             f"{problem.n_paths:.2g}; lower max_depth or give fewer splits.")
        depth = (n_nodes + 1).bit_length() - 1
        claim = words(data, depth, budget, bound, f"the {len(lists)} candidates of its nodes")
        return OptimalityCertificate({
            "claim": np.array(claim),
            "fingerprint": fingerprint(X, np.unique(y, return_inverse=True)[1], weight),
            "limits": np.array([VERSION, depth, n_nodes if budget is None else budget,
                                data.least]),
            "units": np.array([bound, data.penalty]),
            "lists": lists,
        }, bound, steps)


def steps_of(sizes, budget):
    """Return how many steps the checker takes at the most, by the number of candidates of nodes."""
    reached, steps, last = [1] * len(sizes), 0, (len(sizes) + 1) // 2 - 1
    numbers = (0 if budget is None else min(budget, len(sizes)) + 1) // NODES_OF_A_STEP
    for node, size in enumerate(sizes[:max(1, last)]):      # not the nodes above leaves
        below = [child for child in (2 * node + 1, 2 * node + 2) if child < len(sizes)]
        for child in below:
            reached[child] = reached[node] * size
        pairs = size * max((sizes[child] for child in below), default=0)
        steps += reached[node] * (1 + numbers + pairs // PAIRS_OF_A_STEP)
    return steps
