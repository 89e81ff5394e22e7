"""Mixed-integer programs for HiGHS and CP-SAT: models, solver runs, units of weights.

Nothing is imported here: the child process that runs a solver needs only its engine.
"""
