"""The rows of tests/ptx/rows are what the definitions of tests/ptx/isa give."""
import pathlib
import random
import struct
import subprocess
import sys
from fractions import Fraction

from .isa import floats

HERE = pathlib.Path(__file__).resolve().parent


def test_the_rows_are_up_to_date():
    done = subprocess.run([sys.executable, HERE / "make_rows.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_exact_arithmetic_rounds_as_the_processor_does():
    """The definitions against IEEE arithmetic of this machine: rationals and hardware share no code."""
    rng = random.Random(4)
    pack = lambda v: struct.unpack("<Q", struct.pack("<d", v))[0]
    unpack = lambda b: struct.unpack("<d", struct.pack("<Q", b))[0]
    for _ in range(2000):
        a, b = (rng.getrandbits(64) for _ in range(2))
        if rng.random() < 0.5:
            b = (b & (1 << 52) - 1) | (a & 0x7FF << 52)
        x, y = unpack(a), unpack(b)
        for got, wanted in ((floats.add(floats.F64, a, b), x + y), (floats.mul(floats.F64, a, b), x * y)):
            assert got == pack(wanted) or wanted != wanted and got is None
        narrow = floats.F32.round(*floats.F64.value(a)) if x == x else None
        if x == x and abs(x) < 3e38:
            assert narrow == struct.unpack("<I", struct.pack("<f", x))[0]


def test_directed_rounding_brackets_the_value():
    rng = random.Random(5)
    for _ in range(500):
        size = Fraction(rng.getrandbits(60) + 1, rng.getrandbits(40) + 1) * Fraction(2) ** rng.randrange(-150, 100)
        down, up = (floats.F32.value(floats.F32.round(False, size, mode))[1] for mode in ("rm", "rp"))
        assert down <= size and (up == floats.INF or up >= size)
        assert floats.F32.round(True, size, "rm") == floats.F32.round(False, size, "rp") | 1 << 31
