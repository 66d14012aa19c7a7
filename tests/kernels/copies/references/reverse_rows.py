"""Each row, last element first."""


def reference(x):
    return x[:, ::-1].copy()
