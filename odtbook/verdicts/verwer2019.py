"""Verwer and Zhang (2019): its statements; its accuracies are columns of Firat et al."""

from __future__ import annotations

import math

import numpy as np

from . import words
from .evidence import Missing, Paper, method_runs
from .firat2020 import tests

paper = Paper("verwer2019")


def _small_sizes(side, column):
    table = side.table("firat2020 T6", column)[column]
    return [int(f(table.iloc[:14])) for f in (min, max)]


def rows(side):
    return _small_sizes(side, "|R|")


def features(side):
    return _small_sizes(side, "|F|")


def _leads(side, k):
    cart, oct_, binoct = tests(side, k, "CART", "OCT", "BinOCT*")
    return binoct - cart, binoct - oct_


def depths_2_3(side):
    answers = [words.clearly(lead) for k in (2, 3) for lead in _leads(side, k)]
    names = (f"over {name} at depth {k}" for k in (2, 3) for name in ("CART", "OCT"))
    return all(held for held, _ in answers), "; ".join(
        f"{name} {text}" for name, (_, text) in zip(names, answers, strict=True))


def depth_4(side):
    lead = min(float(lead.mean()) for lead in _leads(side, 4))
    return words.ROUNDING < lead <= words.SLIGHT, f"by {lead:.2f} points over the better, testing"


def overfit(side):
    table = side.table("firat2020 T7", *(f"k = {k}, BinOCT*" for k in (2, 3, 4)))
    gaps = [table[f"k = {k}, BinOCT*"].mean() - tests(side, k, "BinOCT*")[0].mean()
            for k in (2, 3, 4)]
    return gaps[2] > gaps[0] and gaps[2] >= words.REMARKABLE, (
        "training minus testing " + ", ".join(f"{gap:.1f}" for gap in gaps) + " points")


def fewer_time(side):
    # the same solver, one thread, by the clock; a run that its limit stopped took longer than any
    seconds = [_seconds(side.records, name) for name in ("OCT", "BinOCT*")]
    oct_, binoct = seconds[0].align(seconds[1], join="inner")   # what both have run
    known = oct_.notna() & binoct.notna() & ((oct_ < math.inf) | (binoct < math.inf))
    sets = np.sign(oct_[known] - binoct[known]).groupby("dataset").sum()
    if len(sets) < words.FEWEST:
        raise Missing(f"on {len(sets)} data sets one of the models ends before the limit")
    return words.most(sets, "data sets on which one of the models ends before the limit")


def _seconds(records, method):
    runs = method_runs(records, method).set_index(["dataset", "split", "max_depth"])
    return runs["wall_seconds"].mask(runs["status"] != "optimal", math.inf)


paper.collect(globals())
