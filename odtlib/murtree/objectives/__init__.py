"""What is minimised: one file per objective; the reader's own has the same form.

:mod:`additive <odtlib.murtree.objectives.additive>` is the form and what it must satisfy.
"""
