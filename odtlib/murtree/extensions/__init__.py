"""Solvers beside the search: F1, Pareto fronts, fairness, penalties per level, all optimal trees.

They share the preparation of the data with :mod:`odtlib.murtree`, and little else.
"""
