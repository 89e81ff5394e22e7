"""Sparse rows of zeros and ones: the same trees as from dense rows."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from odtbook.formulations import FlowOCTClassifier
from odtlib import (
    CARTClassifier,
    ContinuousTreeClassifier,
    DecisionTree,
    MurTreeClassifier,
    MurTreeRegressor,
    TunedCARTClassifier,
)

FORMATS = ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array", "lil_array"]


def bits(seed, n_rows=80, n_columns=7):
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_columns)) < 0.3).astype(float)
    return X, (X[:, 0] + X[:, 3] + X[:, 5] > 1).astype(int) ^ (rng.random(n_rows) < 0.1)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("model", [
    MurTreeClassifier(3), MurTreeClassifier(2, objective="f1"), MurTreeRegressor(2),
    MurTreeRegressor(2, loss="absolute_error"), FlowOCTClassifier(2, random_state=0),
    CARTClassifier(3, random_state=0), TunedCARTClassifier(3, cv=3, random_state=0)],
    ids=lambda model: type(model).__name__)
def test_a_sparse_table_gives_the_tree_of_the_dense_one(model, kind):
    X, y = bits(1, 20 if isinstance(model, FlowOCTClassifier) else 80)
    rows = getattr(sparse, kind)(X)
    expected = model.fit(X, y)
    tree, objective = expected.tree_, expected.report_.objective
    answers = [getattr(expected, name)(X) for name in ("predict", "apply")]
    path = expected.decision_path(X).toarray()
    model.fit(rows, y)
    assert model.tree_ == tree
    assert model.report_.objective == objective == model.verify(rows, y) == model.verify(X, y)
    for name, answer in zip(("predict", "apply"), answers):
        assert np.array_equal(getattr(model, name)(rows), answer)
    assert np.array_equal(model.decision_path(rows).toarray(), path)
    assert model.report_.verify(rows, y) == objective
    assert np.array_equal(model.tree_.predict(rows), answers[0])


@pytest.mark.parametrize("seed", range(10))
def test_other_questions_take_sparse_rows(seed):
    X, y = bits(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
    model = MurTreeClassifier(2)
    paths = [model.path(rows, y, weight) for rows in (X, sparse.csr_matrix(X))]
    assert [entry[:3] for entry in paths[0]] == [entry[:3] for entry in paths[1]]
    counts = [len(model.good_trees(rows, y, tolerance=3)) for rows in (X, sparse.csc_array(X))]
    assert counts[0] == counts[1] >= 1


def test_sparse_rows_may_hold_an_entry_in_two_parts_or_a_zero():
    rows = sparse.csr_matrix((np.array([0.5, 0.5, 1, 0]), [0, 0, 1, 1], [0, 2, 3, 4]), shape=(3, 2))
    assert not rows.has_canonical_format
    model = MurTreeClassifier(1).fit(rows, [1, 0, 0])
    assert model.report_.objective == 0
    assert rows.nnz == 4                        # the rows given are as they were
    assert model.predict(rows).tolist() == [1, 0, 0]


@pytest.mark.parametrize("value", [2.0, -1.0, 0.5, np.nan, np.inf])
def test_other_values_are_refused_in_one_sentence(value):
    X, y = bits(0)
    X[3, 4] = value
    with pytest.raises(ValueError, match=r"holds values other than 0 and 1; give X\.toarray\(\)"):
        MurTreeClassifier(2).fit(sparse.csc_array(X), y)
    with pytest.raises(ValueError, match="features"):
        MurTreeClassifier(2).fit(bits(0)[0], y).predict(sparse.csr_array(X[:, :5] == 1))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MurTreeClassifier(2).fit(sparse.csr_array(bits(0)[0]), y[1:])
    with pytest.raises(TypeError, match="[Ss]parse data was passed"):
        ContinuousTreeClassifier(2).fit(sparse.csr_array(X), y)


def test_a_column_transformer_of_categories_needs_no_option():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({name: rng.choice([f"{name}{i}" for i in range(9)], 200)
                          for name in "ab"})
    y = frame["a"].isin(["a1", "a4"]) | (frame["b"] == "b0")
    encoder = make_column_transformer((OneHotEncoder(), ["a", "b"]))
    assert sparse.issparse(encoder.fit_transform(frame))
    model = make_pipeline(encoder, MurTreeClassifier(3)).fit(frame, y)
    assert model.score(frame, y) == 1.0


def test_a_tree_reads_only_the_columns_that_it_tests():
    wide = sparse.random(2000, 20_000, 0.001, format="csr", random_state=0)
    wide.data[:] = 1
    tree = DecisionTree.from_nested((19_000, 0.5, (7, 0.5, 0, 1), 2), n_features=20_000)
    wide = (wide + sparse.csr_matrix((np.ones(50), (np.arange(50), np.full(50, 7))),
                                     shape=wide.shape)).minimum(1.0)
    tracemalloc.start()
    leaf = tree.apply(wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6                           # all columns would be 320 MB
    assert np.array_equal(leaf, tree.apply(wide.toarray()))
    assert np.array_equal(leaf, tree.apply(wide.toarray().astype(np.uint8)))


@pytest.mark.parametrize("kind", [MurTreeClassifier, ContinuousTreeClassifier, CARTClassifier])
def test_a_frame_of_sparse_columns_is_one_of_their_values(kind):
    rng = np.random.default_rng(0)
    words = pd.DataFrame({"c": rng.choice(list("abc"), 40), "sparse": rng.choice(["x", "y"], 40)})
    X, y = pd.get_dummies(words), rng.integers(0, 2, 40)
    dense = kind(2).fit(X, y)
    for frame in (pd.get_dummies(words, sparse=True), X.astype(pd.SparseDtype(float)),
                  X.astype(pd.SparseDtype(float, 0.0)), X.astype({"c_a": pd.SparseDtype(bool)})):
        model = kind(2).fit(frame, y)
        assert model.report_.objective == dense.report_.objective
        assert np.array_equal(model.predict(frame), dense.predict(X))
        assert np.array_equal(model.tree_.predict(frame), dense.predict(X))
        assert model.verify(frame, y) == dense.report_.objective
