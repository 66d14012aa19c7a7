"""dx = (softmax(x) - onehot(target)) * dloss of each row; 0 where target is no column."""
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def reference(x, target, dloss):
    inside = (target >= 0) & (target < x.shape[1])
    onehot = np.arange(x.shape[1]) == target[:, None]
    return np.where(inside[:, None], (softmax(x) - onehot) * dloss[:, None], 0.0)


def error_scale(x, target, dloss):
    finite = np.where(np.isfinite(x), np.abs(x), 0.0)
    onehot = np.arange(x.shape[1]) == target[:, None]
    return (softmax(x) * (1.0 + finite.max(axis=1, keepdims=True)) + onehot) * np.abs(dloss)[:, None]
