"""Values of 128 bits, the stack, functions with registers, extremes of three floats, and products of quads."""
import random
from fractions import Fraction

from . import floats
from .floats import F16, F32, NAN
from .table import File

ALL64 = (1 << 64) - 1
PAIR = "{ .reg .b128 p, q, r; mov.b128 p, {%a, %b}; "


def pairs(f):
    swap = lambda a, b: (b, a)
    same = lambda a, b: (a, b)
    two = ["b64", "b64"]
    f.row("mov.b128", two, two, same, PAIR + "mov.b128 q, p; mov.b128 {%d, %e}, q; }")
    f.row("mov.b128 crosswise", two, two, swap, "{ .reg .b128 p; mov.b128 p, {%b, %a}; mov.b128 {%d, %e}, p; }")
    f.row("mov.b128 in a range", two, two, same, "{ .reg .b128 %w<3>; mov.b128 %w2, {%a, %b}; mov.b128 %w0, %w2; mov.b128 {%d, %e}, %w0; }")
    for space, base in (("global", "%m"), ("shared", "%s"), ("local", "%l")):
        f.row(f"st.{space}.b128", two, two, same, PAIR + f"st.{space}.b128 [{base}+16], p; ld.{space}.v2.b64 {{%d, %e}}, [{base}+16]; }}")
        f.row(f"ld.{space}.b128", two, two, same,
              PAIR + f"st.{space}.v2.b64 [{base}+32], {{%a, %b}}; ld.{space}.b128 q, [{base}+32]; mov.b128 {{%d, %e}}, q; }}")
    f.row("ld.relaxed.gpu.global.b128", two, two, same,
          PAIR + "st.release.gpu.global.b128 [%m], p; ld.relaxed.gpu.global.b128 q, [%m]; mov.b128 {%d, %e}, q; }")
    for space, base in (("global", "%m"), ("shared", "%s")):
        f.row(f"atom.{space}.exch.b128", ["b64"] * 4, ["b64"] * 4, lambda a, b, c, d: (a, b, c, d),
              PAIR + f"mov.b128 q, {{%c, %h}}; st.{space}.b128 [{base}], p; atom.{space}.exch.b128 r, [{base}], q; "
              f"mov.b128 {{%d, %e}}, r; ld.{space}.v2.b64 {{%f, %g}}, [{base}]; }}")

        def swapped(a, b, c, d, low, high):
            return (a, b, *((low, high) if (a, b) == (c, d) else (a, b)))
        rng = random.Random(space)
        cases = []
        for i in range(12):
            a, b, low, high = (rng.getrandbits(64) for _ in range(4))
            other = [(a, b), (a ^ 1, b), (a, b ^ 1 << 63), (b, a)][i % 4]
            cases.append([a, b, *other, low, high])
        f.row(f"atom.acq_rel.gpu.{space}.cas.b128", ["b64"] * 4, ["b64"] * 6, swapped,
              PAIR + f"mov.b128 q, {{%c, %h}}; mov.b128 r, {{%i, %j}}; st.{space}.b128 [{base}], p; "
              f"atom.acq_rel.gpu.{space}.cas.b128 p, [{base}], q, r; mov.b128 {{%d, %e}}, p; ld.{space}.v2.b64 {{%f, %g}}, [{base}]; }}",
              cases=cases)


def stack(f):
    f.row("alloca.u64", ["b64", "b32"], ["b64"], lambda a: (a, 1),
          "{ .reg .b64 n, p, q; .reg .pred c; and.b64 n, %a, 255; add.u64 n, n, 8; alloca.u64 p, n; st.local.b64 [p], %a; alloca.u64 q, 8, 16; "
          "st.local.b64 [q], n; ld.local.b64 %d, [p]; and.b64 n, q, 15; setp.eq.u64 c, n, 0; selp.b32 %e, 1, 0, c; }")
    f.row("stackrestore.u64", ["b32", "b32"], ["b32"], lambda a: (a, 1),
          "{ .reg .b64 s, p, q; .reg .pred c; stacksave.u64 s; alloca.u64 p, 32; stackrestore.u64 s; alloca.u64 q, 32; "
          "st.local.b32 [q+28], %a; ld.local.b32 %d, [q+28]; setp.eq.u64 c, p, q; selp.b32 %e, 1, 0, c; }")
    f.row("isspacep.const", ["pred", "pred"], ["b32"], lambda a: (1, 0),
          "{ .reg .b64 x, y; mov.u64 x, k; cvta.const.u64 x, x; isspacep.const %d, x; cvta.global.u64 y, %m; isspacep.const %e, y; }")
    f.row("call with registers", ["b32"], ["b32", "b32"], lambda a, b: 3 * a + b & 0xFFFFFFFF, "call (%d), triple_and_add, (%a, %b);")
    f.row("call with a constant", ["b32"], ["b32"], lambda a: 3 * a + 77 & 0xFFFFFFFF, "call (%d), triple_and_add, (%a, 77);")
    f.row("mov.v4 of a special register", ["b32", "b32"], ["b32"], lambda a: (1, 1),
          "{ .reg .v4 .b32 v; mov.v4.u32 v, %nctaid; mov.u32 %d, v.x; mov.u32 %e, v.z; }")


def extremes(f):
    def meaning(least, nan, ftz, absolute):
        def told(*bits):
            bits = [F32.flush(b) if ftz else b for b in bits]
            bits = [b & ~F32.sign if absolute else b for b in bits]
            got = bits[0]
            for b in bits[1:]:
                got = floats.minmax(F32, got, b, least, nan)
            return F32.nan if F32.value(got)[1] == NAN else got
        return told
    for name in ("min", "max"):
        for ftz in ("", ".ftz"):
            for nan in ("", ".NaN"):
                for absolute in ("", ".abs"):
                    f.row(f"{name}{ftz}{nan}{absolute}.f32 of three", ["f32"], ["f32"] * 3, meaning(name == "min", nan, ftz, absolute),
                          f"{name}{ftz}{nan}{absolute}.f32 %d, %a, %b, %c;", count=24)


def quads(f):
    """mma.m8n8k4 as the ISA places its elements. All sums are small integers: no order of addition changes them."""
    rng = random.Random("quads")
    half = lambda v: F16.round(v < 0, Fraction(abs(v)))
    upper = lambda lane: 4 * (lane >= 16)
    for order_a in ("row", "col"):
        for order_b in ("row", "col"):
            for acc in ("f16", "f32"):
                def place_a(lane, i, o=order_a):
                    return (lane % 4 + upper(lane), i) if o == "row" else (i + upper(lane), lane % 4)

                def place_b(lane, i, o=order_b):
                    return (lane % 4, i + upper(lane)) if o == "row" else (i, lane % 4 + upper(lane))

                def place_d(lane, i, acc=acc):
                    if acc == "f16":
                        return lane % 4 + upper(lane), i
                    return (lane & 1) + (i & 2) + upper(lane), (i & 4) + (lane & 2) + (i & 1)
                draw = lambda: [[[rng.randrange(-9, 10) for _ in range(8)] for _ in range(8)] for _ in range(4)]
                a, b = draw(), draw()
                fill = [rng.randrange(-20, 21) for _ in range(2)]  # C: the same two values in every pair of registers.
                cases, wanted = [], {}
                for lane in range(32):
                    quad = lane // 4 % 4
                    at = [half(a[quad][r][c]) for r, c in (place_a(lane, i) for i in range(4))]
                    bt = [half(b[quad][r][c]) for r, c in (place_b(lane, i) for i in range(4))]
                    words = [at[0] | at[1] << 16, at[2] | at[3] << 16, bt[0] | bt[1] << 16, bt[2] | bt[3] << 16]
                    if acc == "f16":
                        start = [half(fill[0]) | half(fill[1]) << 16] * 2
                    else:
                        start = [F32.round(v < 0, Fraction(abs(v))) for v in fill]
                    sums = []
                    for i in range(8):
                        r, c = place_d(lane, i)
                        sums.append(sum(a[quad][r][k] * b[quad][k][c] for k in range(4)) + fill[i % 2])
                    if acc == "f16":
                        told = [half(sums[i]) | half(sums[i + 1]) << 16 for i in range(0, 8, 2)]
                    else:
                        told = [F32.round(v < 0, Fraction(abs(v))) for v in sums]
                    case = [*words, *start]
                    cases.append(case)
                    wanted.setdefault(tuple(case), told)
                    assert wanted[tuple(case)] == told
                op = f"mma.sync.aligned.m8n8k4.{order_a}.{order_b}.{acc}.f16.f16.{acc}"
                if acc == "f16":
                    f.row(op, ["b32"] * 4, ["b32"] * 6, lambda *w, t=wanted: t[w],
                          f"{op} {{%d, %e, %f, %g}}, {{%a, %b}}, {{%c, %h}}, {{%i, %j, %i, %j}};", cases=cases)
                    continue
                for first in (0, 4):
                    moves = " ".join(f"mov.b32 {to}, %x{first + i};" for i, to in enumerate(("%d", "%e", "%f", "%g")))
                    f.row(f"{op}, elements from {first}", ["b32"] * 4, ["b32"] * 6, lambda *w, t=wanted, n=first: t[w][n:n + 4],
                          f"{{ .reg .b32 %x<8>; {op} {{{', '.join(f'%x{i}' for i in range(8))}}}, {{%a, %b}}, {{%c, %h}}, "
                          f"{{{', '.join(['%i', '%j'] * 4)}}}; {moves} }}", cases=cases)


def files():
    f = File("wide_sm90", "sm_90", [".func (.reg .b32 r) triple_and_add (.reg .b32 x, .reg .b32 y) { mad.lo.u32 r, x, 3, y; }"])
    pairs(f)
    stack(f)
    g, h = File("extremes_sm100", "sm_100"), File("quads")
    extremes(g)
    quads(h)
    return [f, g, h]
