"""Hash of twelve sorted fields."""
import numpy as np


def reference(a):
    out = []
    for v in a.tolist():
        fields = sorted(v >> k & 63 for k in range(12))
        total = 0
        for field in fields:
            total = total * 7 + field
        out.append(total + fields[v & 7] & 0xFFFFFFFF)
    return np.array(out, np.uint64).astype(np.uint32).view(np.int32)
