"""The certificate of a best tree over candidate splits: their lists and the claim, no lines."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from odtlib.certificate import CertifiedMixin, OptimalityCertificate, fingerprint, words
from odtlib.tolerance import PROOF

VERSION = 1
MOST_PATHS = 2e8        # that the checker tries, in minutes
LARGEST = 2.0**50       # sums of whole weights below are exact


class CertifiedCandidates(CertifiedMixin):
    """The certificate of an estimator over candidate splits, which a checker proves by itself."""

    _certified_options = (
        *CertifiedMixin._certified_options,
        ("distinct_splits", False, "fit without"),
        ("limits", None, "fit without"),
    )

    def _write_certificate(self, X, y, weight):
        problem, bound = getattr(self, "problem_", None), self.report_.lower_bound
        splits = [] if problem is None else problem.splits
        n_nodes, budget = len(splits), None
        if problem is not None:
            if problem.n_paths > MOST_PATHS:
                raise ValueError(f"certificate is checked by trying all paths, and there are "
                                 f"{problem.n_paths:.2g}; lower max_depth or give fewer splits.")
            budget = None if problem.max_leaves is None else problem.max_leaves - 1
        weight = np.ones(len(y)) if weight is None else weight
        data = SimpleNamespace(X=X, weight=weight, penalty=float(self.split_penalty),
                               least=int(self.min_samples_leaf), sums=False)
        amounts = np.append(weight, data.penalty)
        if np.any(amounts % 1) or amounts.sum() > LARGEST:
            bound = max(0.0, bound - PROOF * amounts.sum())
        lists = [(node, *split) for node, candidates in enumerate(splits) for split in candidates]
        depth = (n_nodes + 1).bit_length() - 1
        claim = words(data, depth, budget, bound, f"the {len(lists)} candidates of its nodes")
        return OptimalityCertificate({
            "claim": np.array(claim),
            "fingerprint": fingerprint(X, np.unique(y, return_inverse=True)[1], weight),
            "limits": np.array([VERSION, depth, n_nodes if budget is None else budget,
                                data.least]),
            "units": np.array([bound, data.penalty]),
            "lists": np.array(lists, float).reshape(-1, 3),
        }, bound)
