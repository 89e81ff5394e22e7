"""Every public estimator in a form that fits quickly, and rows to fit it to."""

from __future__ import annotations

import numpy as np

import odtbook.formulations as formulations
import odtlib
from odtbook.estimators import class_of
from odtlib.column_generation import ThresholdSampling
from odtlib.constrained import sets


class OneLevel:
    """Mixin of the smallest estimators that tests define: the parameters that all have."""

    def __init__(self, max_depth=1, *, time_limit=None, random_state=None, verbose=0):
        self.max_depth = max_depth
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose


QUICK = {
    "CARTClassifier": {"random_state": 0},
    "TunedCARTClassifier": {"cv": 2, "random_state": 0},
    "LocalSearchTreeClassifier": {"max_restarts": 2, "random_state": 0},
    "MurTreeClassifier": {"binarizer": "all"},
    "MurTreeRegressor": {"binarizer": "all"},
    "ContinuousTreeClassifier": {},
    "ContinuousTreeRegressor": {},
    "ColumnGenerationClassifier": {"sampling": ThresholdSampling(n_trees=5), "random_state": 0},
    "RestrictedTreeClassifier": {"sampling": ThresholdSampling(n_trees=5)},
    "ConstrainedTreeRegressor": {"constraints": sets.Box(0.0, 9.0), "random_state": 0},
    "ConstrainedTreeClassifier": {},
    "ConstrainedForestRegressor": {"constraints": sets.Box(0.0, 9.0), "n_estimators": 2,
                                   "random_state": 0},
    "ProjectedRegressor": {"constraints": sets.Box(0.0, 9.0)},
    "OptimalConstrainedTreeRegressor": {"constraints": sets.Box(0.0, 9.0)},
    "OCTClassifier": {"random_state": 0},
    "FlowOCTClassifier": {"binarizer": "all", "random_state": 0},
    "BinOCTClassifier": {"random_state": 0},
}
PUBLIC = [name for name in (*odtlib.__all__, *formulations.__all__)
          if name.endswith(("Classifier", "Regressor"))]
CLASSIFIERS = [name for name in PUBLIC if name.endswith("Classifier")]


def made(name, **options):
    """Return a public estimator of depth two, or of other options."""
    kind = class_of(name)
    small = {"max_depth": 2} if "max_depth" in kind._get_param_names() else {}
    return kind(**{**small, **QUICK[name], **options})


def in_small_slices(patch):
    """Let slices be as short as they can be, and stay so."""
    patch.setattr("odtlib.fit.FIRST_SLICE", 1)
    patch.setattr("odtlib.fit.LONGEST_SLICE", 1e-9)


def on_a_slow_computer(patch):
    """Let slices be as short as they can be, and clocks run ten thousand times as fast."""
    in_small_slices(patch)
    elapsed = odtlib.report.Clock.elapsed.fget
    patch.setattr(odtlib.report.Clock, "elapsed", property(lambda clock: 1e4 * elapsed(clock)))


def rows(name):
    """Return rows, fewer for integer programs, and labels or targets."""
    random, n_rows = np.random.default_rng(5), 10 if name in formulations.__all__ else 24
    X = random.integers(0, 4, (n_rows, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] > 3).astype(int) ^ (random.random(n_rows) < 0.2)
    return X, np.where(y, "yes", "no") if name.endswith("Classifier") else y + 1.0

# What scikit-learn's checks expect and an estimator does not do on purpose, and why.
_TINY = {"check_class_weight_classifiers":
         "the check wants classes of next to no weight given up; a tree with the least weight of "
         "errors has leaves for them too, wherever that costs nothing"}
_BITS = {"check_sample_weight_equivalence_on_sparse_data":
         "the check gives numbers; the columns of a sparse table are zeros and ones"}
EXPECTED_FAILURES = {
    **{name: _TINY for name in CLASSIFIERS if "CART" not in name},
    **{name: {**_TINY, **_BITS} for name in ("MurTreeClassifier", "FlowOCTClassifier")},
    "MurTreeRegressor": _BITS,
    "ConstrainedForestRegressor": {"check_sample_weight_equivalence_on_dense_data":
                                   "a bootstrap draws rows and not weights"},
}
