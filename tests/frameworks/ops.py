"""Functions whose calls the tests watch by their path."""


def double(x):
    return x * 2


def triple(x):
    return x * 3
