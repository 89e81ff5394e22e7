"""Data sets that a rule or scikit-learn's own copy gives exactly, row for row."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from odtbook.datasets.tables import Table

# Levels in the order in which the UCI file counts through them; the last attribute runs fastest.
CAR_LEVELS = {
    "buying": ("vhigh", "high", "med", "low"),
    "maint": ("vhigh", "high", "med", "low"),
    "doors": ("2", "3", "4", "5more"),
    "persons": ("2", "4", "more"),
    "lug_boot": ("small", "med", "big"),
    "safety": ("low", "med", "high"),
}
CAR_CLASSES = ("unacc", "acc", "good", "vgood")
# The four tables of the model behind car evaluation (Bohanec & Rajkovic 1988), levels by index.
_PRICE = ((0, 0, 1, 1), (0, 1, 1, 1), (1, 1, 2, 3), (1, 2, 3, 3))  # [buying][maint]
_COMFORT = (  # [doors][persons][lug_boot]
    ((0, 0, 0), (1, 1, 2), (0, 1, 2)),
    ((0, 0, 0), (1, 1, 2), (1, 2, 2)),
    ((0, 0, 0), (1, 2, 2), (1, 2, 2)),
    ((0, 0, 0), (1, 2, 2), (1, 2, 2)),
)
_TECH = ((0, 0, 0), (0, 1, 2), (0, 2, 3))  # [comfort][safety]
_CAR = ((0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 1, 3), (0, 1, 2, 3))  # [price][tech]

# The numbers that the papers' car file writes for each level; `med` and `high` safety coincide.
_CAR_CODES = ((3, 2, 1, 0), (3, 2, 1, 0), (2, 3, 4, 56), (2, 4, 5), (0, 1, 2), (0, 1, 1))


def _cars(written) -> Table:
    """Enumerate the cars with each level as it is ``written``, by attribute and index."""
    cells = list(product(*(range(len(levels)) for levels in CAR_LEVELS.values())))
    y = [
        _CAR[_PRICE[buying][maint]][_TECH[_COMFORT[doors][persons][boot]][safety]]
        for buying, maint, doors, persons, boot, safety in cells
    ]
    X = [[written[j][value] for j, value in enumerate(row)] for row in cells]
    return Table(np.array(X), np.array(y, dtype=np.int64), tuple(CAR_LEVELS), CAR_CLASSES)


def car() -> Table:
    """Enumerate the 1728 cars with their nominal levels and the class of the four-table model."""
    return _cars(list(CAR_LEVELS.values()))


def car_evaluation() -> Table:
    """Enumerate the 1728 cars in the papers' numbers, which merge two of the safety levels."""
    return _cars([np.array(codes, dtype=np.float64) for codes in _CAR_CODES])


def balance_scale() -> Table:
    """Enumerate the 625 balances: class 0 balanced, 1 right side heavier, 2 left side heavier."""
    X = np.array(list(product(range(1, 6), repeat=4)), dtype=np.float64)
    moment = X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]
    names = ("left_weight", "left_distance", "right_weight", "right_distance")
    y = np.where(moment == 0, 0, np.where(moment < 0, 1, 2))
    return Table(X, y.astype(np.int64), names, ("balanced", "right", "left"))


def monk(problem: int) -> Table:
    """Enumerate the 432 robots of a monk's problem, labelled by its noise-free concept."""
    sizes = (3, 3, 2, 3, 4, 2)
    X = np.array(list(product(*(range(1, size + 1) for size in sizes))), dtype=np.float64)
    a1, a2, _, a4, a5, _ = X.T
    if problem == 1:
        concept = (a1 == a2) | (a5 == 1)
    elif problem == 2:
        concept = (X == 1).sum(axis=1) == 2
    else:
        concept = ((a5 == 3) & (a4 == 1)) | ((a5 != 4) & (a2 != 3))
    return Table(X, concept.astype(np.int64), tuple(f"a{j}" for j in range(1, 7)), ("0", "1"))


_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@cache  # chapters load the table hundreds of times
def _end_boards() -> tuple[tuple[tuple[str, ...], ...], int]:
    """All boards at which a game may end, x moving first, and how many of them x has won.

    They come in the order of the UCI file: x has won, o has won, draw; within each, cells compared
    as x < o < b.
    """
    groups = {"x": [], "o": [], "draw": []}
    for board in product("xob", repeat=9):
        ahead = board.count("x") - board.count("o")
        if ahead not in (0, 1):
            continue
        x_won, o_won = (
            any(board[a] == board[b] == board[c] == player for a, b, c in _LINES)
            for player in "xo"
        )
        if x_won and not o_won and ahead == 1:
            groups["x"].append(board)
        elif o_won and not x_won and ahead == 0:
            groups["o"].append(board)
        elif not x_won and not o_won and "b" not in board:
            groups["draw"].append(board)
    boards = groups["x"] + groups["o"] + groups["draw"]
    return tuple(boards), len(groups["x"])


TIC_TAC_TOE_CLASSES = ("x does not win", "x wins")


def _x_wins(boards, n_won) -> np.ndarray:
    return (np.arange(len(boards)) < n_won).astype(np.int64)


def tic_tac_toe() -> Table:
    """Enumerate the 958 end boards as the papers code them: two 0/1 columns per cell, o and x."""
    boards, n_won = _end_boards()
    X = [[float(cell == player) for cell in board for player in "ox"] for board in boards]
    names = tuple(f"Feat{cell}_{player}" for cell in range(9) for player in "ox")
    return Table(np.array(X), _x_wins(boards, n_won), names, TIC_TAC_TOE_CLASSES)


def tic_tac_toe_boards() -> Table:
    """Enumerate the 958 end boards with one nominal column (x, o or b for blank) per cell."""
    boards, n_won = _end_boards()
    rows, columns = ("top", "middle", "bottom"), ("left", "middle", "right")
    names = tuple(f"{row}-{column}" for row in rows for column in columns)
    return Table(np.array(boards), _x_wins(boards, n_won), names, TIC_TAC_TOE_CLASSES)


def bundled(loader: str) -> Table:
    """Read one of the sets that come with scikit-learn."""
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, loader)()
    return Table(
        np.ascontiguousarray(bunch.data, dtype=np.float64),
        bunch.target.astype(np.int64),
        tuple(str(name) for name in bunch.feature_names),
        tuple(str(name) for name in bunch.target_names),
    )


def iris_uci() -> Table:
    """Read iris as in the UCI file and the papers: two rows differ from Fisher's article."""
    table = bundled("load_iris")
    table.X[34, 3] = 0.1  # Fisher: 0.2
    table.X[37, 1:3] = 3.1, 1.5  # Fisher: 3.6, 1.4
    names = ("sepal_length", "sepal_width", "petal_length", "petal_width")
    return table._replace(feature_names=names)
