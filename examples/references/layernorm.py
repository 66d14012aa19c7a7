"""(x - mean) / sqrt(variance + eps) * gamma + beta along the last axis."""
import numpy as np


def reference(x, gamma, beta, eps):
    with np.errstate(invalid="ignore", over="ignore"):
        mean = x.mean(axis=-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + eps) * gamma + beta


def error_scale(x, gamma, beta, eps):
    # Subtracting the mean cancels: what is left of x is magnified by 1 / sigma.
    with np.errstate(invalid="ignore", over="ignore"):
        mean = x.mean(axis=-1, keepdims=True)
        sigma = np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + eps)
        spread = (np.abs(x) + np.abs(x).max(axis=-1, keepdims=True)) / sigma
        return spread * np.abs(gamma) + np.abs(beta)
