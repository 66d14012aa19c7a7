"""Integer arithmetic, bits, comparison and selection."""
from .table import File, bits_of

INTS = ("s16", "u16", "s32", "u32", "s64", "u64")


def value(kind, bits):
    width = bits_of(kind)
    bits &= (1 << width) - 1
    return bits - (1 << width) if kind[0] == "s" and bits >> width - 1 else bits


def limits(kind):
    width = bits_of(kind)
    return (-(1 << width - 1), (1 << width - 1) - 1) if kind[0] == "s" else (0, (1 << width) - 1)


def clamp(kind, v):
    low, high = limits(kind)
    return max(low, min(high, v))


def quotient(a, b):
    size = abs(a) // abs(b)
    return -size if (a < 0) != (b < 0) else size


def on(kind, meaning):
    return lambda *bits: meaning(*(value(kind, b) for b in bits))


def divisible(kind):
    return lambda a, b: b != 0 and not (value(kind, b) == -1 and value(kind, a) == limits(kind)[0])


def arithmetic(f, t):
    width = bits_of(t)

    def row(name, count, meaning, keep=None):
        f.row(f"{name}.{t}", [t], [t] * count, on(t, meaning), keep=keep)

    row("add", 2, lambda a, b: a + b)
    row("sub", 2, lambda a, b: a - b)
    row("mul.lo", 2, lambda a, b: a * b)
    row("mul.hi", 2, lambda a, b: a * b >> width)
    row("mad.lo", 3, lambda a, b, c: a * b + c)
    row("mad.hi", 3, lambda a, b, c: (a * b >> width) + c)
    row("div", 2, quotient, divisible(t))
    row("rem", 2, lambda a, b: a - b * quotient(a, b), divisible(t))
    row("min", 2, min)
    row("max", 2, max)
    row("sad", 3, lambda a, b, c: c + abs(a - b))
    row("neg", 1, lambda a: -a) if t[0] == "s" else None
    row("abs", 1, abs) if t[0] == "s" else None
    f.row(f"shr.{t}", [t], [t, "u32"], lambda a, n: value(t, a) >> min(n, 4096),
          cases=[[a, n] for a in (1 << width - 1, (1 << width) - 1, 0x5A) for n in (0, 1, width - 1, width, width + 1, 0xFFFFFFFF)])
    if width < 64:
        wide = f"{t[0]}{2 * width}"
        f.row(f"mul.wide.{t}", [wide], [t, t], on(t, lambda a, b: a * b))
        f.row(f"mad.wide.{t}", [wide], [t, t, wide], lambda a, b, c: value(t, a) * value(t, b) + c)
    if width >= 32:
        fields(f, t, width)


def fields(f, t, width):
    def bfe(a, position, length):
        if width == 32:  # The 64-bit forms take all bits of both.
            position, length = position & 255, length & 255
        if length == 0:
            return 0
        bits = [a >> i & 1 for i in range(width)]
        sign = bits[min(position + length - 1, width - 1)] if t[0] == "s" else 0
        return sum((bits[position + i] if i < length and position + i < width else sign) << i for i in range(width))

    def bfind(shift):
        def meaning(a):
            v = value(t, a)
            v = ~v if v < 0 else v
            if v == 0:
                return 0xFFFFFFFF
            at = v.bit_length() - 1
            return width - 1 - at if shift else at
        return meaning

    cases = [[a, p, n] for a in (0x89ABCDEF01234567 & (1 << width) - 1, (1 << width) - 1)
             for p, n in ((0, 8), (4, 8), (31, 1), (20, 30), (0, 32), (width - 1, 5), (40, 8), (3, 0), (260, 8), (255, 255))]
    f.row(f"bfe.{t}", [t], [t, "u32", "u32"], bfe, cases=cases)
    f.row(f"bfind.{t}", ["u32"], [t], bfind(False))
    f.row(f"bfind.shiftamt.{t}", ["u32"], [t], bfind(True))


def bits(f, t):
    width = bits_of(t)
    ones = (1 << width) - 1
    f.row(f"and.{t}", [t], [t, t], lambda a, b: a & b)
    f.row(f"or.{t}", [t], [t, t], lambda a, b: a | b)
    f.row(f"xor.{t}", [t], [t, t], lambda a, b: a ^ b)
    f.row(f"not.{t}", [t], [t], lambda a: ~a)
    f.row(f"cnot.{t}", [t], [t], lambda a: int(a == 0))
    f.row(f"shl.{t}", [t], [t, "u32"], lambda a, n: a << min(n, 4096),
          cases=[[a, n] for a in (1, ones, 0x5A5A) for n in (0, 1, 15, width - 1, width, width + 1, 0xFFFFFFFF)])
    f.row(f"shr.{t}", [t], [t, "u32"], lambda a, n: a >> min(n, 4096),
          cases=[[a, n] for a in (1 << width - 1, ones, 0x5A) for n in (0, 1, width - 1, width, 0xFFFFFFFF)])
    if width < 32:
        return

    def bfi(field, base, position, length):
        if width == 32:
            position, length = position & 255, length & 255
        mask = ((1 << length) - 1) << position & ones
        return base & ~mask | field << position & mask
    f.row(f"bfi.{t}", [t], [t, t, "u32", "u32"], bfi,
          cases=[[ones, 0, p, n] for p, n in ((0, 8), (4, 8), (31, 1), (20, 30), (0, width), (width - 1, 5), (3, 0), (200, 8), (260, 4))] +
          [[0, ones, 5, 9], [0x1234, 0x5555, 8, 16]])
    f.row(f"brev.{t}", [t], [t], lambda a: int(f"{a:0{width}b}"[::-1], 2))
    f.row(f"popc.{t}", ["u32"], [t], lambda a: bin(a).count("1"))
    f.row(f"clz.{t}", ["u32"], [t], lambda a: width - a.bit_length())


def words(f):
    def shf(left, wrap):
        def meaning(low, high, n):
            n = n & 31 if wrap else min(n, 32)
            both = high << 32 | low
            return (both << n) >> 32 & 0xFFFFFFFF if left else both >> n & 0xFFFFFFFF
        return meaning
    cases = [[0x89ABCDEF, 0x01234567, n] for n in (0, 1, 16, 31, 32, 33, 63, 64, 0xFFFFFFFF)]
    for side in "lr":
        for mode in ("wrap", "clamp"):
            f.row(f"shf.{side}.{mode}.b32", ["b32"], ["b32"] * 3, shf(side == "l", mode == "wrap"), cases=cases)

    def bmsk(wrap):
        def meaning(start, width):
            start, width = (start & 31, width & 31) if wrap else (start, min(width, 32))
            return 0 if start >= 32 else ((1 << width) - 1) << start
        return meaning
    pairs = [[a, b] for a, b in ((0, 0), (0, 32), (3, 5), (31, 1), (31, 9), (32, 4), (40, 1), (2, 33), (5, 0), (0xFFFFFFFF, 3))]
    f.row("bmsk.clamp.b32", ["b32"], ["b32", "b32"], bmsk(False), cases=pairs)
    f.row("bmsk.wrap.b32", ["b32"], ["b32", "b32"], bmsk(True), cases=pairs)

    def szext(sign, wrap):
        def meaning(a, n):
            if wrap:
                n &= 31
            if n == 0:
                return 0
            if n >= 32:
                return a
            kept = a & (1 << n) - 1
            return kept | (~((1 << n) - 1) if sign and kept >> n - 1 else 0)
        return meaning
    widths = [[a, n] for a in (0x89ABCDEF, 0x7FFFFFFF, 0x00000080) for n in (0, 1, 8, 16, 31, 32, 33, 40, 0xFFFFFFFF)]
    for sign in "su":
        for mode in ("wrap", "clamp"):
            f.row(f"szext.{mode}.{sign}32", [f"{sign}32"], [f"{sign}32", "u32"], szext(sign == "s", mode == "wrap"), cases=widths)

    def fns(mask, base, offset):
        """The offset-th set bit from `base` on, upwards or downwards; 0: `base` itself when it is set."""
        offset = value("s32", offset)
        if offset == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        found = [i for i in (range(base, 32) if offset > 0 else range(base, -1, -1)) if mask >> i & 1]
        return found[abs(offset) - 1] if abs(offset) <= len(found) else 0xFFFFFFFF
    f.row("fns.b32", ["b32"], ["b32", "b32", "s32"], fns,
          cases=[[m, b, o & 0xFFFFFFFF] for m in (0xF0F0A5A5, 0xFFFFFFFF, 1) for b in (0, 3, 31, 16) for o in (0, 1, -1, 4, -3)])

    def prmt(mode):
        tables = {"f4e": lambda c, i: c + i, "b4e": lambda c, i: c - i & 7, "rc8": lambda c, i: c,
                  "ecl": lambda c, i: max(i, c), "ecr": lambda c, i: min(i, c), "rc16": lambda c, i: 2 * (c & 1) + (i & 1)}

        def meaning(a, b, c):
            data = [(b << 32 | a) >> 8 * i & 255 for i in range(8)]
            out = 0
            for i in range(4):
                pick = tables[mode](c & 3, i) if mode else c >> 4 * i & 15
                byte = data[pick & 7]
                out |= (255 if byte & 128 else 0) << 8 * i if mode is None and pick & 8 else byte << 8 * i
            return out
        return meaning
    f.row("prmt.b32", ["b32"], ["b32"] * 3, prmt(None),
          cases=[[0x83828180, 0x07868504, c] for c in (0x3210, 0x7654, 0x5410, 0xFEDC, 0x8888, 0x0123, 0xFFFF3715)])
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        f.row(f"prmt.b32.{mode}", ["b32"], ["b32"] * 3, prmt(mode), cases=[[0x33221100, 0x77665544, c] for c in (0, 1, 2, 3, 7)])

    def lop3(table):
        return lambda a, b, c: sum((table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32))
    for table in (0xE8, 0x96, 0x1B, 0x00, 0xFF):
        f.row(f"lop3.b32 {table:#x}", ["b32"], ["b32"] * 3, lop3(table), f"lop3.b32 %d, %a, %b, %c, {table:#x};",
              cases=[[0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA], [0x12345678, 0x9ABCDEF0, 0x0F1E2D3C]])

    def low24(kind, a):
        return value("s32", a << 8) >> 8 if kind == "s32" else a & 0xFFFFFF
    for t in ("s32", "u32"):
        for part, shift in (("lo", 0), ("hi", 16)):
            f.row(f"mul24.{part}.{t}", [t], [t, t], lambda a, b, t=t, s=shift: low24(t, a) * low24(t, b) >> s)
            f.row(f"mad24.{part}.{t}", [t], [t, t, t], lambda a, b, c, t=t, s=shift: (low24(t, a) * low24(t, b) >> s) + c)
    f.row("mad24.hi.sat.s32", ["s32"], ["s32"] * 3,
          lambda a, b, c: clamp("s32", (low24("s32", a) * low24("s32", b) >> 16) + value("s32", c)))
    f.row("add.sat.s32", ["s32"], ["s32"] * 2, on("s32", lambda a, b: clamp("s32", a + b)))
    f.row("sub.sat.s32", ["s32"], ["s32"] * 2, on("s32", lambda a, b: clamp("s32", a - b)))
    f.row("mad.hi.sat.s32", ["s32"], ["s32"] * 3, on("s32", lambda a, b, c: clamp("s32", (a * b >> 32) + c)))


def dots(f):
    def parts(kind, word, size, count, first=0):
        return [value(f"{kind[0]}{size}", word >> size * (first + i)) for i in range(count)]
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            f.row(f"dp4a.{a}.{b}", ["b32"], ["b32"] * 3,
                  lambda x, y, c, a=a, b=b: c + sum(p * q for p, q in zip(parts(a, x, 8, 4), parts(b, y, 8, 4))))
            for half in ("lo", "hi"):
                f.row(f"dp2a.{half}.{a}.{b}", ["b32"], ["b32"] * 3,
                      lambda x, y, c, a=a, b=b, h=half: c + sum(
                          p * q for p, q in zip(parts(a, x, 16, 2), parts(b, y, 8, 2, 2 if h == "hi" else 0))))


def comparisons(f):
    tests = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
             "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
    aliases = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
    for t in INTS:
        for name, test in tests.items():
            f.row(f"setp.{name}.{t}", ["pred"], [t, t], on(t, lambda a, b, test=test: int(test(a, b))))
        for name in aliases if t[0] == "u" else ():
            f.row(f"setp.{name}.{t}", ["pred"], [t, t], on(t, lambda a, b, test=tests[aliases[name]]: int(test(a, b))))
    for t in ("b16", "b32", "b64"):
        for name in ("eq", "ne"):
            f.row(f"setp.{name}.{t}", ["pred"], [t, t], lambda a, b, test=tests[name]: int(test(a, b)))
    for name, join in (("and", lambda p, q: p and q), ("or", lambda p, q: p or q), ("xor", lambda p, q: p != q)):
        f.row(f"setp.lt.{name}.s32 p|q", ["pred", "pred"], ["s32", "s32", "pred"],
              lambda a, b, p, j=join: (int(j(value("s32", a) < value("s32", b), bool(p))),
                                       int(j(not value("s32", a) < value("s32", b), bool(p)))),
              f"setp.lt.{name}.s32 %d|%e, %a, %b, %c;")
        f.row(f"setp.ge.{name}.u32 !p", ["pred"], ["u32", "u32", "pred"], lambda a, b, p, j=join: int(j(a >= b, not p)),
              f"setp.ge.{name}.u32 %d, %a, %b, !%c;")
        f.row(f"{name}.pred", ["pred"], ["pred", "pred"], lambda p, q, j=join: int(j(bool(p), bool(q))),
              cases=[[0, 0], [0, 1], [1, 0], [1, 1]])
    f.row("not.pred", ["pred"], ["pred"], lambda p: 1 - p)
    f.row("mov.pred", ["pred"], ["pred"], lambda p: p)
    f.row("set.lt.u32.s32", ["u32"], ["s32", "s32"], on("s32", lambda a, b: -int(a < b)))
    f.row("set.gt.s32.u64", ["s32"], ["u64", "u64"], lambda a, b: -int(a > b))
    f.row("set.ne.f32.s16", ["f32"], ["s16", "s16"], lambda a, b: 0x3F800000 if a != b else 0)
    f.row("set.eq.and.u32.u32", ["u32"], ["u32", "u32", "pred"], lambda a, b, p: -int(a == b and bool(p)))


def selections(f):
    for kinds in (("b16", "u16", "s16"), ("b32", "u32", "s32", "f32"), ("b64", "u64", "s64", "f64")):
        for t in kinds:
            f.row(f"selp.{t}", [t], [t, t, "pred"], lambda a, b, p: a if p else b)
            f.row(f"slct.{t}.s32", [t], [t, t, "s32"], lambda a, b, c: a if value("s32", c) >= 0 else b)
            # NaN is not at least 0; -0 is.
            holds = lambda c: c & 0x7FFFFFFF <= 0x7F800000 and (c >> 31 == 0 or c == 0x80000000)
            f.row(f"slct.{t}.f32", [t], [t, t, "f32"], lambda a, b, c: a if holds(c) else b, count=18)
            small = lambda c: 0 if c & 0x7F800000 == 0 else c
            f.row(f"slct.ftz.{t}.f32", [t], [t, t, "f32"], lambda a, b, c: a if holds(small(c)) else b, count=18)
            f.row(f"mov.{t}", [t], [t], lambda a: a)
    f.row("mov.b32 pack", ["b32"], ["b16", "b16"], lambda a, b: b << 16 | a, "mov.b32 %d, {%a, %b};")
    f.row("mov.b32 unpack", ["b16", "b16"], ["b32"], lambda a: (a & 0xFFFF, a >> 16), "mov.b32 {%d, %e}, %a;")
    f.row("mov.b64 pack", ["b64"], ["b32", "b32"], lambda a, b: b << 32 | a, "mov.b64 %d, {%a, %b};")
    f.row("mov.b64 unpack", ["b32", "b32"], ["b64"], lambda a: (a & 0xFFFFFFFF, a >> 32), "mov.b64 {%d, %e}, %a;")
    f.row("mov.b64 of four", ["b64"], ["b16"] * 4, lambda a, b, c, d: d << 48 | c << 32 | b << 16 | a,
          "mov.b64 %d, {%a, %b, %c, %h};")
    f.row("mov.b64 to four", ["b16"] * 4, ["b64"], lambda a: [a >> 16 * i & 0xFFFF for i in range(4)],
          "mov.b64 {%d, %e, %f, %g}, %a;")
    f.row("mov.b64 half dropped", ["b32"], ["b64"], lambda a: a >> 32, "mov.b64 {_, %d}, %a;")


def halfwords(f):
    f.row("min.relu.s32", ["s32"], ["s32"] * 2, on("s32", lambda a, b: max(0, min(a, b))))
    f.row("max.relu.s32", ["s32"], ["s32"] * 2, on("s32", lambda a, b: max(0, a, b)))
    for t in ("s16x2", "u16x2"):
        one = t[:3]

        def both(meaning, one=one):
            return lambda a, b: sum((meaning(value(one, a >> s), value(one, b >> s)) & 0xFFFF) << s for s in (0, 16))
        f.row(f"add.{t}", [t], [t, t], both(lambda a, b: a + b))
        f.row(f"min.{t}", [t], [t, t], both(min))
        f.row(f"max.{t}", [t], [t, t], both(max))
        if one == "s16":
            f.row(f"min.relu.{t}", [t], [t, t], both(lambda a, b: max(0, min(a, b))))
            f.row(f"max.relu.{t}", [t], [t, t], both(lambda a, b: max(0, a, b)))


def video(f):
    meanings = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "min": min, "max": max,
                "avrg": lambda a, b: a + b + int(a + b >= 0) >> 1,  # Half goes away from zero.
                "absdiff": lambda a, b: abs(a - b)}
    for lanes in (2, 4):
        size = 32 // lanes
        for of in ("s32", "u32"):
            for name, meaning in meanings.items():
                def each(a, b, of=of, m=meaning, size=size, lanes=lanes):
                    kind = f"{of[0]}{size}"
                    return [m(value(kind, a >> size * i), value(kind, b >> size * i)) for i in range(lanes)]

                def pack(values, size=size):
                    return sum((v & (1 << size) - 1) << size * i for i, v in enumerate(values))
                # The result's type says how lanes are clamped and summed.
                for to in ("s32", "u32"):
                    kind = f"{to[0]}{size}"
                    f.row(f"v{name}{lanes}.{to}.{of}.{of}", [to], ["b32"] * 3,
                          lambda a, b, c, e=each, p=pack: p(e(a, b)))
                    f.row(f"v{name}{lanes}.{to}.{of}.{of}.add", [to], ["b32"] * 3,
                          lambda a, b, c, e=each, k=kind: c + sum(e(a, b)))
                    if name in ("add", "sub", "absdiff"):
                        f.row(f"v{name}{lanes}.{to}.{of}.{of}.sat", [to], ["b32"] * 3,
                              lambda a, b, c, e=each, p=pack, k=kind: p(clamp(k, v) for v in e(a, b)))


def carries(f):
    for t in ("u32", "s32", "u64"):
        w = bits_of(t)
        f.row(f"add.cc.{t}", [t, t], [t] * 4, lambda a, b, c, d, w=w: ((s := (b << w | a) + (d << w | c)), s >> w),
              f"add.cc.{t} %d, %a, %c; addc.{t} %e, %b, %h;")
        f.row(f"sub.cc.{t}", [t, t], [t] * 4, lambda a, b, c, d, w=w: ((s := (b << w | a) - (d << w | c)), s >> w),
              f"sub.cc.{t} %d, %a, %c; subc.{t} %e, %b, %h;")
        f.row(f"addc.cc.{t}", [t, t, t], [t, t], lambda a, b, w=w: ((s := a + b), (r := b + b + (s >> w)), r >> w),
              f"add.cc.{t} %d, %a, %b; addc.cc.{t} %e, %b, %b; addc.{t} %f, 0, 0;")
    f.row("mad.lo.cc.u32", ["u32", "u32"], ["u32"] * 4, lambda a, b, c, d: ((s := a * b + (d << 32 | c)), s >> 32),
          "mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %e, %a, %b, %h;")
    f.row("madc.lo.cc.u32", ["u32", "u32", "u32"], ["u32"] * 3,
          lambda a, b, c: ((s := a + a), (r := (b * c & 0xFFFFFFFF) + a + (s >> 32)), r >> 32),
          "add.cc.u32 %d, %a, %a; madc.lo.cc.u32 %e, %b, %c, %a; addc.u32 %f, 0, 0;")


def files():
    f = File("integers")
    for t in INTS:
        arithmetic(f, t)
    g = File("bits")
    for t in ("b16", "b32", "b64"):
        bits(g, t)
    words(g)
    dots(g)
    carries(g)
    h = File("compare_select")
    comparisons(h)
    selections(h)
    i, j = File("packed_sm90", "sm_90"), File("video")
    halfwords(i)
    video(j)
    return [f, g, h, i, j]
