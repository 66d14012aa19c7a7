"""f32, f64, f16 and bf16: arithmetic in every rounding, comparison, the special values of approximations."""
from fractions import Fraction

from . import floats
from .floats import BF16, F16, F32, F64, INF, NAN
from .table import File, edges

MODES = ("rn", "rz", "rm", "rp")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def canonical(fmt, meaning):
    """NaN of f64 may have any payload."""
    def told(*bits):
        got = meaning(*bits)
        return None if got is None or (fmt is F64 and fmt.value(got)[1] == NAN) else got
    return told


def with_modifiers(fmt, meaning, ftz, sat, cut=None):
    """`cut` rounds as if exponents had no lower bound: the chip flushes what is below the least normal number then."""
    def told(*bits):
        bits = [fmt.flush(b) for b in bits] if ftz else bits
        got = meaning(*bits)
        if ftz and cut and cut(*bits) & fmt.inf == 0:
            got = got & fmt.sign
        got = floats.saturate(fmt, got) if sat and got is not None else got
        return fmt.flush(got) if ftz and got is not None else got
    return canonical(fmt, told)


def plain(negate=False):
    return {"add": (2, floats.add), "sub": (2, lambda f, a, b, m: floats.add(f, a, b, m, subtract=True)),
            "mul": (2, floats.mul), "fma": (3, floats.fma), "mad": (3, floats.fma), "div": (2, floats.div),
            "rcp": (1, lambda f, a, m: floats.div(f, f.round(False, Fraction(1)), a, m)), "sqrt": (1, floats.sqrt)}


def arithmetic(f, fmt):
    t = fmt.name
    for name, (count, meaning) in plain().items():
        for mode in MODES:
            for ftz in ("", ".ftz") if t == "f32" else ("",):
                for sat in ("", ".sat") if t == "f32" and name in ("add", "sub", "mul", "fma", "mad") else ("",):
                    full = with_modifiers(fmt, lambda *b, m=mode, g=meaning: g(fmt, *b, m), ftz, sat,
                                          (lambda *b, m=mode, g=meaning: g(floats.F32_UNBOUNDED, *b, m)) if ftz else None)
                    f.row(f"{name}.{mode}{ftz}{sat}.{t}", [t], [t] * count, full, count=18 if mode == "rn" else 12)
    if fmt is F32:
        # Products that round up to the least normal number: what is flushed?
        near = [[0x3F7FFFFF, 0x00800000], [0x3F7FFFFE, 0x00800000], [0x3F7FFFFF, 0x80800000], [0x3F000001, 0x00FFFFFE]]
        for mode in MODES:
            f.row(f"mul.{mode}.ftz.f32 near the least normal", [t], [t, t],
                  with_modifiers(fmt, lambda a, b, m=mode: floats.mul(fmt, a, b, m), True, False,
                                 lambda a, b, m=mode: floats.mul(floats.F32_UNBOUNDED, a, b, m)), f"mul.{mode}.ftz.f32 %d, %a, %b;", cases=near)
    for name in ("add", "sub", "mul"):
        f.row(f"{name}.{t}", [t], [t, t], with_modifiers(fmt, lambda a, b, g=plain()[name][1]: g(fmt, a, b, "rn"), "", ""))
    half = fmt.sign
    for ftz in ("", ".ftz") if t == "f32" else ("",):
        number = lambda g, z=ftz: lambda a: None if fmt.value(a)[1] == NAN else (fmt.flush(g(a)) if z else g(a))
        f.row(f"neg{ftz}.{t}", [t], [t], number(lambda a: a ^ half))
        f.row(f"abs{ftz}.{t}", [t], [t], number(lambda a: a & ~half))
        for name in ("min", "max"):
            f.row(f"{name}{ftz}.{t}", [t], [t, t],
                  with_modifiers(fmt, lambda a, b, n=name: floats.minmax(fmt, a, b, n == "min"), ftz, ""), count=20)
            if t == "f32":
                minmax_forms(f, name, ftz)
    comparisons(f, fmt)
    f.row(f"copysign.{t}", [t], [t, t], lambda a, b: a & half | b & ~half)
    kinds = {"finite": lambda v: v not in (INF, NAN), "infinite": lambda v: v == INF, "number": lambda v: v != NAN,
             "notanumber": lambda v: v == NAN, "normal": lambda v: v not in (INF, NAN) and (v == 0 or v >= fmt.least * (1 << fmt.fraction)),
             "subnormal": lambda v: v not in (INF, NAN) and 0 < v < fmt.least * (1 << fmt.fraction)}
    for name, test in kinds.items():
        f.row(f"testp.{name}.{t}", ["pred"], [t], lambda a, test=test: int(test(fmt.value(a)[1])))


def minmax_forms(f, name, ftz):
    least = name == "min"

    def forms(nan, absolute):
        def meaning(*bits):
            bits = [F32.flush(b) for b in bits] if ftz else list(bits)
            sign = 0
            for b in bits:
                sign ^= b & F32.sign
            if absolute:
                bits = [b & ~F32.sign for b in bits]
            got = bits[0]
            for b in bits[1:]:
                got = floats.minmax(F32, got, b, least, nan)
            if absolute == "xorsign" and F32.value(got)[1] != NAN:
                got = got & ~F32.sign | sign
            return got
        return meaning
    f.row(f"{name}{ftz}.NaN.f32", ["f32"], ["f32"] * 2, forms(True, ""), count=20)


def comparisons(f, fmt):
    t = fmt.name
    for name in COMPARISONS:
        f.row(f"setp.{name}.{t}", ["pred"], [t, t], lambda a, b, n=name: int(floats.compare(fmt, n, a, b)), count=20)
        if fmt is F64:
            continue
        f.row(f"setp.{name}.ftz.{t}", ["pred"], [t, t],
              lambda a, b, n=name: int(floats.compare(fmt, n, fmt.flush(a), fmt.flush(b))), count=20) if fmt is not BF16 else None
    f.row(f"set.ltu.u32.{t}", ["u32"], [t, t], lambda a, b: -int(floats.compare(fmt, "ltu", a, b)))
    if fmt not in (F16, BF16):
        f.row(f"set.ge.f32.{t}", ["f32"], [t, t], lambda a, b: 0x3F800000 if floats.compare(fmt, "ge", a, b) else 0)


def approximations(f):
    """What the ISA's tables say of zeros, infinities and NaN; between them an error bound holds, which the
    models of runtime/emulator/numerics are proven against."""
    z, n, one, inf, nan = 0, 0x80000000, 0x3F800000, 0x7F800000, 0x7FFFFFFF
    minus = 0x80000000
    tables = {"rcp": [(inf, z), (inf | minus, n), (z, inf), (n, inf | minus)],
              "sqrt": [(inf, inf), (inf | minus, nan), (z, z), (n, n), (0xBF800000, nan)],
              "rsqrt": [(inf, z), (inf | minus, nan), (z, inf), (n, inf | minus), (0xBF800000, nan)],
              "sin": [(inf, nan), (inf | minus, nan), (z, z), (n, n)], "cos": [(inf, nan), (inf | minus, nan), (z, one), (n, one)],
              "lg2": [(inf, inf), (inf | minus, nan), (z, inf | minus), (n, inf | minus), (0xBF800000, nan)],
              "ex2": [(inf, inf), (inf | minus, z), (z, one), (n, one)]}
    for name, table in tables.items():
        table = dict(table + [(0x7FC00000, nan)])
        for ftz in ("", ".ftz"):
            f.row(f"{name}.approx{ftz}.f32", ["f32"], ["f32"], lambda a, t=table: t[a], cases=[[a] for a in table])
    table = {inf: one, inf | minus: one | minus, z: z, n: n, 0x7FC00000: nan}
    f.row("tanh.approx.f32", ["f32"], ["f32"], lambda a: table[a], cases=[[a] for a in table])
    exact = {(one, one): one, (0x40000000, one): 0x40000000, (one, 0x40000000): 0x3F000000, (z, one): z, (one, z): inf,
             (one | minus, z): inf | minus, (z, z): nan, (one, inf): z, (inf, one): inf, (inf, inf): nan, (0x7FC00000, one): nan}
    for kind in ("full", "approx"):
        for ftz in ("", ".ftz"):
            f.row(f"div.{kind}{ftz}.f32", ["f32"], ["f32", "f32"], lambda a, b: exact[a, b], cases=[list(k) for k in exact])
    wide = 0x7FF << 52
    top = 1 << 63
    seeds = {wide: 0, wide | top: top, 0: wide, top: wide | top, 1: wide, top | 1: wide | top, wide | 1 << 51: None}
    f.row("rcp.approx.ftz.f64", ["f64"], ["f64"], lambda a: seeds[a], cases=[[a] for a in seeds])
    roots = {wide: 0, wide | top: None, 0: wide, top: wide | top, 0xBFF << 52: None, wide | 1 << 51: None}
    for name in ("rsqrt.approx.f64", "rsqrt.approx.ftz.f64"):
        f.row(name, ["f64"], ["f64"], lambda a: roots[a], cases=[[a] for a in roots])


def paired(fmt, meaning):
    """On each half of a packed operand."""
    def told(*words):
        halves = [meaning(*(w >> s & 0xFFFF for w in words)) for s in (0, 16)]
        return None if None in halves else halves[0] | halves[1] << 16
    return told


def halves(f, fmt, only=None):
    t, packed = fmt.name, f"{fmt.name}x2"

    def both(name, arity, meaning, **how):
        f.row(f"{name}.{t}", [t], [t] * arity, meaning, **how)
        f.row(f"{name}.{packed}", [packed], [packed] * arity, paired(fmt, meaning), **how)
    flushes = ("", ".ftz") if fmt is F16 else ("",)
    for name, (count, meaning) in plain().items():
        if name not in ("add", "sub", "mul", "fma"):
            continue
        for ftz in flushes:
            for sat in ("", ".sat") if fmt is F16 else ("",):
                both(f"{name}.rn{ftz}{sat}", count, with_modifiers(fmt, lambda *b, g=meaning: g(fmt, *b, "rn"), ftz, sat), count=18)
    for ftz in flushes:
        relu = lambda a, b, c: (lambda v: v if fmt.value(v)[1] == NAN else 0 if v & fmt.sign else v)(floats.fma(fmt, a, b, c))
        both(f"fma.rn{ftz}.relu", 3, with_modifiers(fmt, relu, ftz, ""), count=18)
        for name in ("min", "max"):
            for nan in ("", ".NaN"):
                both(f"{name}{ftz}{nan}", 2, with_modifiers(
                    fmt, lambda a, b, n=name, p=nan: floats.minmax(fmt, a, b, n == "min", bool(p)), ftz, ""), count=20)
        number = lambda g, z=ftz: lambda a: None if fmt.value(a)[1] == NAN else (fmt.flush(g(a)) if z else g(a))
        both(f"neg{ftz}", 1, number(lambda a: a ^ fmt.sign))
        both(f"abs{ftz}", 1, number(lambda a: a & ~fmt.sign))
    comparisons(f, fmt)
    for name in COMPARISONS:
        for ftz in flushes:
            took = fmt.flush if ftz else (lambda b: b)
            f.row(f"setp.{name}{ftz}.{packed}", ["pred", "pred"], [packed, packed],
                  lambda a, b, n=name, t=took: [int(floats.compare(fmt, n, t(a >> s & 0xFFFF), t(b >> s & 0xFFFF))) for s in (0, 16)],
                  f"setp.{name}{ftz}.{packed} %d|%e, %a, %b;")
    one = fmt.round(False, Fraction(1))
    ex2 = {fmt.inf: fmt.inf, fmt.inf | fmt.sign: 0, 0: one, fmt.sign: one, fmt.nan: fmt.nan}
    tanh = {fmt.inf: one, fmt.inf | fmt.sign: one | fmt.sign, 0: 0, fmt.sign: fmt.sign, fmt.nan: fmt.nan}
    for name, table in ((f"ex2.approx{'.ftz' if fmt is BF16 else ''}", ex2), ("tanh.approx", tanh)):
        f.row(f"{name}.{t}", [t], [t], lambda a, m=table: m[a], cases=[[a] for a in table])
        words = [a << 16 | b for a, b in zip(table, list(table)[::-1])]
        f.row(f"{name}.{packed}", [packed], [packed], paired(fmt, lambda a, m=table: m[a]), cases=[[w] for w in words])


def xorsign(f, fmt):
    """The larger or smaller magnitude, with the product of the signs."""
    def meaning(least, nan, ftz):
        def told(a, b):
            a, b = (fmt.flush(v) if ftz else v for v in (a, b))
            got = floats.minmax(fmt, a & ~fmt.sign, b & ~fmt.sign, least, nan)
            return got if fmt.value(got)[1] == NAN else got | (a ^ b) & fmt.sign
        return told
    t = fmt.name
    for name in ("min", "max"):
        for nan in ("", ".NaN"):
            for ftz in ("", ".ftz") if fmt is F16 else ("",):
                one = meaning(name == "min", bool(nan), bool(ftz))
                f.row(f"{name}{ftz}{nan}.xorsign.abs.{t}", [t], [t, t], one, count=20)
                f.row(f"{name}{ftz}{nan}.xorsign.abs.{t}x2", [f"{t}x2"], [f"{t}x2"] * 2, paired(fmt, one), count=20)


def files():
    f, g = File("f32"), File("f64")
    arithmetic(f, F32)
    arithmetic(g, F64)
    h, i, j = File("approximate"), File("f16"), File("bf16_sm90", "sm_90")
    approximations(h)
    halves(i, F16)
    halves(j, BF16)
    k = File("xorsign_sm90", "sm_90")
    xorsign(k, F16)
    xorsign(k, BF16)
    return [f, g, h, i, j, k]
