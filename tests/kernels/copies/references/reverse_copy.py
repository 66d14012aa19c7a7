"""The elements, last first."""


def reference(x):
    return x[::-1].copy()
