"""Sums of products of signed bytes."""
import numpy as np

RAW = True


def reference(a, b):
    bytes_of = [np.ascontiguousarray(v).view(np.int8).astype(np.int64) for v in (a, b)]
    return (bytes_of[0] @ bytes_of[1]).astype(np.int32)
