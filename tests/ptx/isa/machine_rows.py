"""What concerns memory, other lanes, or where execution goes: loads and stores, atomics, exchange, predicates, calls."""
from . import floats
from .floats import F16, F32, F64
from .integers import value
from .table import File, bits_of

LANES = range(32)
ALL = 0xFFFFFFFF


def constants(at, count):
    return int.from_bytes(bytes(3 * i + 1 & 255 for i in range(at, at + count)), "little")


def memory(f):
    spaces = {"global": "%m", "shared": "%s", "local": "%l"}
    for space, base in spaces.items():
        for bits in (8, 16, 32, 64):
            t = f"b{bits}"
            f.row(f"st.{space}.{t}", [t, "b64"], [t], lambda a, n=bits: (a, a << n if n < 64 else a),
                  f"st.{space}.{t} [{base}+{bits // 8}], %a; ld.{space}.{t} %d, [{base}+{bits // 8}]; "
                  + (f"ld.{space}.b64 %e, [{base}];" if bits < 64 else f"ld.{space}.b64 %e, [{base}+8];"))
        for t in ("s8", "u8", "s16", "u16"):
            f.row(f"ld.{space}.{t} widens", ["b32"], ["b64"], lambda a, t=t: value(t, a >> 16),
                  f"st.{space}.b64 [{base}], %a; ld.{space}.{t} %d, [{base}+2];")
        f.row(f"ld.{space}.v2.b32", ["b32", "b32"], ["b64"], lambda a: (a & ALL, a >> 32),
              f"st.{space}.b64 [{base}+8], %a; ld.{space}.v2.b32 {{%d, %e}}, [{base}+8];")
        f.row(f"st.{space}.v4.b16", ["b64"], ["b16"] * 4, lambda a, b, c, d: a | b << 16 | c << 32 | d << 48,
              f"st.{space}.v4.b16 [{base}+16], {{%a, %b, %c, %h}}; ld.{space}.b64 %d, [{base}+16];")
        f.row(f"ld.{space}.v4.u32", ["b32"] * 4, ["b64", "b64"], lambda a, b: (a & ALL, a >> 32, b & ALL, b >> 32),
              f"st.{space}.v2.b64 [{base}+32], {{%a, %b}}; ld.{space}.v4.u32 {{%d, %e, %f, %g}}, [{base}+32];")
        f.row(f"ld.{space}.v4.u8", ["b32"] * 4, ["b32"], lambda a: [a >> 8 * i & 255 for i in range(4)],
              f"st.{space}.b32 [{base}], %a; ld.{space}.v4.u8 {{%d, %e, %f, %g}}, [{base}];")
    f.row("ld generic", ["b32"] * 3, ["b32"], lambda a: (a, a + 1 & ALL, a + 2 & ALL),
          "st.global.u32 [%m], %a; add.u32 %d, %a, 1; st.shared.u32 [%s], %d; add.u32 %e, %a, 2; st.local.u32 [%l], %e; "
          "{ .reg .b64 x, y; cvta.global.u64 x, %m; ld.u32 %d, [x]; cvt.u64.u32 y, %s; cvta.shared.u64 y, y; ld.u32 %e, [y]; "
          "cvta.local.u64 y, %l; ld.u32 %f, [y]; }")
    f.row("cvta.to", ["b32", "pred", "pred", "pred"], ["b32"], lambda a: (a, 1, 1, 1),
          "{ .reg .b64 x, y; .reg .pred p; cvt.u64.u32 x, %s; cvta.shared.u64 x, x; isspacep.shared %e, x; st.u32 [x], %a; "
          "cvta.to.shared.u64 y, x; ld.shared.u32 %d, [y]; cvta.local.u64 y, %l; isspacep.local %f, y; isspacep.global p, x; not.pred %g, p; }")
    f.row("ld.const", ["b8", "b16", "b32", "b64"], ["b32"], lambda a: [constants(a & 56, n) for n in (1, 2, 4, 8)],
          "{ .reg .b64 x, o; and.b32 %f, %a, 56; cvt.u64.u32 o, %f; mov.u64 x, k; add.u64 x, x, o; ld.const.b8 %d, [x]; "
          "ld.const.b16 %e, [x]; ld.const.b32 %f, [x]; ld.const.b64 %g, [x]; }", cases=[[n] for n in range(0, 64, 8)])
    f.row("ld.const.v4 and symbol", ["b32"] * 4, [], lambda: [constants(16 + 4 * i, 4) for i in range(4)],
          "ld.const.v4.b32 {%d, %e, %f, %g}, [k+16];", cases=[[]])
    f.row("ld.param", ["b8", "b16", "b32", "b64"], [], lambda: (0x03, 0x0504, 0x0B0A0908, 0x0F0E0D0C0B0A0908),
          "ld.param.b8 %d, [q+3]; ld.param.b16 %e, [q+4]; ld.param.b32 %f, [q+8]; ld.param.b64 %g, [q+8];", cases=[[]])
    f.row("ld.param.v2", ["b32", "b32"], [], lambda: (0x03020100, 0x07060504), "ld.param.v2.b32 {%d, %e}, [q];", cases=[[]])
    order = ("ld.volatile.global.u32", "ld.relaxed.gpu.global.u32", "ld.acquire.sys.global.u32", "ld.global.ca.u32",
             "ld.global.cg.u32", "ld.global.cs.u32", "ld.global.cv.u32", "ld.global.lu.u32", "ld.weak.global.u32",
             "ld.global.L1::no_allocate.u32", "ld.global.L2::128B.u32")
    for name in order:
        f.row(name, ["b32"], ["b32"], lambda a: a, f"st.global.u32 [%m], %a; {name} %d, [%m];", count=4)
    for name in ("st.volatile.global.u32", "st.relaxed.cta.global.u32", "st.release.gpu.global.u32", "st.global.wb.u32",
                 "st.global.cg.u32", "st.global.cs.u32", "st.global.wt.u32", "st.weak.global.u32"):
        f.row(name, ["b32"], ["b32"], lambda a: a, f"{name} [%m+4], %a; ld.global.u32 %d, [%m+4];", count=4)


def atomics(f):
    def one(space, base, name, t, meaning, operands=1, form="atom"):
        how = f"{name}.{t}"
        text = f"st.{space}.b{bits_of(t)} [{base}], %a; "
        extra = ", %c" if operands == 2 else ""
        if form == "atom":
            text += f"atom.{space}.{how} %d, [{base}], %b{extra}; ld.{space}.b{bits_of(t)} %e, [{base}];"
            f.row(f"atom.{space}.{how}", [t, t], [t] * (1 + operands), lambda a, *b: (a, meaning(a, *b)), text)
        else:
            text += f"red.{space}.{how} [{base}], %b; ld.{space}.b{bits_of(t)} %d, [{base}];"
            f.row(f"red.{space}.{how}", [t], [t] * 2, meaning, text)
    for space, base in (("global", "%m"), ("shared", "%s")):
        for form in ("atom", "red"):
            for t in ("u32", "s32", "u64"):
                one(space, base, "add", t, lambda a, b: a + b, form=form)
            for t in ("u32", "s32", "u64", "s64"):
                one(space, base, "min", t, lambda a, b, t=t: min(value(t, a), value(t, b)), form=form)
                one(space, base, "max", t, lambda a, b, t=t: max(value(t, a), value(t, b)), form=form)
            for t in ("b32", "b64"):
                one(space, base, "and", t, lambda a, b: a & b, form=form)
                one(space, base, "or", t, lambda a, b: a | b, form=form)
                one(space, base, "xor", t, lambda a, b: a ^ b, form=form)
            one(space, base, "inc", "u32", lambda a, b: 0 if a >= b else a + 1, form=form)
            one(space, base, "dec", "u32", lambda a, b: b if a == 0 or a > b else a - 1, form=form)
            one(space, base, "add", "f64", lambda a, b: floats.add(F64, a, b), form=form)
            one(space, base, "add.noftz", "f16x2", lambda a, b: sum(
                floats.add(F16, a >> s & 0xFFFF, b >> s & 0xFFFF) << s for s in (0, 16)), form=form)
        for t in ("b32", "b64"):
            one(space, base, "exch", t, lambda a, b: b)
        for t in ("b16", "b32", "b64"):
            f.row(f"atom.{space}.cas.{t}", [t, t, t], [t, t, t], lambda a, b, c: (a, c if a == b else a, a),
                  f"st.{space}.{t} [{base}], %a; atom.{space}.cas.{t} %d, [{base}], %b, %c; ld.{space}.{t} %e, [{base}]; "
                  f"st.{space}.{t} [{base}], %a; atom.{space}.cas.{t} %f, [{base}], %a, %c;")
    f.row("atom.shared.add.f32", ["f32", "f32"], ["f32", "f32"], lambda a, b: (a, floats.add(F32, a, b)),
          "st.shared.f32 [%s], %a; atom.shared.add.f32 %d, [%s], %b; ld.shared.f32 %e, [%s];")
    f.row("atom.global.add.f32", ["f32", "f32"], ["f32", "f32"], lambda a, b: (
        a, F32.flush(floats.add(F32, F32.flush(a), F32.flush(b)))),
          "st.global.f32 [%m], %a; atom.global.add.f32 %d, [%m], %b; ld.global.f32 %e, [%m];")
    f.row("atom.orders and scopes", ["b32"], ["b32"], lambda a: a + 15,
          "st.global.u32 [%m], %a; { .reg .b32 x; atom.relaxed.cta.global.add.u32 x, [%m], 1; atom.acquire.gpu.global.add.u32 x, [%m], 2; "
          "atom.release.sys.global.add.u32 x, [%m], 4; atom.acq_rel.gpu.global.add.u32 x, [%m], 8; } ld.global.u32 %d, [%m];")


def exchange(f):
    values = [(7 * i * i + 3 * i + 1) * 0x01010101 & ALL for i in LANES]
    lanes = [[v] for v in values]

    def by_lane(name, results, text, meaning, cases=lanes, types=("b32",)):
        table = {}
        for lane in LANES:
            table[tuple(cases[lane])] = meaning(lane)
        assert len(table) == 32, name
        f.row(name, results, list(types), lambda *key: table[key], text, cases=cases)

    def shuffle(mode, lane, b, c):
        clamp, segment = c & 31, c >> 8 & 31
        last, first = lane & segment | clamp & ~segment, lane & segment
        source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": first | b & ~segment & 31}[mode]
        ok = source >= last if mode == "up" else source <= last
        return values[source if ok else lane], int(ok)
    for mode, cases in {"up": [(1, 0), (5, 0), (2, 0x1C00), (31, 0)], "down": [(1, 31), (7, 31), (3, 0x181F), (31, 31)],
                        "bfly": [(1, 31), (16, 31), (8, 0x181F)], "idx": [(0, 31), (9, 31), (3, 0x181F), (30, 15)]}.items():
        for b, c in cases:
            by_lane(f"shfl.sync.{mode}.b32 {b} {c:#x}", ["b32", "pred"], f"shfl.sync.{mode}.b32 %d|%e, %a, {b}, {c}, -1;",
                    lambda lane, m=mode, b=b, c=c: shuffle(m, lane, b, c))
    odd = lambda lane: values[lane] >> 1 & 1
    bit = "{ .reg .b32 x; and.b32 x, %a, 2; setp.ne.u32 %e, x, 0; } "
    ballot = sum(odd(i) << i for i in LANES)
    by_lane("vote.sync.ballot.b32", ["b32", "pred"], bit + "vote.sync.ballot.b32 %d, %e, -1;", lambda i: (ballot, odd(i)))
    by_lane("vote.sync.ballot.b32 !p", ["b32", "pred"], bit + "vote.sync.ballot.b32 %d, !%e, -1;", lambda i: (ballot ^ ALL, odd(i)))
    for mode, got in (("any", 1), ("all", 0), ("uni", 0)):
        by_lane(f"vote.sync.{mode}.pred", ["pred", "pred"], bit + f"vote.sync.{mode}.pred %d, %e, -1;", lambda i, g=got: (g, odd(i)))
    by_lane("vote of half the lanes", ["b32", "pred"], bit + "{ .reg .pred p; setp.lt.u32 p, %t, 16; mov.b32 %d, 0; "
            "@p vote.sync.ballot.b32 %d, %e, 0xffff; }", lambda i: (ballot & 0xFFFF if i < 16 else 0, odd(i)))
    low = lambda i: values[i] % 4
    by_lane("match.any.sync.b32", ["b32", "b32"], "and.b32 %e, %a, 3; match.any.sync.b32 %d, %e, -1;",
            lambda i: (sum(1 << j for j in LANES if low(j) == low(i)), low(i)))
    by_lane("match.any.sync.b64", ["b32", "b64"], "{ .reg .b32 x; and.b32 x, %a, 3; mov.b64 %e, {x, x}; } match.any.sync.b64 %d, %e, -1;",
            lambda i: (sum(1 << j for j in LANES if low(j) == low(i)), low(i) << 32 | low(i)))
    by_lane("match.all.sync.b32 no", ["b32", "pred"], "match.all.sync.b32 %d|%e, %a, -1;", lambda i: (0, 0))
    by_lane("match.all.sync.b32 yes", ["b32", "pred"], "{ .reg .b32 x; mov.b32 x, 5; match.all.sync.b32 %d|%e, x, -1; }", lambda i: (ALL, 1))
    for name, t, meaning in (("add", "u32", sum), ("add", "s32", sum), ("min", "u32", min), ("max", "u32", max), ("min", "s32", min), ("max", "s32", max)):
        by_lane(f"redux.sync.{name}.{t}", [t], f"redux.sync.{name}.{t} %d, %a, -1;",
                lambda i, t=t, m=meaning: m(value(t, v) for v in values) & ALL)
    for name, join in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
        total = values[0]
        for v in values[1:]:
            total = join(total, v)
        by_lane(f"redux.sync.{name}.b32", ["b32"], f"redux.sync.{name}.b32 %d, %a, -1;", lambda i, g=total: g)
    by_lane("redux of the even lanes", ["b32"], "{ .reg .pred p; .reg .b32 x; and.b32 x, %t, 1; setp.eq.u32 p, x, 0; mov.b32 %d, 0; "
            "@p redux.sync.add.u32 %d, %a, 0x55555555; }", lambda i: 0 if i & 1 else sum(values[::2]) & ALL)
    by_lane("lane masks", ["b32"] * 4, "mov.u32 %d, %lanemask_lt; mov.u32 %e, %lanemask_ge; mov.u32 %f, %lanemask_eq; mov.u32 %g, %laneid;",
            lambda i: ((1 << i) - 1, ALL & ~((1 << i) - 1), 1 << i, i))
    by_lane("lane masks with the lane", ["b32"] * 2, "mov.u32 %d, %lanemask_le; mov.u32 %e, %lanemask_gt;",
            lambda i: ((2 << i) - 1, ALL & ~((2 << i) - 1)))
    by_lane("activemask", ["b32"], "activemask.b32 %d;", lambda i: ALL)
    by_lane("movmatrix", ["b32"], "movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;", lambda i: sum(
        (values[(2 * (i % 4) + h) * 4 + i // 4 // 2] >> 16 * (i // 4 & 1) & 0xFFFF) << 16 * h for h in (0, 1)))
    by_lane("bar.red", ["b32", "pred", "pred"], "{ .reg .pred p; setp.lt.u32 p, %t, 9; bar.red.popc.u32 %d, 0, p; bar.red.or.pred %e, 0, p; "
            "bar.red.and.pred %f, 0, p; }", lambda i: (9, 1, 0))
    by_lane("bar.sync orders shared memory", ["b32"], ".shared .b32 one_each[32]; { .reg .b32 x, y; mov.u32 x, one_each; shl.b32 y, %t, 2; add.u32 y, x, y; "
            "st.shared.b32 [y], %a; bar.sync 0; sub.u32 y, 31, %t; shl.b32 y, y, 2; add.u32 y, x, y; ld.shared.b32 %d, [y]; }",
            lambda i: values[31 - i])


def flow(f):
    f.row("predicated", ["b32"], ["b32", "pred"], lambda a, p: a + 1 if p else a - 1,
          "@%b add.u32 %d, %a, 1; @!%b sub.u32 %d, %a, 1;")
    f.row("bra", ["b32"], ["b32", "b32"], lambda a, b: a if a > b else b,
          "{ .reg .pred p; mov.u32 %d, %a; setp.gt.u32 p, %a, %b; @p bra taken; mov.u32 %d, %b; taken: }")
    f.row("loop", ["b32"], ["b32"], lambda a: sum(range(a % 16 + 1)),
          "{ .reg .pred p; .reg .b32 i; and.b32 i, %a, 15; mov.u32 %d, 0; again: add.u32 %d, %d, i; sub.u32 i, i, 1; "
          "setp.ge.s32 p, i, 0; @p bra again; }")
    f.row("brx.idx", ["b32"], ["b32"], lambda a: (10, 20, 30, 40)[a & 3],
          "{ .reg .b32 i; and.b32 i, %a, 3; ts: .branchtargets l0, l1, l2, l3; brx.idx i, ts; l0: mov.u32 %d, 10; bra behind; "
          "l1: mov.u32 %d, 20; bra behind; l2: mov.u32 %d, 30; bra behind; l3: mov.u32 %d, 40; behind: }", cases=[[n] for n in range(40)])
    call = "{{ .param .b32 x, y; st.param.b32 [x], %a; call{uni} (y), {name}, (x); ld.param.b32 %d, [y]; }}"
    f.row("call", ["b32"], ["b32"], lambda a: 3 * a, call.format(uni="", name="triple"))
    f.row("call.uni", ["b32"], ["b32"], lambda a: 3 * a, call.format(uni=".uni", name="triple"))
    f.row("call of a recursion", ["b32"], ["b32"], lambda a: sum(range((a & 7) + 1)), call.format(uni="", name="sum_to"))
    f.row("call by pointer", ["b32"], ["b32"], lambda a: 3 * a if a & 1 else a + 10,
          "{ .reg .b64 p, o; .reg .b32 i; .param .b32 x, y; pr: .callprototype (.param .b32 _) _ (.param .b32 _); and.b32 i, %a, 1; "
          "mul.wide.u32 o, i, 8; mov.u64 p, pointers; add.u64 p, p, o; ld.global.u64 p, [p]; st.param.b32 [x], %a; "
          "call (y), p, (x), pr; ld.param.b32 %d, [y]; }")
    f.row("WARP_SZ and constant expressions", ["b32", "b32", "b64"], ["b32"], lambda a: (a + 32, a + 23, -8),
          "add.u32 %d, %a, WARP_SZ; add.u32 %e, %a, (1 << 4) + 7; mov.b64 %f, -(3 + 5);")
    f.row("special registers of the block", ["b32"] * 4, ["b32"], lambda a: (a, 24, 0, 1),
          "mov.u32 %d, %tid.x; mov.u32 %e, %ntid.x; mov.u32 %f, %ctaid.x; mov.u32 %g, %nctaid.y;", cases=[[n] for n in range(24)])


PRELUDE = [
    ".func (.param .b32 r) triple(.param .b32 x) { .reg .b32 %v; ld.param.b32 %v, [x]; mul.lo.u32 %v, %v, 3; st.param.b32 [r], %v; ret; }",
    ".func (.param .b32 r) plus_ten(.param .b32 x) { .reg .b32 %v; ld.param.b32 %v, [x]; add.u32 %v, %v, 10; st.param.b32 [r], %v; ret; }",
    ".func (.param .b32 r) sum_to(.param .b32 x) { .reg .b32 %v, %w; .reg .pred %p; ld.param.b32 %v, [x]; and.b32 %v, %v, 7; "
    "mov.u32 %w, 0; setp.eq.u32 %p, %v, 0; @%p bra done; { .param .b32 a, b; sub.u32 %w, %v, 1; st.param.b32 [a], %w; "
    "call (b), sum_to, (a); ld.param.b32 %w, [b]; } done: add.u32 %w, %w, %v; st.param.b32 [r], %w; ret; }",
    ".global .align 8 .u64 pointers[2] = {plus_ten, triple};"]


def files():
    f, g, h, i = File("memory"), File("atomics"), File("exchange"), File("flow", prelude=PRELUDE)
    memory(f)
    atomics(g)
    exchange(h)
    flow(i)
    return [f, g, h, i]
