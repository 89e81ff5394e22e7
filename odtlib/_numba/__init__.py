"""What compiled code shares: compiler options, vectors of integers, the warm-up before a fit."""
