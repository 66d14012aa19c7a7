"""Sums, extremes, unions and a product."""
import numpy as np


def reference(x):
    word = 0xFFFFFFFF
    values = [int(v) for v in x]
    bits = [v & word for v in values]
    union, odd, product = 0, 0, 1
    for v in bits:
        union, odd, product = union | v, odd ^ v, product * (2 * v + 1) & word
    triple = 3 * sum(bits)
    return np.array([sum(values) & word, max(0, *values, 0) & word, min(0, *values, 0) & word, union, odd, 0,
                     len(values) % 101, -sum(values) & word, triple & word, triple >> 32, product - 1 & word], np.uint32)
