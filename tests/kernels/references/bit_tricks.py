"""Bit fields of two words."""
import numpy as np


def reference(a, b):
    word = 0xFFFFFFFF
    rows = []
    for u, v in zip((a & word).tolist(), (b & word).tolist()):
        pair = v << 32 | u
        permuted = sum((pair >> 8 * k & 255) << 8 * i for i, k in enumerate((5, 1, 7, 3)))
        bytes_of = [[w >> 8 * i & 255 for i in range(4)] for w in (u, v)]
        signed = [[(c ^ 128) - 128 for c in w] for w in bytes_of]
        rows.append([
            bin(u).count("1"), 32 - u.bit_length(), int(f"{u:032b}"[::-1], 2), (u & -u).bit_length(),
            permuted, pair << (v & 31) >> 32 & word, u * v >> 32,
            sum(p * q for p, q in zip(*signed)) + 100 & word,
            sum(abs(p - q) << 8 * i for i, (p, q) in enumerate(zip(*bytes_of))),
            u >> (v & 63) << 1 & word])
    return np.array(rows, np.uint64).astype(np.uint32).view(np.int32).reshape(-1, 10)
