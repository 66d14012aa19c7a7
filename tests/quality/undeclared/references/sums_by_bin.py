import numpy as np


def reference(bin, weight, sums):
    return sums + np.bincount(bin, weights=weight, minlength=len(sums))
