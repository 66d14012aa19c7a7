"""c = op(a) @ op(b), op being the matrix or its transpose."""
import numpy as np


def reference(a, b, trans_a, trans_b):
    return (a.T if trans_a else a) @ (b.T if trans_b else b)


def error_scale(a, b, trans_a, trans_b):
    return reference(np.abs(a), np.abs(b), trans_a, trans_b)
