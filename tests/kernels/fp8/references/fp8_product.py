"""Products of bytes read as e4m3 and e5m2, without their largest exponents."""
import numpy as np


def value(codes, exponent_bits, mantissa_bits, bias):
    codes = codes & 0xBF
    exponent, mantissa = (codes & 0x7F) >> mantissa_bits, codes & (1 << mantissa_bits) - 1
    fraction = mantissa / 2.0**mantissa_bits
    size = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    return np.where(codes & 0x80, -size, size)


def reference(a, b):
    return value(a, 4, 3, 7) @ value(b, 5, 2, 15).transpose(0, 2, 1)
