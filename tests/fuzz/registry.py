"""The list of what is fuzzed: what draws a case, how often, and which methods it calls."""

FUZZ = {}       # name -> (function, weight, methods)


def fuzz(weight, *methods):
    """Register a function ``draw -> Case``; ``methods`` are names as ``Class.method``."""
    def register(function):
        FUZZ[function.__name__] = function, weight, methods
        return function
    return register
