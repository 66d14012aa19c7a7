"""loss = log(sum(exp(x))) - x[target] of each row; 0 where target is no column."""
import numpy as np


def reference(x, target):
    rows = np.arange(len(x))
    inside = (target >= 0) & (target < x.shape[1])
    most = x.max(axis=1)
    log_sum = np.log(np.exp(x - most[:, None]).sum(axis=1))
    wanted = x[rows, np.where(inside, target, 0)]
    return np.where(inside, log_sum + (most - wanted), 0.0)


def error_scale(x, target):
    finite = np.where(np.isfinite(x), np.abs(x), 0.0)
    return np.abs(reference(x, target)) + finite.max(axis=1) + np.log(x.shape[1]) + 1.0
