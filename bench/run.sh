#!/usr/bin/env bash
# Measures every figure of bench/README.md on this host: builds (release, build/bench), then prints one table per
# figure. No GPU needed. The host should be idle.
#   bench/run.sh [folder of the build = build/bench]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/bench}
python=${PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
"$python" -c 'import numpy' || { echo "bench: no python3 with numpy; scripts/setup.sh installs one" >&2; exit 3; }

echo "bench: building in $build (release)"
cmake --preset release -B "$build" -DGPUEMU_BENCH=ON -DGPUEMU_TESTS=OFF >/dev/null
benches=(gpuemu_bench_ping gpuemu_bench_fill gpuemu_bench_validate gpuemu_bench_emulator gpuemu_bench_memory gpuemu_bench_tape
  gpuemu_bench_storage)
ninja -C "$build" gpuemu gpuemu-check gpuemu-daemon gpuemu-worker gpuemu-draws libgpuemu "${benches[@]}" | tail -n 1

echo; echo "bench: $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), $(nproc) cores," \
  "load $(cut -d' ' -f1 /proc/loadavg) before the first figure"
figure() { echo; echo "== $1"; shift; "$@"; }
figure "cases per second on the correct examples" \
  "$python" bench/cases_per_second.py --bin "$build/bin" --details
figure "cases per second on small tensors" "$python" bench/fuzz_per_second.py --bin "$build/bin"
figure "a new kernel to its verdict" "$python" bench/first_verdict.py --bin "$build/bin"
figure "projects at once" "$python" bench/projects_per_second.py --bin "$build/bin"
figure "sessions that share a daemon" "$python" bench/sharing_bench.py --bin "$build/bin"
figure "stored results" "$build/bench/gpuemu_bench_storage"
figure "making failures smaller" "$python" bench/minimize_seconds.py --bin "$build/bin"
figure "round trip of a Ping" "$build/bench/gpuemu_bench_ping" "$build/bin"
figure "filling a tensor" "$build/bench/gpuemu_bench_fill"
figure "the Python package" env GPUEMU_CLI="$build/bin/gpuemu" "$python" bench/python_bench.py
figure "programs from Python" env GPUEMU_LIBRARY="$build/lib/gpuemu/libgpuemu.so.1" GPUEMU_CHECK="$build/bin/gpuemu-check" \
  "$python" bench/program_bench.py
figure "arrays through shared memory" "$python" bench/transfer_bench.py --bin "$build/bin"
figure "comparing two tensors" "$build/bench/gpuemu_bench_validate"
figure "scheduling tapes" "$build/bench/gpuemu_bench_tape"
figure "allocating from the cache" "$build/bench/gpuemu_bench_memory"
# numba has the CUDA simulator, triton its interpreter; if PyPI cannot be reached, these columns are
# left out with a note.
numba=$build/numba
[ -x "$numba/bin/python" ] || "$python" -m venv "$numba"
"$numba/bin/python" -c 'import numba, numpy, triton' 2>/dev/null ||
  "$numba/bin/python" -m pip install --quiet numba numpy triton || numba=""
simulator=$python
[ -z "$numba" ] || simulator=$numba/bin/python
figure "kernels on the emulator" "$build/bench/gpuemu_bench_emulator" --python "$simulator"
