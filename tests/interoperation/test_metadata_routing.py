"""Metadata, weights and groups, that scikit-learn's searches and pipelines hand on."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from odtlib import MurTreeClassifier


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_a_pipeline_hands_on_weights_and_groups(routing, rows):
    y = (rows[:, 0] > 0.3).astype(int)
    y[::7] ^= 1
    weight = np.random.default_rng(0).integers(1, 4, len(rows)).astype(float)
    protected = rows[:, 3] > 0
    model = MurTreeClassifier(max_depth=2, binarizer="all", max_disparity=0.05)
    model.set_fit_request(sample_weight=True, protected=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    routed = make_pipeline(scaler, model).fit(rows, y, sample_weight=weight, protected=protected)
    scaled = StandardScaler().fit_transform(rows)
    alone = MurTreeClassifier(max_depth=2, binarizer="all", max_disparity=0.05)
    alone.fit(scaled, y, sample_weight=weight, protected=protected)
    assert routed[-1].report_.objective == alone.report_.objective
    predicted = routed.predict(rows)
    rates = [np.average(predicted[protected == side], weights=weight[protected == side])
             for side in (False, True)]
    assert abs(rates[0] - rates[1]) <= 0.05 + 1e-9


def test_a_search_cuts_weights_and_groups_with_the_rows(routing, rows):
    y = (rows[:, 1] > 0).astype(int)
    weight = 1.0 + np.arange(len(rows)) % 3
    model = MurTreeClassifier(max_depth=1, binarizer="all", max_disparity=1.0)
    model.set_fit_request(sample_weight=True, protected=True)
    model.set_score_request(sample_weight=True)
    metadata = {"sample_weight": weight, "protected": rows[:, 3] > 0}
    found = cross_validate(model, rows, y, cv=3, params=metadata, error_score="raise")
    assert found["test_score"].min() > 0.9
    search = GridSearchCV(model, {"max_depth": [0, 1]}, cv=3, error_score="raise")
    assert search.fit(rows, y, **metadata).best_params_ == {"max_depth": 1}


def test_metadata_that_nobody_asked_for_is_refused(routing, rows):
    y = (rows[:, 1] > 0).astype(int)
    from sklearn.exceptions import UnsetMetadataPassedError
    with pytest.raises(UnsetMetadataPassedError, match="protected"):
        cross_validate(MurTreeClassifier(max_depth=1, binarizer="all"), rows, y, cv=3,
                       params={"protected": rows[:, 3] > 0}, error_score="raise")
