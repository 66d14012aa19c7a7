"""A function, a case and a recursion for each element."""
import numpy as np


def toward_zero(v, d):
    return abs(v) // d if v >= 0 else -(abs(v) // d)


def reference(a):
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21]
    cases = {0: lambda v: v + 1, 1: lambda v: v ^ 0x55, 2: lambda v: toward_zero(v, 3),
             3: lambda v: v - 5 * toward_zero(v, 5), 4: lambda v: ~v, 5: lambda v: v << 2,
             8: lambda v: 77}
    steps = [lambda v: v + 10, lambda v: v * 3, lambda v: -v]
    out = []
    for v in a.tolist():
        v -= 1000 * toward_zero(v, 1000)
        w = abs(v)
        out.append(steps[w % 3](v) + cases.get(w % 10, lambda _: 1000)(v) + fibonacci[w % 9])
    return np.array(out, np.int32)
