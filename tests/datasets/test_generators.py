"""The generated sets: against slow definitions, and against the files row by row."""

from __future__ import annotations

import numpy as np
import pytest

from odtbook.datasets import constrained_generators, generators, load, tables


def _can_end(board, turn="x"):
    """Whether tic-tac-toe, played from the empty board, can end exactly at ``board``."""
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

    def over(cells):
        return "b" not in cells or any(
            cells[i] == cells[j] == cells[k] != "b" for i, j, k in lines
        )

    def reach(cells, turn):
        if tuple(cells) == tuple(board):
            return over(cells)
        if over(cells):
            return False
        for cell in range(9):
            # only moves that the final board contains
            if cells[cell] == "b" and board[cell] == turn:
                following = [*cells[:cell], turn, *cells[cell + 1 :]]
                if reach(following, "o" if turn == "x" else "x"):
                    return True
        return False

    return reach(["b"] * 9, turn)


def test_tic_tac_toe_boards_are_the_ends_of_games():
    boards = generators.tic_tac_toe_boards()
    assert boards.X.shape == (958, 9)
    assert len({tuple(board) for board in boards.X}) == 958
    rng = np.random.default_rng(0)
    for board in boards.X[rng.choice(958, 100, replace=False)]:
        assert _can_end(board)
    known = {tuple(board) for board in boards.X}
    for board in rng.choice(list("xob"), size=(300, 9)):
        assert _can_end(board) == (tuple(board) in known)
    assert np.bincount(boards.y).tolist() == [332, 626]


def test_both_codings_of_tic_tac_toe_hold_the_same_boards():
    boards, bits = generators.tic_tac_toe_boards(), generators.tic_tac_toe()
    decoded = np.where(bits.X[:, 0::2] == 1, "o", np.where(bits.X[:, 1::2] == 1, "x", "b"))
    assert np.array_equal(decoded, boards.X)
    assert np.array_equal(bits.y, boards.y)


def test_balance_scale_follows_the_law_of_the_lever():
    table = generators.balance_scale()
    assert table.X.shape == (625, 4)
    assert len(np.unique(table.X, axis=0)) == 625
    for (lw, ld, rw, rd), label in zip(table.X, table.y, strict=True):
        assert label == (0 if lw * ld == rw * rd else 1 if rw * rd > lw * ld else 2)


def test_car_has_the_known_classes():
    table = generators.car()
    assert len({tuple(row) for row in table.X}) == 1728
    assert np.bincount(table.y).tolist() == [1210, 384, 69, 65]
    # two seats or low safety are never acceptable
    assert (table.y[(table.X[:, 3] == "2") | (table.X[:, 5] == "low")] == 0).all()


def test_the_papers_car_merges_two_safety_levels():
    original, merged = generators.car(), generators.car_evaluation()
    assert np.array_equal(original.y, merged.y)
    assert len(np.unique(merged.X, axis=0)) == 1152
    assert np.array_equal(merged.X[:, 5], (original.X[:, 5] != "low").astype(float))


@pytest.mark.parametrize("problem, positives", [(1, 216), (2, 142), (3, 228)])
def test_monk_concepts(problem, positives):
    table = generators.monk(problem)
    assert table.X.shape == (432, 6)
    assert len(np.unique(table.X, axis=0)) == 432
    assert table.y.sum() == positives
    for row, label in zip(table.X.astype(int).tolist(), table.y, strict=True):
        a1, a2, _, a4, a5, _ = row
        expected = {
            1: a1 == a2 or a5 == 1,
            2: row.count(1) == 2,
            3: (a5 == 3 and a4 == 1) or (a5 != 4 and a2 != 3),
        }[problem]
        assert label == expected


@pytest.mark.parametrize("problem, contradictions", [(1, 0), (2, 0), (3, 6)])
def test_monk_training_rows_lie_in_the_domain(shipped_files, problem, contradictions):
    rows = tables.numeric_csv(shipped_files / f"cg_splits/monk{problem}.csv.gz")
    full = generators.monk(problem)
    label = {tuple(x): y for x, y in zip(full.X, full.y, strict=True)}
    wrong = sum(label[tuple(x)] != y for x, y in zip(rows.X, rows.y, strict=True))
    assert wrong == contradictions


@pytest.mark.parametrize(
    "name, file",
    [
        ("balance-scale", "balance-scale"),
        ("tic-tac-toe", "tic-tac-toe"),
        ("car_evaluation", "car_evaluation"),
        ("iris_uci", "iris"),
    ],
)
def test_generated_tables_equal_the_files_row_by_row(shipped_files, name, file):
    stored = tables.numeric_csv(shipped_files / f"cg_splits/{file}.csv.gz")
    made = load(name, rounded=False)
    assert np.array_equal(made.X, stored.X)
    assert np.array_equal(made.y, stored.y)
    assert made.feature_names == stored.feature_names


def test_wine_equals_the_file_but_for_the_numbers_of_the_classes(shipped_files):
    stored = tables.numeric_csv(shipped_files / "cg_splits/wine.csv.gz")
    wine = load("wine", rounded=False)
    assert np.array_equal(wine.X, stored.X)
    assert np.array_equal(wine.y + 1, stored.y)


def test_car_equals_the_original_file(shipped_files):
    header, *rows = tables.read_rows(shipped_files / "uci/car_raw.csv.gz")
    car = load("car")
    assert list(car.X.columns) == header[:6]
    assert car.X.to_numpy().tolist() == [row[:6] for row in rows]
    assert [car.target_names[label] for label in car.y] == [row[6] for row in rows]


def test_iris_variants_differ_in_two_rows():
    fisher, uci = load("iris"), load("iris_uci")
    different = np.flatnonzero((fisher.X != uci.X).any(axis=1))
    assert different.tolist() == [34, 37]
    assert uci.X[34].tolist() == uci.X[37].tolist() == [4.9, 3.1, 1.5, 0.1]
    assert np.array_equal(fisher.y, uci.y)


def checksum(table):
    """Two numbers to which each entry of X and of y contributes by a weight of its own."""
    sums = []
    for values in (table.X, table.y):
        if values.dtype.kind not in "fiu":       # words, by their place in the alphabet
            values = np.unique(values, return_inverse=True)[1].reshape(values.shape)
        weights = np.outer(np.cos(np.arange(len(values))), 1 + np.arange(values.shape[1]))
        sums.append(float((values * weights).sum()))
    return sums


@pytest.mark.parametrize(("name", "features", "targets", "sums"), [
    ("grades", 6, 5, [-2124.954607260746, -1709.4237137096648]),
    ("allocation", 6, 13, [23.964049552639445, 461.30818779648257]),
    ("manifold", 6, 5, [23.964049552639445, -58.991487359895146]),
    ("scores_stand_in", 5, 3, [832.954591125649, 2888.2674280514057]),
    ("cars_stand_in", 13, 2, [-4038602.5656912243, -143130.57141123447]),
    ("hts_stand_in", 6, 13, [23.964049552639445, 461.30818779648257]),
    ("manifold_stand_in", 6, 5, [23.964049552639445, -58.991511255275284])])
def test_generated_sets_stay_as_they_are(name, features, targets, sums):
    """Records were made with them."""
    table = getattr(constrained_generators, name)()
    assert checksum(table) == pytest.approx(sums, rel=1e-6)
    assert len(table.feature_names) == table.X.shape[1] == features
    assert len(table.target_names) == table.y.shape[1] == targets
    assert len({*table.feature_names, *table.target_names}) == features + targets
