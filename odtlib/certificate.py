"""Certificates of optimality: lines of a proof that a program of a page checks without odtlib."""

from __future__ import annotations

import hashlib
from os import PathLike

import numpy as np

VERSION = 1
ANY_DEPTH = 2**31 - 1
COUNTED, NOTHING = -1, -1       # the reason of a line; that nothing is referred to
FINEST = 2.0**49                # units in the total cost: sums of whole numbers below are exact


class OptimalityCertificate:
    """A lower bound on the objective of every tree within the limits, with its proof.

    ``odtbook.check_certificate.check`` reads the file and proves the claim again, or names the
    first line that does not follow; its text says what the arrays mean.

    Parameters
    ----------
    arrays : dict of arrays
        The lines of the proof and its claim, as they are saved.
    lower_bound : float
        What is claimed.

    Attributes
    ----------
    claim : str
        The claim in words.
    lower_bound : float
        No tree within the limits has a smaller objective.
    """

    def __init__(self, arrays: dict[str, np.ndarray], lower_bound: float) -> None:
        self.arrays, self.lower_bound = arrays, lower_bound
        self.claim = str(arrays["claim"])

    def save(self, path: str | PathLike) -> None:
        """Write the certificate to a file.

        Parameters
        ----------
        path : str or path-like
            The file, replaced where it exists; compressed arrays, in the format of ``numpy.savez``.
        """
        with open(path, "wb") as file:
            np.savez_compressed(file, **self.arrays)

    def __len__(self):
        return len(self.arrays["bound"])

    def __repr__(self):
        return f"<OptimalityCertificate: {self.claim}; {len(self)} lines>"


def fingerprint(columns, codes, weight):
    """Return what tells a data set from others: a hash of its rows, labels and weights."""
    text = f"{columns.shape[0]} {columns.shape[1]}".encode() + np.packbits(columns != 0).tobytes()
    return np.frombuffer(hashlib.sha256(text + codes.astype("<i8").tobytes()
                                        + weight.astype("<f8").tobytes()).digest(), np.uint8)


def unit_of(weight, penalty):
    """Return the largest power of two that divides all weights and the penalty.

    Where that is too small for exact sums, a larger one; weights are then rounded down.
    """
    amounts = np.append(np.unique(weight), penalty)
    unit = 2.0 ** np.ceil(np.log2((weight.sum() + penalty) / FINEST))
    while not np.any(amounts % (2 * unit)) and unit < amounts.max():
        unit *= 2
    return unit


def words(max_depth, max_nodes, least, penalty, columns, weight, value):
    """Say a claim in words; ``max_nodes`` is None where it is no limit beside the depth."""
    value = np.format_float_positional(value, trim="-")
    what = (f"costs less than {value}, at {penalty:g} a split," if penalty else
            f"makes fewer than {value} errors" if np.all(weight == 1) else
            f"makes errors of less weight than {value}")
    return (f"no tree of {'any depth' if max_depth == ANY_DEPTH else f'depth {max_depth}'}"
            + (f" and {max_nodes} feature nodes" if max_nodes is not None else "")
            + (f" with at least {least} rows in a leaf" if least > 1 else "")
            + f" over these {columns.shape[1]} columns {what} on these {len(columns)} rows")
