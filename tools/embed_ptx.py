#!/usr/bin/env python3
"""Writes a kernel's PTX as a compressed C++ source: PTX is ten megabytes of text in every program,
compressed an eighth of that.

    python3 tools/embed_ptx.py NAME FILE PTX OUT      FILE: the kernel's source, relative to the project; run in the project's root
"""
import pathlib
import sys
import zlib


def literals(data, width=60):
    """Uses octal escapes of three digits, because a following digit cannot be taken for a part of
    them."""
    for at in range(0, len(data), width):
        yield '    "' + "".join(f"\\{byte:03o}" for byte in data[at:at + width]) + '"'


def source_text(name, file, ptx):
    packed = zlib.compress(ptx, 9)
    return f"""// Made from {file}; do not edit.
#include "kernels/catalog.h"

namespace gpuemu::kernels {{
namespace {{
constexpr char kPacked_{name}[] =
{chr(10).join(literals(packed))};
}}  // namespace
extern const BuiltinKernel k_{name};
const BuiltinKernel k_{name} = {{"{name}", "{file}", {{kPacked_{name}, sizeof(kPacked_{name}) - 1}}, {len(ptx)}}};
}}  // namespace gpuemu::kernels
"""


def main():
    name, file, ptx, out = sys.argv[1:]
    # The PTX must not depend on the folder of the build.
    text = pathlib.Path(ptx).read_bytes().replace(f"{pathlib.Path.cwd()}/".encode(), b"")
    pathlib.Path(out).write_text(source_text(name, file, text))


if __name__ == "__main__":
    main()
