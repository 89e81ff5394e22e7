"""A public feature is taught on a page, or it is gone."""

import importlib
import inspect
import re

import pytest
from pages import ROOT, cells_of
from sklearn.base import BaseEstimator

import odtlib
from odtbook.estimators import NAMES, class_of

MODULES = ["odtlib", "odtlib.binarize", "odtlib.column_generation", "odtlib.constrained",
           "odtlib.constrained.sets", "odtlib.continuous", "odtlib.heuristics", "odtlib.murtree",
           "odtlib.plotting", "odtlib.policy", "odtbook.datasets", "odtbook.experiments",
           "odtbook.figures", "odtbook.formulations", "odtbook.interactive", "odtbook.published",
           "odtbook.referee",
           "odtbook.verdicts"]
# What scikit-learn's own pages teach, and what it asks every estimator to have.
SCIKIT_LEARN = {"ccp_alpha", "criterion", "min_impurity_decrease", "min_weight_fraction_leaf",
                "splitter", "feature_importances_", "n_classes_", "n_outputs_",
                "predict_log_proba", "set_fit_request", "set_score_request"}


def words_of_the_pages():
    """All words of the lessons; the page that lists every name does not count."""
    texts = []
    for path in [*(ROOT / "chapters").rglob("*.ipynb"), *ROOT.glob("intro.*")]:
        texts += [cell.source for cell in cells_of(path)] if path.suffix == ".ipynb" else [
            path.read_text(encoding="utf-8")]
    texts += [path.read_text(encoding="utf-8") for path in (ROOT / "chapters").rglob("*.md")
              if path.name != "api.md" and path.parent.name != "api"]
    return set(re.findall(r"\w+", "\n".join(texts)))


WORDS = words_of_the_pages()


@pytest.mark.parametrize("home", MODULES)
def test_every_public_name_is_on_a_page(home):
    missing = {name for name in importlib.import_module(home).__all__
               if name != "__version__" and name not in WORDS}
    assert not missing, f"{home}: no page has {sorted(missing)}"


@pytest.mark.parametrize("name", sorted({*NAMES, "DecisionTree", "SolveReport"}))
def test_every_parameter_and_member_is_on_a_page(name):
    kind = getattr(odtlib, name) if hasattr(odtlib, name) else class_of(name)
    names = {member for member in dir(kind)
             if not member.startswith("_") and not hasattr(BaseEstimator, member)}
    if name in NAMES:
        names |= set(inspect.signature(kind).parameters)
    missing = names - WORDS - SCIKIT_LEARN
    assert not missing, f"{name}: no page has {sorted(missing)}"
