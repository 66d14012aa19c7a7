def reference(p, g, m):
    slope = g + 1e-4 * p
    kept = 0.9 * m + slope
    return {"stepped": p - 0.01 * (slope + 0.9 * kept), "momentum": kept}
