"""The options of the search, in one object: which techniques of the paper are switched on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from odtlib._validation import SearchOptions

# What needs a search of the whole depth, which ``lookahead`` does without.
WHOLE_DEPTH = ("deepening", "discrepancy_search", "minimise_nodes")
# What a tree may test.
SPLIT_RULES = ("first_features", "not_first_features", "interaction_cst")


def limits_splits(search):
    """Tell whether the options of a search allow some trees only."""
    return any(getattr(search, name, None) is not None for name in SPLIT_RULES)


@dataclass(repr=False)
class MurTreeSearch(SearchOptions):
    """Choose the techniques of the search of MurTree, and the splits that a tree may have.

    Of the techniques only ``lookahead`` gives up the optimum.

    The default is what is fastest on most data.  Options can be tuned as those of an estimator:
    ``GridSearchCV(MurTreeClassifier(search=MurTreeSearch()), {"search__lookahead": [2, 3]})``.

    Parameters
    ----------
    cache : {"dataset", "branch", "closure"} or None, default="dataset"
        What identifies a solved subproblem (Section 4.5): its rows, the tests on the path to it, or
        all tests that its rows share.  "branch" recognises fewer equal subproblems; "closure" costs
        more time per subproblem, never merges columns, and works on counts only: with weights they
        have to be whole numbers of about the number of rows in all, for ``min_samples_leaf=1``, or
        one for each class of rows that mostly differ.  Without a cache equal subproblems are solved
        again.
    similarity_bound : bool or "siblings", default=True
        Whether subproblems are bounded by similar ones (Proposition 9).  "siblings" compares with
        the children of other splits of the same node only.  True also bounds node ``(i, j)`` by
        ``(j, i)`` exactly and by ``(k, j)`` minus the rows that only ``(k, j)`` contains.  Not used
        where ``min_samples_leaf`` is above 1, as the bound does not hold there.
    n_exact_children : int, default=2
        For this many first splits of a node the larger child is solved to its optimum, where a
        bound just above the incumbent would do: its similarity bound then closes more of the other
        splits.  No effect without the similarity bound.
    refined_bound : bool, default=True
        Whether a failed search stores the refined bound of Eq. 17, or only that of DL8.5.
    incremental_counts : bool, default=True
        Whether the larger child of a split is counted by subtraction; with False both children are
        counted from scratch.
    specialised_depth_two : bool, default=True
        Whether trees of depth two are solved on pairwise counts (Section 4.3).  With False the
        general search goes down to depth one: many times slower.
    feature_order : {"depth-two", "in-order", "gini", "random"}, default="depth-two"
        Which split is tried first: the one with the best depth-two tree, the first column, the one
        of least Gini impurity, or a random one.
    child_order : {"dynamic", "post-order", "gap"}, default="dynamic"
        Which child is solved first: the one with more errors as a leaf, child 0, or the one with
        the larger gap between leaf and bound (Section 4.6).
    merge_rows : bool, default=True
        Whether equal rows that show every class are cancelled against each other beforehand.
    merge_columns : bool, default=True
        Whether, at every node, only one of several columns with the same split of its rows is used.
    deepening : bool, default=False
        Whether the best trees of smaller depth are found first (Section 4.8.5), with the same cache
        (Section 4.5.5): a deep search that is cut short then has a good tree earlier, at the cost
        of somewhat more time in all.
    discrepancy_search : bool, optional
        Whether a limited discrepancy search comes first: trees that depart from the most promising
        split 0, 1, 2 ... times above depth three.  It needs the full node budget and takes at most
        half of the time limit.  None, the default, takes turns where there is a time limit: the
        search has a small part of it, then looking ahead (see ``lookahead``), the search again,
        limited discrepancy, and the search for the rest.  Three quarters of the time are the
        search's where a prediction says that it may end, and about a quarter where it will not.
        Then costs and balanced accuracy, as F1 in any case, begin with trees of few errors.
        Under a node budget it searches the small depths within the budget, looks ahead to depths
        two and three, cuts these trees back, and goes on.
    minimise_nodes : bool, default=False
        Whether, among the trees of least cost, one with the fewest feature nodes is returned
        (Algorithm 7), by a second search in the filled cache.  The ``proof`` of the report says
        that they are the fewest; it does not where a time limit ended the second search.
    lookahead : int, optional
        Depth of the optimal trees whose first splits make up a deeper tree; None for an optimal
        tree of ``max_depth``.  From the root down, each node takes the root split of the best tree
        of depth ``lookahead`` for its rows (of least Gini impurity where a leaf is the best such
        tree), and subtrees of that depth at the bottom are optimal: a receding horizon, with
        optimal trees where Babbar et al. (2025) look ahead to greedy ones.  The tree costs no more
        than the best of depth ``lookahead``; the status is "heuristic" unless the lower bound,
        which holds for ``max_depth``, shows that no tree costs less.  At least 2: with 3 or 4
        depths of 6 to 10 take seconds, and each further level multiplies the time by about the
        number of columns.  No effect where it is ``max_depth`` or more; ``max_nodes`` and
        ``max_leaf_nodes`` must leave the full node budget.
    first_features : sequence of names or numbers, optional
        Features of which one is tested in the root, if the tree is no single leaf (default: all).
    not_first_features : sequence of names or numbers, optional
        Features that the root does not test (default: none).
    interaction_cst : {"pairwise", "no_interactions"} or list of sequences, optional
        Which features may stand on one path from the root to a leaf, as in scikit-learn's
        ``HistGradientBoostingClassifier``: each path tests the features of one of the sets, which
        are given by names or numbers; features that are in none of them are a further set.
        "no_interactions" allows one feature on each path, and "pairwise" two (default: all).  With
        any of these three the tree is optimal among those that are allowed.  Disjoint sets
        took two to five times as long as no sets on four data sets; where sets share features, it
        depends on how much the rule costs.
    memory_limit : float, optional
        Memory limit in megabytes; None for no limit.  It limits the cache of solved subproblems;
        the result stays exact.  Not limited are the data and the arrays of the search, whose size
        grows with the square of the number of columns and with ``max_depth``.

    Raises
    ------
    ValueError
        If an option has a value that does not exist.

    Examples
    --------
    >>> from odtlib import MurTreeClassifier, MurTreeSearch
    >>> model = MurTreeClassifier(max_depth=3, search=MurTreeSearch(minimise_nodes=True))
    """

    _parameter_constraints = {
        "cache": [StrOptions({"dataset", "branch", "closure"}), None],
        "similarity_bound": ["boolean", StrOptions({"siblings"})],
        "n_exact_children": [Interval(Integral, 0, None, closed="left")],
        "feature_order": [StrOptions({"depth-two", "in-order", "gini", "random"})],
        "child_order": [StrOptions({"dynamic", "post-order", "gap"})],
        "discrepancy_search": ["boolean", None],
        "lookahead": [Interval(Integral, 2, None, closed="left"), None],
        "first_features": ["array-like", None], "not_first_features": ["array-like", None],
        "interaction_cst": [StrOptions({"pairwise", "no_interactions"}), list, tuple, None],
        "memory_limit": [Interval(Real, 0, np.inf, closed="right"), None],
        **dict.fromkeys(("refined_bound", "incremental_counts", "specialised_depth_two",
                         "merge_rows", "merge_columns", "deepening", "minimise_nodes"),
                        ["boolean"])}

    cache: str | None = "dataset"
    similarity_bound: bool | str = True
    n_exact_children: int = 2
    refined_bound: bool = True
    incremental_counts: bool = True
    specialised_depth_two: bool = True
    feature_order: str = "depth-two"
    child_order: str = "dynamic"
    merge_rows: bool = True
    merge_columns: bool = True
    deepening: bool = False
    discrepancy_search: bool | None = None
    minimise_nodes: bool = False
    lookahead: int | None = None
    first_features: Sequence[str | int] | None = None
    not_first_features: Sequence[str | int] | None = None
    interaction_cst: str | Sequence[Sequence[str | int]] | None = None
    memory_limit: float | None = None

    def __post_init__(self):
        super().__post_init__()
        for name in WHOLE_DEPTH:
            if self.lookahead is not None and getattr(self, name):
                raise ValueError(f"MurTreeSearch has lookahead={self.lookahead} and {name}=True; "
                                 "choose one of them.")
        for name in ("lookahead", *WHOLE_DEPTH, "cache"):
            value = getattr(self, name)
            if limits_splits(self) and value not in (None, False, "dataset"):
                raise ValueError(f"MurTreeSearch has {name}={value!r} and limits the splits; leave "
                                 f"{name} at its default.")


DEFAULT = MurTreeSearch()       # what None stands for


def memory_limit_alone(model, what, refused=("start", "search", "n_jobs")):
    """Return the memory limit of a model; refuse other parameters, which have no meaning here."""
    search = model.search
    of_memory = search == MurTreeSearch(memory_limit=getattr(search, "memory_limit", None))
    for name in refused:
        if np.any(getattr(model, name)) and not (name == "search" and of_memory):
            raise ValueError(f"{what} cannot be combined with {name}; leave {name} at its default.")
    return search.memory_limit if of_memory else None


def check_counts(what, classes, weight, most):
    """Refuse other than two classes, and weights that are not whole or sum up to ``most``."""
    if len(classes) != 2:
        raise ValueError(f"{what} needs two classes and y has {len(classes)}; merge classes, or "
                         "leave it out.")
    if (weight % 1).any():
        raise ValueError(f"{what} needs whole sample weights, as errors are counted; round them or "
                         "multiply them by a constant.")
    if weight.sum() >= most:
        raise ValueError(f"the weights sum to {weight.sum():g}, and {what} is exact for less than "
                         f"{most:.0e}; use fewer rows or smaller weights.")
