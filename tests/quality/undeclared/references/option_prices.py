import numpy as np


def normal_below(d):
    k = 1 / (1 + 0.2316419 * np.abs(d))
    sum = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.39894228040143267794 * np.exp(-0.5 * d * d) * sum
    return np.where(d > 0, 1 - tail, tail)


def reference(price, strike, years):
    rate, volatility = 0.02, 0.3
    root, discount = np.sqrt(years), np.exp(-rate * years)
    d1 = (np.log(price / strike) + (rate + volatility**2 / 2) * years) / (volatility * root)
    d2 = d1 - volatility * root
    call = price * normal_below(d1) - strike * discount * normal_below(d2)
    return call, strike * discount * (1 - normal_below(d2)) - price * (1 - normal_below(d1))
