def reference(x):
    return x // 3
