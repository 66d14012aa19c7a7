def reference(x):
    return x.argmax(axis=1)
