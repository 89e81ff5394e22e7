"""Files of certificates: as they are, with words that fit what was changed, and strange arrays."""

import io

import numpy as np

from odtbook.check_certificate import NotProved, check
from odtlib.certificate import fingerprint


def saved(arrays):
    """Return the file of a certificate with these arrays."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    return file


def stamped(arrays, X, y, weight):
    """Write the fingerprint of these data, and the words that fit the numbers, if there are any."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    used, sums = weight > 0, len(np.atleast_1d(arrays["units"])) == 4
    try:
        labels = np.asarray(y)[used].astype(float) if sums else np.unique(
            np.asarray(y)[used], return_inverse=True)[1].ravel()
        arrays["fingerprint"] = fingerprint(np.asarray(X, float)[used], labels, weight[used])
        check(saved({**arrays, "claim": np.array("")}), X, y, weight)
    except (NotProved, ValueError) as error:
        if str(error).startswith("the claim in words"):
            arrays["claim"] = np.array(str(error).split(": ", 1)[1])
    return arrays


def of_other_kinds(value):
    """Return what could stand in place of an array: other types, sizes and numbers of axes."""
    return [value.astype(object), np.array(["x"]), value.ravel()[:0], value[..., None],
            np.zeros(value.shape), np.full(value.shape, np.nan), value.ravel()[:-1],
            np.concatenate([value.ravel()] * 2)]


def check_refused_or_true(certificate, name, strange, X, y):
    """Put each of some arrays in place of one: it is refused, or proves no more than is true."""
    for odd in strange:
        try:
            claim = check(saved({**certificate.arrays, name: odd}), X, y)
        except NotProved:
            continue
        assert claim == certificate.claim or float(
            claim.split("than ")[1].split()[0]) <= certificate.lower_bound
