"""velocity = momentum velocity + g + decay p; p = p - rate velocity."""
import numpy as np


def reference(p, g, velocity, rate, momentum, decay):
    velocity = momentum * velocity + (g + decay * p)
    return {"p": p - rate * velocity, "velocity": velocity}


def error_scale(p, g, velocity, rate, momentum, decay):
    velocity = momentum * np.abs(velocity) + np.abs(g) + decay * np.abs(p)
    return {"p": np.abs(p) + np.abs(rate) * velocity, "velocity": velocity}
