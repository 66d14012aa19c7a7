"""Generates the inputs of cases: the streams and values that the daemon draws, bit for bit, in NumPy or machine code."""
