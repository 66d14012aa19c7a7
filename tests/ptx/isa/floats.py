"""Binary floating point in exact rationals: values of bit patterns and rounding to bit patterns, in every mode."""
import math
from fractions import Fraction

NAN, INF = "nan", "inf"


class Format:
    """Sign, exponent, fraction; `nan` is the one pattern that the hardware gives for NaN."""

    def __init__(self, name, exponent, fraction, nan):
        self.name, self.exponent, self.fraction, self.nan = name, exponent, fraction, nan
        self.bits = 1 + exponent + fraction
        self.bias = (1 << exponent - 1) - 1
        self.inf = ((1 << exponent) - 1) << fraction
        self.sign = 1 << self.bits - 1
        self.least = Fraction(1, 1 << (self.bias + fraction - 1))  # The smallest subnormal.

    def value(self, bits):
        """(negative, value): a Fraction of at least 0, INF or NAN."""
        negative, size = bool(bits & self.sign), bits & (self.sign - 1)
        if size > self.inf:
            return negative, NAN
        if size == self.inf:
            return negative, INF
        exponent, fraction = size >> self.fraction, size & ((1 << self.fraction) - 1)
        if exponent == 0:
            return negative, fraction * self.least
        scale = exponent - 1
        return negative, ((1 << self.fraction) + fraction) * self.least * (1 << scale)

    def round(self, negative, size, mode="rn"):
        """The pattern of a magnitude, which may be INF or NAN."""
        sign = self.sign if negative else 0
        if size == NAN:
            return self.nan
        if size == INF:
            return sign | self.inf
        size = Fraction(size)
        if size == 0:
            return sign
        # Units of the last place: of the least exponent, or of the value's own.
        exponent = max(0, _log2(size / self.least) - self.fraction)
        unit = self.least * (1 << exponent)
        whole, rest = divmod(size, unit)
        whole = int(whole)
        up = {"rn": rest * 2 > unit or (rest * 2 == unit and whole & 1), "rna": rest * 2 >= unit, "rz": False,
              "rm": negative and rest > 0, "rp": not negative and rest > 0}[mode]
        whole += int(up)
        pattern = (exponent << self.fraction) + whole
        if pattern >= self.inf:
            overflow = mode in ("rn", "rna") or (mode == "rm" and negative) or (mode == "rp" and not negative)
            pattern = self.inf if overflow else self.inf - 1
        return sign | pattern

    def flush(self, bits):
        return bits & self.sign if bits & self.inf == 0 else bits


class Unbounded(Format):
    """A format whose exponent has no lower bound: tells whether a rounded value is below the least normal number."""

    def round(self, negative, size, mode="rn"):
        if size in (NAN, INF, 0):
            return super().round(negative, size, mode)
        unit = Fraction(2) ** (_log2(Fraction(size)) - self.fraction)
        down = size // unit * unit
        coarse = down if down == size else super().round(negative, size / unit * self.least * (1 << self.fraction), mode)
        if down != size:
            coarse = Format.value(self, coarse)[1] / (self.least * (1 << self.fraction)) * unit
        return super().round(negative, coarse, "rz")


def _log2(value):
    """The exponent of the highest power of two that is not above a positive rational."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


F16 = Format("f16", 5, 10, 0x7FFF)
BF16 = Format("bf16", 8, 7, 0x7FFF)
F32 = Format("f32", 8, 23, 0x7FFFFFFF)
F32_UNBOUNDED = Unbounded("f32", 8, 23, 0x7FFFFFFF)
F64 = Format("f64", 11, 52, None)  # NaN of f64 may have any payload: None.
FORMATS = {f.name: f for f in (F16, BF16, F32, F64)}


def signed(pair):
    return -pair[1] if pair[0] else pair[1]


def add(fmt, a, b, mode="rn", subtract=False):
    x, y = fmt.value(a), fmt.value(b)
    if subtract:
        y = (not y[0], y[1])
    return _sum(fmt, x, y, mode)


def _sum(fmt, x, y, mode):
    if NAN in (x[1], y[1]) or (x[1] == y[1] == INF and x[0] != y[0]):
        return fmt.round(False, NAN)
    for one in (x, y):
        if one[1] == INF:
            return fmt.round(*one)
    total = signed(x) + signed(y)
    if total == 0:
        negative = x[0] and y[0] if x[0] == y[0] else mode == "rm"
        return fmt.round(negative, 0)
    return fmt.round(total < 0, abs(total), mode)


def _product(x, y):
    negative = x[0] != y[0]
    if NAN in (x[1], y[1]) or (INF in (x[1], y[1]) and 0 in (x[1], y[1])):
        return False, NAN
    return (negative, INF) if INF in (x[1], y[1]) else (negative, x[1] * y[1])


def mul(fmt, a, b, mode="rn"):
    return fmt.round(*_product(fmt.value(a), fmt.value(b)), mode)


def fma(fmt, a, b, c, mode="rn"):
    return _sum(fmt, _product(fmt.value(a), fmt.value(b)), fmt.value(c), mode)


def div(fmt, a, b, mode="rn"):
    (s, x), (t, y) = fmt.value(a), fmt.value(b)
    if NAN in (x, y) or x == y == INF or x == y == 0:
        return fmt.round(False, NAN)
    if x == INF or y == 0:
        return fmt.round(s != t, INF)
    return fmt.round(s != t, 0 if y == INF else x / y, mode)


def sqrt(fmt, a, mode="rn"):
    negative, size = fmt.value(a)
    if size == NAN or (negative and size != 0):
        return fmt.round(False, NAN)
    if size in (INF, 0):
        return a
    # As many bits as any format has, and a sticky bit below them.
    shift = 4096
    scaled = size * (1 << 2 * shift)
    root = math.isqrt(int(scaled))
    exact = root * root == scaled
    return fmt.round(False, Fraction(2 * root + (0 if exact else 1), 2 << shift), mode)


def saturate(fmt, bits):
    negative, size = fmt.value(bits)
    if size == NAN or negative or size == 0:
        return 0
    return fmt.round(False, 1) if size == INF or size > 1 else bits


def compare(fmt, name, a, b):
    x, y = fmt.value(a), fmt.value(b)
    unordered = NAN in (x[1], y[1])
    if name == "num":
        return not unordered
    if name == "nan":
        return unordered
    if unordered:
        return name.endswith("u") or False
    limit = Fraction(1 << 5000)
    p, q = (signed((s, limit if v == INF else v)) for s, v in (x, y))
    return {"eq": p == q, "ne": p != q, "lt": p < q, "le": p <= q, "gt": p > q, "ge": p >= q}[name.removesuffix("u")]


def minmax(fmt, a, b, least, nan=False):
    """A number wins over NaN unless `nan`; -0 is below +0."""
    x, y = fmt.value(a), fmt.value(b)
    if nan and NAN in (x[1], y[1]):
        return fmt.nan
    if x[1] == NAN:
        return fmt.nan if y[1] == NAN else b
    if y[1] == NAN:
        return a
    limit = Fraction(1 << 5000)
    p, q = (signed((s, limit if v == INF else v)) for s, v in (x, y))
    if p == q:
        return (a if x[0] else b) if least else (b if x[0] else a)
    return a if (p < q) == least else b
