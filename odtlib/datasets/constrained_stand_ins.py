"""Generated tables in the form of the output-constrained paper's sets whose licence is not stated.

Each has the columns, kinds, size, rough ranges and constraints of the set that it stands in for,
and none of its rows: how targets follow from features is a simple rule of ours.  They serve
wherever the form matters.  Errors on them say nothing about the paper's numbers.
"""

from __future__ import annotations

import numpy as np

from odtlib.datasets.tables import CAR_FEATURES, Table

# The nominal features of scores: levels, how often each is drawn, and the points that it adds.
PUPIL = {
    "gender": (("female", "male"), (0.5, 0.5), (3, -3)),
    "race/ethnicity": (
        ("group A", "group B", "group C", "group D", "group E"),
        (0.1, 0.2, 0.3, 0.25, 0.15),
        (-4, -2, 0, 2, 4),
    ),
    "parental level of education": (
        ("associate's degree", "bachelor's degree", "high school", "master's degree",
         "some college", "some high school"),
        (0.2, 0.1, 0.2, 0.1, 0.2, 0.2),
        (2, 4, -3, 6, 0, -5),
    ),
    "lunch": (("free/reduced", "standard"), (0.35, 0.65), (-7, 4)),
    "test preparation course": (("completed", "none"), (0.35, 0.65), (5, -3)),
}


def scores() -> Table:
    """Generate 1000 pupils in the form of ``scores``.

    Three whole-numbered scores from 0 to 100 follow the sum of the levels' points and noise, two
    thirds of it common to all three.  Writing is 0 where reading is below 50, and then mathematics
    is 0 where reading and writing are together below 110.
    """
    rng = np.random.RandomState(0)
    columns, points = [], 0.0
    for levels, shares, gains in PUPIL.values():
        drawn = rng.choice(len(levels), 1000, p=shares)
        columns.append(np.array(levels)[drawn])
        points = points + np.array(gains)[drawn]
    noise = rng.normal(0, 10, (1000, 1)) + rng.normal(0, 5, (1000, 3))
    y = np.clip(np.round(68 + points[:, None] + noise), 0, 100)
    y[y[:, 1] < 50, 2] = 0
    y[y[:, 1] + y[:, 2] < 110, 0] = 0
    names = ("math score", "reading score", "writing score")
    return Table(np.column_stack(columns), y, tuple(PUPIL), names)


def cars() -> Table:
    """Generate 500 insured drivers in the form of ``cars``.

    A claim becomes more likely with earlier claims, points on the licence and children who drive,
    and less likely with income; its amount, in whole dollars, is log-normal around a quarter of the
    car's value.  Without a claim the amount is 0.
    """
    rng = np.random.RandomState(0)
    n = 500

    def whole(mean, deviation, low, high):
        return np.clip(np.round(rng.normal(mean, deviation, n)), low, high) + 0.0   # no -0.0

    home_kids = rng.binomial(4, 0.2, n)
    income = np.clip(np.round(rng.normal(55_000, 40_000, n)), 0, 200_000)
    owner = rng.uniform(size=n) < 0.7
    frequency = np.where(rng.uniform(size=n) < 0.4, 1 + rng.binomial(4, 0.25, n), 0)
    value = {
        "KIDSDRIV": rng.binomial(np.minimum(home_kids, 3), 0.25),
        "AGE": whole(45, 9, 18, 80),
        "HOMEKIDS": home_kids,
        "YOJ": whole(10, 4, 0, 23),
        "INCOME": income,
        "HOME_VAL": np.where(owner, np.round(100_000 + 1.8 * income), 0),
        "TRAVTIME": whole(34, 15, 5, 85),
        "BLUEBOOK": 10 * whole(1400, 700, 150, 4000),
        "TIF": 1 + rng.binomial(17, 0.3, n),
        "OLDCLAIM": np.where(frequency > 0, np.round(rng.lognormal(8.5, 0.8, n)), 0),
        "CLM_FREQ": frequency,
        "MVR_PTS": np.minimum(rng.poisson(1.0 + frequency), 13),
        "CAR_AGE": whole(8, 5, 0, 25),
    }
    risk = 0.4 * frequency + 0.2 * value["MVR_PTS"] + 0.6 * value["KIDSDRIV"] - income / 50_000
    claim = rng.uniform(size=n) < 1 / (1 + np.exp(1.0 - risk))
    amount = np.clip(np.round(0.25 * value["BLUEBOOK"] * rng.lognormal(0, 0.8, n)), 1, 110_000)
    X = np.column_stack([value[name] for name in CAR_FEATURES]).astype(np.float64)
    y = np.column_stack([claim, np.where(claim, amount, 0.0)]).astype(np.float64)
    return Table(X, y, CAR_FEATURES, ("TARGET_FLAG", "TARGET_AMT"))


def hts() -> Table:
    """Generate 500 rows in the form of ``hts_500_0``: whole numbers, at most 4 above 0, sum 15."""
    from odtlib.datasets.constrained_generators import allocation

    return _table(allocation(500), decimals=0)


def manifold() -> Table:
    """Generate 500 rows in the form of ``manifold_500_5_0``: five targets near a plane."""
    from odtlib.datasets.constrained_generators import manifold as near_a_plane

    return _table(near_a_plane(500, 5), decimals=6)


def _table(data, decimals) -> Table:
    """Round the targets: the last bit of a matrix product differs between machines."""
    return Table(data.X, data.y.round(decimals) + 0.0, data.feature_names, data.target_names)
