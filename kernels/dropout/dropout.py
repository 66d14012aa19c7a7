"""y = x 2^32 / (2^32 - drop) where the bits of the element are not below drop, else 0."""
import numpy as np

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(count, seed, offset):
    """Word i of Philox4x32-10, whose counter is (i / 4, offset) and whose key is the seed."""
    groups = np.arange(-(-count // 4), dtype=np.uint64)
    a, b = groups & LOW, groups >> HALF
    c, d = np.full_like(groups, offset & 0xFFFFFFFF), np.full_like(groups, offset >> 32)
    low, high = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        left, right = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        a, b = (right >> HALF) ^ b ^ np.uint64(low), right & LOW
        c, d = (left >> HALF) ^ d ^ np.uint64(high), left & LOW
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([a, b, c, d], axis=1).ravel()[:count]


def reference(x, key, drop):
    kept = philox(len(x), int(key[0]), int(key[1])) >= np.uint64(drop)
    scale = 2.0**32 / (2.0**32 - drop) if drop < 2**32 else 0.0
    return np.where(kept, x * scale, 0.0)


def error_scale(x, key, drop):
    return np.abs(reference(x, key, drop))
