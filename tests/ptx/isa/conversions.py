"""cvt: between integers, between floats, and across, in every rounding."""
from fractions import Fraction

from . import floats
from .floats import BF16, F16, F32, F64, FORMATS, INF, NAN
from .integers import clamp, limits, value
from .table import File, bits_of, edges

INTS = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
MODES = ("rn", "rz", "rm", "rp")


def between_integers(f):
    for source in INTS:
        for to in INTS:
            f.row(f"cvt.{to}.{source}", [to], [source], lambda a, s=source: value(s, a))
            # Where every value fits ptxas knows no .sat.
            (low, high), (least, most) = limits(to), limits(source)
            if least < low or most > high:
                f.row(f"cvt.sat.{to}.{source}", [to], [source], lambda a, s=source, t=to: clamp(t, value(s, a)))


def to_floats(f, formats):
    for source in INTS:
        for fmt in formats:
            if fmt is BF16 and bits_of(source) == 8:
                continue
            for mode in MODES if fmt in (F32, F64, F16) else ("rn", "rz"):
                def meaning(a, s=source, fmt=fmt, m=mode):
                    v = value(s, a)
                    return fmt.round(v < 0, abs(v), m)
                f.row(f"cvt.{mode}.{fmt.name}.{source}", [fmt.name], [source], meaning, count=20)


def whole(pair, mode):
    v = -pair[1] if pair[0] else pair[1]
    below = v.numerator // v.denominator
    rest = v - below
    if mode == "rmi" or rest == 0:
        return below
    if mode == "rpi":
        return below + 1
    if mode == "rzi":
        return below + (1 if v < 0 else 0)
    return below + int(rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below & 1))


def float_edges(fmt):
    odd = {"f64": [0xFFF8000000000001, 0x7FF4000000000000, 0x7FF8123456789ABC, 0xFFF4123456789ABC]}.get(fmt.name, [])
    extra = [Fraction(n, d) for n, d in ((1, 2), (3, 2), (5, 2), (-1, 2), (-7, 2), (127, 1), (128, 1), (-129, 1), (255, 1), (300, 1),
                                         (40000, 1), (-40000, 1), (1 << 31, 1), ((1 << 31) - 1, 1), (-(1 << 31) - 1, 1),
                                         (1 << 32, 1), (1 << 63, 1), (-(1 << 63), 1), (1 << 64, 1), (99, 10), (-99, 10))]
    return [[b] for b in [*edges(fmt.name), *odd, *(fmt.round(v < 0, abs(v)) for v in extra)]]


def to_integers(f, formats):
    for fmt in formats:
        for to in INTS:
            if fmt is BF16 and bits_of(to) == 8:
                continue
            for mode in ("rni", "rzi", "rmi", "rpi"):
                for ftz in ("", ".ftz") if fmt is F32 else ("",):
                    for sat in ("", ".sat") if fmt is not BF16 else ("",):
                        def meaning(a, fmt=fmt, to=to, m=mode, z=ftz):
                            pair = fmt.value(fmt.flush(a) if z else a)
                            if pair[1] == NAN:
                                return 1 << bits_of(to) - 1 if fmt is F64 or bits_of(to) == 64 else 0
                            low, high = limits(to)
                            if pair[1] == INF:
                                return low if pair[0] else high
                            return clamp(to, whole(pair, m))
                        f.row(f"cvt.{mode}{ftz}{sat}.{to}.{fmt.name}", [to], [fmt.name], meaning,
                              cases=float_edges(fmt)[::3] if sat else float_edges(fmt))


def integral(f, formats):
    for fmt in formats:
        for mode in ("rni", "rzi", "rmi", "rpi"):
            for ftz in ("", ".ftz") if fmt is F32 else ("",):
                for sat in ("", ".sat") if fmt is F32 else ("",):
                    def meaning(a, fmt=fmt, m=mode, z=ftz, sat=sat):
                        a = fmt.flush(a) if z else a
                        pair = fmt.value(a)
                        if pair[1] == NAN:
                            return 0 if sat else fmt.nan
                        got = a if pair[1] == INF else fmt.round(pair[0], abs(whole(pair, m)))
                        return floats.saturate(fmt, got) if sat else got
                    t = fmt.name
                    f.row(f"cvt.{mode}{ftz}{sat}.{t}.{t}", [t], [t], meaning, cases=float_edges(fmt))


def between_floats(f, g):
    def convert(source, to, mode="rn", ftz=False, sat=False, relu=False):
        def meaning(a):
            a = source.flush(a) if ftz and source is F32 else a
            if source is F64 and source.value(a)[1] == NAN and not sat:
                # The payload's high bits stay, and the NaN is quiet.
                cut = source.fraction - to.fraction
                quiet = a | 1 << source.fraction - 1
                return (to.sign if a & source.sign else 0) | to.inf | quiet >> cut & (1 << to.fraction) - 1
            # Flushed is what is below the least normal number after rounding as if exponents had no bound.
            if ftz and source is F64 and to is F32 and floats.F32_UNBOUNDED.round(*source.value(a), mode) & to.inf == 0:
                return to.sign if a & source.sign and not sat else 0
            got = to.round(*source.value(a), mode)
            if got is None:
                return 0 if sat else None
            if relu and to.value(got)[1] != NAN and got & to.sign:
                got = 0
            got = floats.saturate(to, got) if sat else got
            return to.flush(got) if ftz and to is F32 else got
        return meaning

    for fmt in (F32, F64):  # Any payload of NaN.
        t = fmt.name
        f.row(f"cvt.{t}.{t}", [t], [t], lambda a, fmt=fmt: None if fmt.value(a)[1] == NAN else a, cases=float_edges(fmt))
    for h in (F16, BF16):
        def finite(a, h=h, relu=convert(F32, h, relu=True)):
            got = relu(a)
            return got - 1 if h.value(got)[1] == INF else got
        g.row(f"cvt.rn.relu.satfinite.{h.name}.f32", [h.name], ["f32"], finite, cases=[*float_edges(F32), *near(F32, h)])

    def row(file, name, source, to, **how):
        file.row(name, [to.name], [source.name], convert(source, to, **how), cases=[*float_edges(source), *near(source, to)])
    for mode in MODES:
        for ftz in ("", ".ftz"):
            for sat in ("", ".sat"):
                row(f, f"cvt.{mode}{ftz}{sat}.f32.f64", F64, F32, mode=mode, ftz=bool(ftz), sat=bool(sat))
    for ftz in ("", ".ftz"):
        for sat in ("", ".sat"):
            row(f, f"cvt{ftz}{sat}.f32.f32", F32, F32, ftz=bool(ftz), sat=bool(sat)) if ftz or sat else None
            row(f, f"cvt{ftz}{sat}.f64.f32", F32, F64, ftz=bool(ftz), sat=bool(sat))
    for h, file in ((F16, f), (BF16, g)):
        t = h.name
        if h is F16:
            row(file, f"cvt.f32.{t}", h, F32)
        else:  # The bits move up, those of NaN too.
            file.row(f"cvt.f32.{t}", ["f32"], [t], lambda a: a << 16, cases=float_edges(h))
        row(file, f"cvt.f64.{t}", h, F64)
        row(file, f"cvt.rn.{t}.f32", F32, h)
        row(file, f"cvt.rz.{t}.f32", F32, h, mode="rz")
        row(file, f"cvt.rn.relu.{t}.f32", F32, h, relu=True)
        row(file, f"cvt.rn.{t}.f64", F64, h)
        for mode in ("rn", "rz"):
            for relu in ("", ".relu"):
                one = convert(F32, h, mode, relu=bool(relu))
                file.row(f"cvt.{mode}{relu}.{t}x2.f32", ["b32"], ["f32", "f32"],
                         lambda high, low, one=one: one(high) << 16 | one(low), count=20)
    row(f, "cvt.rm.f16.f32", F32, F16, mode="rm")
    row(f, "cvt.rp.f16.f32", F32, F16, mode="rp")
    row(f, "cvt.rn.sat.f16.f32", F32, F16, sat=True)
    row(f, "cvt.rn.ftz.f16.f32", F32, F16, ftz=True)
    row(f, "cvt.rz.ftz.f16.f32", F32, F16, mode="rz", ftz=True)
    for mode in ("rm", "rp"):  # The chip keeps subnormal operands here, .ftz or not.
        row(f, f"cvt.{mode}.ftz.f16.f32", F32, F16, mode=mode)
    row(f, "cvt.ftz.f32.f16", F16, F32)
    row(f, "cvt.sat.f32.f16", F16, F32, sat=True)
    tf32 = floats.Format("tf32", 8, 10, 0x3FFFF)
    for name, mode in (("rna", "rna"), ("rn", "rn"), ("rz", "rz")):
        def meaning(a, m=mode):
            pair = F32.value(a)
            return None if pair[1] == NAN else tf32.round(*pair, m) << 13
        (f if name == "rna" else g).row(f"cvt.{name}.tf32.f32", ["b32"], ["f32"], meaning, cases=[*float_edges(F32), *near(F32, F16)])


def near(source, to):
    """Values half-way between two of the narrower format, and next to that."""
    out = []
    for b in (0x3C01, 0x3C02, 0x0001, 0x03FF, 0x7BFF) if to.fraction <= 10 else (0x3F800001, 0x3F800002, 1, 0x7FFFFF, 0x7F7FFFFF):
        fmt = F16 if to.fraction <= 10 else F32
        _, size = fmt.value(b)
        _, more = fmt.value(b + 1)
        middle = (size + (more if more != INF else 2 * size)) / 2 if to is fmt else size * Fraction(257, 256)
        for v in (middle, middle * (1 + Fraction(1, 1 << 22)), middle * (1 - Fraction(1, 1 << 22))):
            out += [[source.round(False, v)], [source.round(True, v)]]
    return out


def files():
    f, g = File("convert_integers"), File("convert")
    h, i = File("convert_sm90", "sm_90"), File("convert_to_integers")
    between_integers(f)
    to_floats(f, (F32, F64, F16))
    to_floats(h, (BF16,))
    to_integers(i, (F32, F64, F16))
    to_integers(h, (BF16,))
    integral(g, (F32, F64, F16))
    integral(h, (BF16,))
    between_floats(g, h)
    return [f, g, h, i]
