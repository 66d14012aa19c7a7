"""The element types of tensors and what is known about each.

Written by tools/make_words.py from common/numeric/dtype.def; edit that and run it again.
"""

from __future__ import annotations

from typing import NamedTuple


class DTypeInfo(NamedTuple):
    """short: as in "f16"; size: in bytes; kind: float, signed, unsigned or bool."""

    short: str
    size: int
    kind: str


TABLE = {
    "float16": DTypeInfo("f16", 2, "float"),
    "bfloat16": DTypeInfo("bf16", 2, "float"),
    "float32": DTypeInfo("f32", 4, "float"),
    "float64": DTypeInfo("f64", 8, "float"),
    "int8": DTypeInfo("i8", 1, "signed"),
    "int16": DTypeInfo("i16", 2, "signed"),
    "int32": DTypeInfo("i32", 4, "signed"),
    "int64": DTypeInfo("i64", 8, "signed"),
    "uint8": DTypeInfo("u8", 1, "unsigned"),
    "uint16": DTypeInfo("u16", 2, "unsigned"),
    "uint32": DTypeInfo("u32", 4, "unsigned"),
    "uint64": DTypeInfo("u64", 8, "unsigned"),
    "bool": DTypeInfo("bool", 1, "bool"),
}
DTYPES = tuple(TABLE)
