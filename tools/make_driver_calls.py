#!/usr/bin/env python3
"""Generates bindings/libcuda/calls/calls.def, the list of driver API functions by name and version, and
bindings/libcudart/calls/calls.def and calls_12.def, the lists of runtime API functions.

Reads cuda.h, cudaTypedefs.h and cuda_runtime_api.h of the CUDA 13 toolkit in CUDA_HOME (default: /usr/local/cuda). calls_12.def is
made when CUDA_12_INCLUDE names the folders of the headers of CUDA 12.9, separated by colons: those of the packages
nvidia-cuda-runtime-cu12, nvidia-cuda-nvcc-cu12 (crt) and nvidia-cuda-profiler-api-cu12 of PyPI."""
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "bindings/libcuda/calls/calls.def"
INCLUDE = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"
RUNTIME_TABLE = ROOT / "bindings/libcudart/calls/calls.def"
RUNTIME_12_TABLE = ROOT / "bindings/libcudart/calls/calls_12.def"
PER_THREAD = re.compile(r"_pt[sd][sz]$")
VERSION = re.compile(r"_v(\d+)$")
HEAD = """\
// Every function of the driver API of CUDA 13.0 in each of its versions: made by
// tools/make_driver_calls.py of the toolkit's headers, sorted by name.
//
// GPUEMU_DRIVER_CALL(name, version, symbol)   the symbol that is `name` from this version on
// GPUEMU_DRIVER_STREAM_CALL(name, version, symbol, per_thread)   `per_thread` is the same with the
//   default stream of each thread in place of the legacy one
// clang-format off
"""
RUNTIME_HEAD = """\
// Every function of the runtime API of CUDA VERSION: made by tools/make_driver_calls.py of the toolkit's
// headers, sorted by name.
//
// GPUEMU_RUNTIME_CALL(name)
// GPUEMU_RUNTIME_STREAM_CALL(name, per_thread)   `per_thread` is the same with the default stream of
//   each thread in place of the legacy one
// clang-format off
"""
FOOT = "// clang-format on\n"


def declared(*definitions):
    """Returns the symbols that the headers declare when compiled with these -D options."""
    text = subprocess.run(["gcc", "-E", "-P", "-x", "c", "-I", str(INCLUDE), *definitions, "-"], capture_output=True,
                          input="#include <cuda.h>\n#include <cudaProfiler.h>\n", text=True, check=True).stdout
    return set(re.findall(r"CUresult\s+(cu\w+)\s*\(", text))


def rows():
    symbols = declared() | declared("-D__CUDA_API_VERSION_INTERNAL") | declared("-DCUDA_API_PER_THREAD_DEFAULT_STREAM")
    of_name = collections.defaultdict(set)
    for symbol in symbols:
        plain = PER_THREAD.sub("", symbol)
        of_name[VERSION.sub("", plain)].add(plain)
    versions = collections.defaultdict(set)
    for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
        for name, version in re.findall(r"PFN_(cu\w+?)_v(\d+)\)", (INCLUDE / header).read_text()):
            versions[name].add(int(version))
    for name in sorted(of_name):
        numbered = sorted(of_name[name], key=lambda symbol: int((VERSION.search(symbol) or [0, 1])[1]))
        since = sorted(versions[name])
        if len(since) != len(numbered):
            sys.exit(f"{name} has versions {since} and symbols {numbered}")
        for version, symbol in zip(since, numbered):
            per_thread = [symbol + suffix for suffix in ("_ptsz", "_ptds") if symbol + suffix in symbols]
            kind = "GPUEMU_DRIVER_STREAM_CALL" if per_thread else "GPUEMU_DRIVER_CALL"
            row = f"{kind}({', '.join([name, str(version), symbol, *per_thread])})"
            yield (row if len(row) <= 100 else row.replace(", ", ",\n    ")) + "\n"


def runtime_rows(includes):
    symbols = set()
    for definition in ("", "__CUDA_API_VERSION_INTERNAL", "CUDA_API_PER_THREAD_DEFAULT_STREAM"):
        options = [f"-D{definition}"] if definition else []
        text = subprocess.run(["g++", "-E", "-P", "-x", "c++", *(f"-I{one}" for one in includes), *options, "-"], capture_output=True,
                              input="#include <cuda_runtime_api.h>\n#include <cuda_profiler_api.h>\n", text=True, check=True).stdout
        symbols |= set(re.findall(r"\b(cuda[A-Z]\w+)\s*\(", text))
    for name in sorted(symbol for symbol in symbols if not PER_THREAD.search(symbol)):
        per_thread = [name + suffix for suffix in ("_ptsz", "_ptds") if name + suffix in symbols]
        kind = "GPUEMU_RUNTIME_STREAM_CALL" if per_thread else "GPUEMU_RUNTIME_CALL"
        row = f"{kind}({', '.join([name, *per_thread])})"
        yield (row if len(row) <= 100 else row.replace(", ", ",\n    ")) + "\n"


if __name__ == "__main__":
    TABLE.write_text(HEAD + "".join(rows()) + FOOT)
    RUNTIME_TABLE.write_text(RUNTIME_HEAD.replace("VERSION", "13.0") + "".join(runtime_rows([INCLUDE])) + FOOT)
    if older := os.environ.get("CUDA_12_INCLUDE"):
        RUNTIME_12_TABLE.write_text(RUNTIME_HEAD.replace("VERSION", "12.9") + "".join(runtime_rows(older.split(":"))) + FOOT)
