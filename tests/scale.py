"""How much the tests try: ODT_TEST_SCALE is 1 for `make test` and 10 for `make test-all`."""

import os

SCALE = int(os.environ.get("ODT_TEST_SCALE", "1"))


def instances(number):
    """Return how many instances of an integer program to solve: all of them on the larger scale."""
    return number if SCALE > 1 else (number + 1) // 2
