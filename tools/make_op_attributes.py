#!/usr/bin/env python3
"""Writes python/gpuemu/op_attributes.py: one packer for each op that has attributes.

    gpuemu kernels --format json | python3 tools/make_op_attributes.py > python/gpuemu/op_attributes.py
"""
import json
import sys

CODES = {"int32": "i", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d"}
HEAD = '''"""Attributes of the built-in ops, packed as ops/capi takes them: (schema id, bytes).

Made by tools/make_op_attributes.py; do not edit.
"""
import struct
'''


def hint(field):
    return "float" if field["type"].startswith("float") else "int"


def literal(field):
    value = field["default"]
    return repr(float(value)) if field["type"].startswith("float") else repr(int(value))


def packer(op):
    fields = op["attributes"]["fields"]
    # Python requires arguments without a default to come first.
    ordered = [f for f in fields if f["default"] is None] + [f for f in fields if f["default"] is not None]
    params = ", ".join(f"{f['name']}: {hint(f)}" + ("" if f["default"] is None else f" = {literal(f)}") for f in ordered)
    lines = [f"def {op['name']}({params}) -> tuple[int, bytes]:", f'    """{op["summary"]}', ""]
    lines += [f"    {f['name']}: {f['type']}" + (f", {f['meaning']}" if f["meaning"] else "") for f in fields]
    code = "<" + "".join(CODES[f["type"]] for f in fields)
    values = ", ".join(f["name"] for f in fields)
    lines += ['    """', f'    return {op["attributes"]["schema_id"]}, struct.pack("{code}", {values})']
    return "\n".join(lines)


def main():
    ops = [op for op in json.load(sys.stdin)["ops"] if op["attributes"]["fields"]]
    print(HEAD + "".join(f"\n\n{packer(op)}\n" for op in ops), end="")


if __name__ == "__main__":
    main()
