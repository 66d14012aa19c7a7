"""Every block of a cluster has the sum of its cluster."""
import numpy as np


def reference(x):
    total = (x & 1023).sum(axis=(1, 2), keepdims=True).reshape(-1, 1)
    return np.broadcast_to(total, x.shape[:2]).astype(np.int32)
