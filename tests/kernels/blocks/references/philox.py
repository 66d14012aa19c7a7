"""Philox 4x32 with ten rounds."""
import numpy as np


def reference(key, n):
    word = np.uint64(0xFFFFFFFF)
    c = [np.arange(n, dtype=np.uint64), np.zeros(n, np.uint64), np.full(n, 7, np.uint64), np.zeros(n, np.uint64)]
    a, b = (int(k) for k in key)
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [second >> np.uint64(32) ^ c[1] ^ np.uint64(a), second & word,
             first >> np.uint64(32) ^ c[3] ^ np.uint64(b), first & word]
        a, b = a + 0x9E3779B9 & 0xFFFFFFFF, b + 0xBB67AE85 & 0xFFFFFFFF
    words = np.stack(c, axis=1).astype(np.uint32)
    return words, words * 2.0**-32 + 2.0**-33
