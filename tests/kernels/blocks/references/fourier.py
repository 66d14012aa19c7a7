"""The discrete Fourier transform."""
import numpy as np


def reference(x):
    y = np.fft.fft(x[..., 0] + 1j * x[..., 1], axis=1)
    return np.stack([y.real, y.imag], axis=-1)


def error_scale(x):
    return np.broadcast_to(np.abs(x).sum(axis=(1, 2), keepdims=True), x.shape)
