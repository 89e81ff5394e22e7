"""Kernels: projection of a point on an encoded feasible set, in a weighted Euclidean metric.

A set is encoded as ``(kind, ints, floats)``, three plain values, so that one compiled signature
serves every set.  ``project`` writes the nearest point and returns the squared distance
``sum_j w_j (point_j - nearest_j)^2``; it returns ``inf`` for an empty set and -1 if the active-set
method did not end.  The layouts:

==================  ==============================================  ==============================
kind                ints                                            floats
==================  ==============================================  ==============================
SEPARABLE           largest number of nonzeros, zero allowed (0/1)  lower (k), upper (k)
SIMPLEX                                                             total
SPARSE_SIMPLEX      largest number of nonzeros, integer (0/1)       total
LINEAR              number of rows r                                rows C (r, k), right sides (r)
BOXES               number of boxes R                               lower (R, k), upper (R, k)
POLYHEDRA           R, then row offsets (R + 1), equalities (R)     bounds (R, k) twice, rows, rhs
==================  ==============================================  ==============================

The rows of LINEAR are orthonormal in the metric ``C W^-1 C' = I``; those of POLYHEDRA are written
in the scaled targets ``sqrt(w_j) y_j`` and have length one.

Arguments that several kernels share, for k targets:

- ``kind``, ``ints``, ``floats``: the set; int64 and float64
- ``point``: (k,) float64, what is projected; ``weights``: (k,) float64, the metric; ``out``: (k,)
  float64, the nearest point, the result
- ``room``: `Room`
- ``rows``: float64, one row of k numbers after the other; ``rhs``: (n_rows,) float64, their right
  sides; ``n_equal``: how many of them, the first, are equations
- ``size``: how many rows are active
- ``points``: (n_points, k) float64, ``distances``: (n_points,) float64
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit

SEPARABLE, SIMPLEX, SPARSE_SIMPLEX, LINEAR, BOXES, POLYHEDRA = range(6)

DEPENDENT = 1e-20    # squared length below which a unit normal counts as spanned by the active ones


class Room(NamedTuple):
    """Work of a projection of k targets; nothing in it outlives the projection."""

    allowed: np.ndarray         # (k,): whether a target may be nonzero
    used: np.ndarray
    ones: np.ndarray            # (k,), which nothing changes
    near: np.ndarray            # (n_pieces,)
    scaled: np.ndarray          # (k,)
    trial: np.ndarray
    basis: np.ndarray           # (k + 1, k): orthonormal, of the active normals
    triangle: np.ndarray        # (k, k): column i holds active normal i in the basis
    active: np.ndarray          # (k + 1,)
    side: np.ndarray            # +1 or -1: equalities may be violated from either side
    dual: np.ndarray
    in_use: np.ndarray          # (n_rows,)
    vectors: np.ndarray         # (3, k)
    cost: np.ndarray            # (k + 1, nonzeros + 1, units + 1) of the dynamic program
    choice: np.ndarray


def make_room(k, n_rows=0, n_pieces=0, states=(0, 0, 0)):
    """Allocate the work of one thread."""
    side, dual = np.empty((2, k + 1))
    scaled, trial = np.empty((2, k))
    return Room(*np.empty((2, k), np.bool_), np.ones(k), np.empty(n_pieces), scaled, trial,
                np.empty((k + 1, k)), np.empty((k, k)), np.empty(k + 1, np.int64), side, dual,
                np.empty(n_rows, np.bool_), np.empty((3, k)), np.empty(states),
                np.empty(states, np.int64))


def room_for(code, weights):
    """Allocate the work of projecting on an encoded set."""
    (kind, ints, floats), k = code, len(weights)
    if kind == POLYHEDRA:
        offsets = ints[1:ints[0] + 2]
        return make_room(k, np.diff(offsets).max(), ints[0])
    if is_closed(code, weights):
        return make_room(k)
    return make_room(k, states=(k + 1, min(ints[0], k) + 1, round(floats[0]) + 1))


@njit(**INNER)
def _clip(value, low, high):
    """Return what is nearest to ``value`` from ``low`` to ``high``, all of them float64 numbers."""
    return low if value < low else (high if value > high else value)


@njit(**INNER)
def _separable(ints, floats, point, weights, out):
    """Clip each target; where zero is allowed keep the largest gains over zero.

    The arguments are those of the module's docstring.  Returns the squared distance.
    """
    k = point.size
    if ints[1] == 0:
        total = 0.0
        for j in range(k):
            out[j] = _clip(point[j], floats[j], floats[k + j])
            total += weights[j] * (point[j] - out[j]) ** 2
        return total
    out[:] = 0.0
    kept = 0
    while kept < ints[0]:
        best, best_gain = -1, 0.0
        for j in range(k):
            if out[j] == 0.0:
                value = _clip(point[j], floats[j], floats[k + j])
                gain = weights[j] * (point[j] ** 2 - (point[j] - value) ** 2)
                if value != 0.0 and gain > best_gain:
                    best, best_gain = j, gain
        if best < 0:
            break
        out[best] = _clip(point[best], floats[best], floats[k + best])
        kept += 1
    total = 0.0
    for j in range(k):
        total += weights[j] * (point[j] - out[j]) ** 2
    return total


@njit(**INNER)
def _simplex(total, point, weights, allowed, used, out):
    """Project on {y >= 0, sum y = total} within the allowed targets; the others become zero.

    The arguments are those of the module's docstring.  Beside these, ``total``: the sum;
    ``allowed``: (k,) bool; ``used``: (k,) bool, work.  Returns the squared distance.
    """
    # the solution is max(0, point_j - tau / w_j): targets enter in descending w_j point_j
    k = point.size
    sum_points = sum_inverse = tau = 0.0
    used[:] = False
    while True:
        best, largest = -1, -np.inf
        for j in range(k):
            if allowed[j] and not used[j] and (best < 0 or weights[j] * point[j] > largest):
                best, largest = j, weights[j] * point[j]
        if best < 0 or (sum_inverse > 0.0 and largest <= tau):
            break
        used[best] = True
        sum_points += point[best]
        sum_inverse += 1.0 / weights[best]
        tau = (sum_points - total) / sum_inverse
    distance = 0.0
    for j in range(k):
        out[j] = max(0.0, point[j] - tau / weights[j]) if used[j] else 0.0
        distance += weights[j] * (point[j] - out[j]) ** 2
    return distance


@njit(**INNER)
def _integer_simplex_weighted(count, point, weights, best, choice, out):
    """Project on whole numbers with a given sum: a dynamic program over targets and units.

    The arguments are those of the module's docstring.  Beside these, ``count``: largest number of
    nonzeros; ``best``: (k + 1, count + 1, units + 1) float64, and ``choice``: likewise, int64, work
    whose shape tells the sum.  Returns the squared distance.
    """
    k, units = point.size, best.shape[2] - 1
    best[:] = np.inf
    best[0, 0, 0] = 0.0
    for j in range(k):
        for c in range(count + 1):
            for u in range(units + 1):
                if best[j, c, u] == np.inf:
                    continue
                for value in range(units - u + 1):
                    d = c + (value > 0)
                    if d > count:
                        break
                    cost = best[j, c, u] + weights[j] * (point[j] - value) ** 2
                    if cost < best[j + 1, d, u + value]:
                        best[j + 1, d, u + value] = cost
                        choice[j + 1, d, u + value] = value
    c = 0
    for d in range(count + 1):
        if best[k, d, units] < best[k, c, units]:
            c = d
    distance, u = best[k, c, units], units
    for j in range(k, 0, -1):
        value = choice[j, c, u]
        out[j - 1] = value
        u -= value
        c -= value > 0
    return distance


@njit(**INNER)
def _sparse_simplex(ints, total, point, weight, room, out):
    """Keep the largest targets, project on the simplex of these (Kyrillidis et al. 2013).

    The arguments are those of the module's docstring; ``total``: the sum; ``weight``: that of every
    target.  Returns the squared distance.

    Of whole numbers take the floors, and add a unit to the best remainders: each target is within
    one unit of the continuous optimum, since the cost is separable.
    """
    k, allowed = point.size, room.allowed
    allowed[:] = False
    for _ in range(min(ints[0], k)):
        best = -1
        for j in range(k):        # the first wins ties
            if not allowed[j] and (best < 0 or point[j] > point[best]):
                best = j
        allowed[best] = True
    distance = _simplex(total, point, room.ones, allowed, room.used, out)
    if not ints[1]:
        return weight * distance
    missing = total
    for j in range(k):
        out[j] = np.floor(out[j] + 1e-9)
        missing -= out[j]
    while missing > 0.5:
        best = -1
        for j in range(k):
            # a unit more costs (out + 1 - point)^2 - (out - point)^2
            if allowed[j] and (best < 0 or out[j] - point[j] < out[best] - point[best]):
                best = j
        out[best] += 1.0
        missing -= 1.0
    distance = 0.0
    for j in range(k):
        distance += (point[j] - out[j]) ** 2
    return weight * distance


@njit(**INNER)
def _linear(n_rows, floats, point, weights, out):
    """Subtract the residual of orthonormal equations.

    The arguments are those of the module's docstring; ``n_rows``: number of equations.  Returns the
    squared distance.
    """
    k = point.size
    for j in range(k):
        out[j] = point[j]
    distance = 0.0
    for i in range(n_rows):
        residual = -floats[n_rows * k + i]
        for j in range(k):
            residual += floats[i * k + j] * point[j]
        distance += residual * residual
        for j in range(k):
            out[j] -= residual * floats[i * k + j] / weights[j]
    return distance


@njit(**INNER)
def _boxes(n_boxes, floats, point, weights, out):
    """Clip on each box; the nearest wins, the first of equals.

    The arguments are those of the module's docstring; ``n_boxes``: number of boxes.  Returns the
    squared distance.
    """
    k = point.size
    best, best_distance = -1, np.inf
    for r in range(n_boxes):
        distance = 0.0
        for j in range(k):
            value = _clip(point[j], floats[r * k + j], floats[(n_boxes + r) * k + j])
            distance += weights[j] * (point[j] - value) ** 2
            if distance >= best_distance:
                break
        if distance < best_distance:
            best, best_distance = r, distance
    for j in range(k):
        out[j] = _clip(point[j], floats[best * k + j], floats[(n_boxes + best) * k + j])
    return best_distance


@njit(**INNER)
def _orthogonalise(normal, basis, size, coefficients):
    """Split a normal into coefficients in the basis and a rest, row ``size``, returned squared.

    ``normal``: (k,) float64; ``basis``: (k + 1, k) float64, of which the first ``size`` rows are
    orthonormal; ``coefficients``: (k,) float64, the result beside the rest.
    """
    k = normal.size
    rest = basis[size]
    for j in range(k):
        rest[j] = normal[j]
    for i in range(size):
        coefficients[i] = 0.0
    for _ in range(2):       # the second pass makes it orthogonal to working accuracy
        for i in range(size):
            dot = 0.0
            for j in range(k):
                dot += basis[i, j] * rest[j]
            coefficients[i] += dot
            for j in range(k):
                rest[j] -= dot * basis[i, j]
    square = 0.0
    for j in range(k):
        square += rest[j] * rest[j]
    return square


@njit(**INNER)
def _violated_row(rows, rhs, n_equal, in_use, tolerance, out):
    """Return the row that a point violates most, equations first, by how much, and its direction.

    The arguments are those of the module's docstring; ``out`` is the point; ``in_use``: (n_rows,)
    bool, rows that are left out.  The row is -1 if none is violated by more than ``tolerance``.
    """
    k = out.size
    worst, entering, direction = tolerance, -1, 1.0
    for i in range(rhs.size):
        if in_use[i]:
            continue
        slack = -rhs[i]
        for j in range(k):
            slack += rows[i * k + j] * out[j]
        if i < n_equal and abs(slack) > tolerance:
            return i, abs(slack), 1.0 if slack > 0 else -1.0
        if slack > worst:
            worst, entering, direction = slack, i, 1.0
    return entering, worst, direction


@njit(**INNER)
def _dual_step(normal, size, room):
    """Write how the duals of the active rows change when the row with ``normal`` enters.

    The arguments are those of the module's docstring; ``normal``: (k,) float64.  Reads the factors
    ``room.basis`` and ``room.triangle`` of the active rows; writes ``room.vectors[0]``, the
    coefficients of ``normal`` in the basis, and ``room.vectors[1]``, the change.  Returns the
    squared length of the part of ``normal`` that is new, and leaves it in ``room.basis[size]``.
    """
    coefficients, step, k = room.vectors[0], room.vectors[1], normal.size
    if size < k:
        square = _orthogonalise(normal, room.basis, size, coefficients)
    else:
        square = 0.0
        for i in range(size):
            coefficients[i] = 0.0
            for j in range(k):
                coefficients[i] += room.basis[i, j] * normal[j]
    for i in range(size - 1, -1, -1):
        value = coefficients[i]
        for c in range(i + 1, size):
            value -= room.triangle[i, c] * step[c]
        step[i] = value / room.triangle[i, i]
    return square


@njit(**INNER)
def _append_basis(root, place, room):
    """Divide the new vector of the basis by its length ``root``, and write its column of factors.

    ``place``: of the vector in ``room.basis``; ``room``: `Room`.
    """
    for j in range(room.basis.shape[1]):
        room.basis[place, j] /= root
    for i in range(place):
        room.triangle[i, place] = room.vectors[0][i]
    room.triangle[place, place] = root


@njit(**INNER)
def _drop_row(rows, leaving, size, room):
    """Take the active row number ``leaving`` out of the ``size`` active ones; rebuild the basis.

    The arguments are those of the module's docstring.
    """
    active, side, dual, step = room.active, room.side, room.dual, room.vectors[1]
    k = step.size
    for i in range(leaving, size - 1):
        active[i], side[i], dual[i] = active[i + 1], side[i + 1], dual[i + 1]
    dual[size - 1] = dual[size]
    for i in range(leaving, size - 1):   # the basis from the dropped normal on
        for j in range(k):
            step[j] = -side[i] * rows[active[i] * k + j]
        _append_basis(np.sqrt(_orthogonalise(step, room.basis, i, room.vectors[0])), i, room)


@njit(**INNER)
def _bring_to_accuracy(rows, rhs, size, room, out):
    """Correct the point once: out -= N (N'N)^-1 residual, N the normals of the active rows.

    The arguments are those of the module's docstring; ``out`` is the point.
    """
    coefficients, step, k = room.vectors[0], room.vectors[1], out.size
    for i in range(size):
        residual = rhs[room.active[i]]
        for j in range(k):
            residual -= rows[room.active[i] * k + j] * out[j]
        coefficients[i] = -room.side[i] * residual
    for i in range(size):
        value = coefficients[i]
        for c in range(i):
            value -= room.triangle[c, i] * step[c]
        step[i] = value / room.triangle[i, i]
    for i in range(size):
        for j in range(k):
            out[j] += step[i] * room.basis[i, j]


@njit(**INNER)
def _squared_distance(a, b):
    """Return the squared Euclidean distance of ``a`` and ``b``, both (k,) float64."""
    square = 0.0
    for j in range(a.size):
        square += (a[j] - b[j]) ** 2
    return square


@njit(**OPTIONS)
def polyhedron(rows, rhs, n_equal, point, cutoff, room, out):
    """Project on {rows y <= rhs, the first ``n_equal`` with equality}; rows have length one.

    The arguments are those of the module's docstring; ``cutoff``: a squared distance that is too
    far.

    The dual active-set method of Goldfarb and Idnani (1983): the distance grows with every row
    added, so the search ends at ``cutoff``.  Returns it squared; inf if empty; -1 for no end.
    """
    k, n_rows = point.size, rhs.size
    scale = 1.0
    for j in range(k):
        out[j] = point[j]
        scale = max(scale, abs(point[j]))
    for i in range(n_rows):
        scale = max(scale, abs(rhs[i]))
    active, dual, in_use = room.active, room.dual, room.in_use[:n_rows]
    step, normal = room.vectors[1], room.vectors[2]
    in_use[:] = False
    size = 0
    for _ in range(20 * (n_rows + k) + 100):
        entering, worst, direction = _violated_row(rows, rhs, n_equal, in_use, 1e-12 * scale * k,
                                                   out)
        if entering < 0:
            break
        for j in range(k):
            normal[j] = -direction * rows[entering * k + j]
        dual[size] = 0.0
        added = False
        while not added:
            square = _dual_step(normal, size, room)
            full = worst / square if square > DEPENDENT else np.inf
            partial, leaving = np.inf, -1
            for i in range(size):
                if active[i] >= n_equal and step[i] > 1e-14 and dual[i] / step[i] < partial:
                    partial, leaving = dual[i] / step[i], i
            length = min(full, partial)
            if length == np.inf:
                return np.inf
            if full < np.inf:
                for j in range(k):
                    out[j] += length * room.basis[size, j]
                worst -= length * square
            for i in range(size):
                dual[i] -= length * step[i]
            dual[size] += length
            if full <= partial:
                _append_basis(np.sqrt(square), size, room)
                active[size], room.side[size] = entering, direction
                in_use[entering] = True
                size += 1
                added = True
            else:
                in_use[active[leaving]] = False
                _drop_row(rows, leaving, size, room)
                size -= 1
        distance = _squared_distance(out, point)
        if distance >= cutoff:
            return distance
    else:
        return -1.0
    _bring_to_accuracy(rows, rhs, size, room, out)
    return _squared_distance(out, point)


@njit(**INNER)
def _polyhedra(ints, floats, point, weights, room, out):
    """Project on each piece whose bounds are nearer than the best piece so far.

    The arguments are those of the module's docstring.  Returns the squared distance, -1 for no end.
    """
    k, n_pieces = point.size, ints[0]
    n_bounds = n_pieces * k
    n_rows = ints[1 + n_pieces]
    rows = floats[2 * n_bounds:2 * n_bounds + n_rows * k]
    rhs = floats[2 * n_bounds + n_rows * k:]
    near, scaled, trial = room.near, room.scaled, room.trial
    for r in range(n_pieces):
        near[r] = 0.0
        for j in range(k):
            value = _clip(point[j], floats[r * k + j], floats[n_bounds + r * k + j])
            near[r] += weights[j] * (point[j] - value) ** 2
    for j in range(k):
        scaled[j] = point[j] * np.sqrt(weights[j])
    best, failed = np.inf, False
    while True:
        r = 0
        for i in range(1, n_pieces):
            if near[i] < near[r]:
                r = i
        if near[r] >= best:
            break
        near[r] = np.inf
        first, last = ints[1 + r], ints[2 + r]
        distance = polyhedron(rows[first * k:last * k], rhs[first:last], ints[2 + n_pieces + r],
                              scaled, best, room, trial)
        failed = failed or distance < 0.0
        if 0.0 <= distance < best:
            best = distance
            for j in range(k):   # the bounds make zeros exact
                out[j] = _clip(trial[j] / np.sqrt(weights[j]), floats[r * k + j],
                               floats[n_bounds + r * k + j])
    return -1.0 if failed else best


def is_closed(code, weights):
    """Whether :func:`project_closed` does: all kinds but those that search over pieces."""
    kind = code[0]
    return kind != POLYHEDRA and (kind != SPARSE_SIMPLEX or np.ptp(weights) == 0)


@njit(**INNER)
def project_closed(kind, ints, floats, point, weights, room, out):
    """Write the nearest point of a set with a closed form and return the squared distance.

    The arguments are those of the module's docstring.
    """
    if kind == SEPARABLE:
        return _separable(ints, floats, point, weights, out)
    if kind == SIMPLEX:
        room.allowed[:] = True
        return _simplex(floats[0], point, weights, room.allowed, room.used, out)
    if kind == SPARSE_SIMPLEX:
        return _sparse_simplex(ints, floats[0], point, weights[0], room, out)
    if kind == LINEAR:
        return _linear(ints[0], floats, point, weights, out)
    return _boxes(ints[0], floats, point, weights, out)


@njit(**INNER)
def project(kind, ints, floats, point, weights, room, out):
    """Write the nearest point of any encoded set and return the squared distance.

    The arguments are those of the module's docstring.
    """
    if kind == POLYHEDRA:
        return _polyhedra(ints, floats, point, weights, room, out)
    if room.cost.size > 0:
        return _integer_simplex_weighted(min(ints[0], point.size), point, weights, room.cost,
                                         room.choice, out)
    return project_closed(kind, ints, floats, point, weights, room, out)


@njit(**OPTIONS)
def project_rows_closed(kind, ints, floats, points, weights, room, out, distances):
    """Project every row on a set with a closed form.

    The arguments are those of the module's docstring; ``out``: (n_points, k) float64, the nearest
    points; the squared distances go to ``distances``.
    """
    for i in range(len(points)):
        distances[i] = project_closed(kind, ints, floats, points[i], weights, room, out[i])


@njit(**OPTIONS)
def project_rows(kind, ints, floats, points, weights, room, out, distances):
    """Project every row.

    The arguments are those of the module's docstring; ``out``: (n_points, k) float64, the nearest
    points; the squared distances go to ``distances``.
    """
    for i in range(len(points)):
        distances[i] = project(kind, ints, floats, points[i], weights, room, out[i])
