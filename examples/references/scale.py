"""y = factor * x."""


def reference(x, factor):
    return factor * x


def error_scale(x, factor):
    return abs(factor * x)
