"""Rows under construction: operands are chosen at the edges of each type, from a seed that is the row's name."""
import random

EDGES = {"f16": [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x3C01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3555],
         "bf16": [0, 0x8000, 1, 0x7F, 0x80, 0x3F80, 0xBF80, 0x3F81, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0x3EAB],
         "f32": [0, 0x80000000, 1, 0x807FFFFF, 0x800000, 0x3F800000, 0xBF800000, 0x3F800001, 0x7F7FFFFF, 0xFF7FFFFF,
                 0x7F800000, 0xFF800000, 0x7FC00000, 0x40490FDB, 0x4B000001, 0x33800000, 0x7F000000],
         "f64": [0, 1 << 63, 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
                 0x3FF0000000000001, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
                 0x400921FB54442D18, 0x3CA0000000000000]}


def bits_of(kind):
    if kind == "pred":
        return 1
    if kind in ("f16x2", "bf16x2", "u16x2", "s16x2"):
        return 32
    return int("".join(c for c in kind if c.isdigit()))


def storage(kind):
    return "pred" if kind == "pred" else f"b{bits_of(kind)}"


def edges(kind):
    if kind in EDGES:
        return EDGES[kind]
    if kind in ("f16x2", "bf16x2"):
        half = EDGES[kind[:-2]]
        return [low | half[(5 * i + 3) % len(half)] << 16 for i, low in enumerate(half)]
    if kind in ("u16x2", "s16x2"):
        return [0, 0x00010001, 0x7FFF8000, 0xFFFF0001, 0x80007FFF, 0x0000FFFF, 0xFFFFFFFF, 0x12348765]
    if kind == "pred":
        return [0, 1]
    bits = bits_of(kind)
    top = 1 << bits - 1
    return [0, 1, 2, (1 << bits) - 1, top, top - 1, top + 1, (1 << bits) - 2, 5, 0x5A]


def drawn(kind, rng):
    if kind in EDGES or kind in ("f16x2", "bf16x2"):
        width = bits_of(kind)
        if rng.random() < 0.5 and kind in ("f32", "f64"):  # Near one: sums and products that round.
            exponent, fraction = (8, 23) if kind == "f32" else (11, 52)
            biased = (1 << exponent - 1) - 1 + rng.randrange(-3, 4)
            return rng.getrandbits(1) << width - 1 | biased << fraction | rng.getrandbits(fraction)
        return rng.getrandbits(width)
    return rng.getrandbits(bits_of(kind))


class File:
    def __init__(self, name, target="sm_80", prelude=()):
        self.name, self.target, self.prelude, self.rows, self.names = name, target, prelude, [], set()

    def row(self, name, results, operands, meaning, text=None, cases=None, keep=None, count=12):
        """`meaning` takes the operands' bits and gives the results' (None: any bits). Types name what is drawn."""
        assert name not in self.names, name
        self.names.add(name)
        rng = random.Random(name)
        if cases is None:
            cases = []
            lists = [edges(kind) for kind in operands]
            for i in range(max(count, max((len(one) for one in lists), default=1))):
                if i < count // 2 or i < max(len(one) for one in lists) and len(operands) == 1:
                    cases.append([one[(i * (3 * at + 1) + at) % len(one)] for at, one in enumerate(lists)])
                elif i < count:
                    cases.append([rng.choice(one) if rng.random() < 0.5 else drawn(kind, rng)
                                  for one, kind in zip(lists, operands)])
        lines = [f"row {name}", f"types {' '.join(map(storage, results))} = {' '.join(map(storage, operands))}".rstrip()]
        if text:
            lines.append(f"text {text}")
        kept = 0
        for case in cases:
            if keep and not keep(*case):
                continue
            got = meaning(*case)
            got = got if isinstance(got, (list, tuple)) else [got]
            assert len(got) == len(results), name
            shown = ["*" if v is None else f"{int(v) & (1 << bits_of(kind)) - 1:x}" for v, kind in zip(got, results)]
            lines.append(" ".join([*(f"{v:x}" for v in case), "=", *shown]))
            kept += 1
        assert kept, name
        self.rows.append("\n".join(lines))

    def text(self):
        head = [f"# Made by tests/ptx/make_rows.py; the format stands in tests/conformance/rows.h.", f"target {self.target}"]
        head += [f"prelude {line}" for line in self.prelude]
        return "\n".join(head) + "\n\n" + "\n\n".join(self.rows) + "\n"
