"""A product in a sum."""


def reference(x, y):
    return x * y - x, y - x * y
