"""Attributes of the built-in ops, packed as runtime/opcall takes them: (schema id, bytes).

Made by tools/make_op_attributes.py; do not edit.
"""
import struct


def layernorm(eps=1e-05):
    """y = (x - mean) / sqrt(variance + eps) * weight + bias over the last axis

    eps: float32, added to the variance
    """
    return 257, struct.pack("<f", eps)


def rmsnorm(eps=1e-05):
    """y = x / sqrt(mean(x * x) + eps) * weight over the last axis

    eps: float32, added to the mean square
    """
    return 513, struct.pack("<f", eps)
