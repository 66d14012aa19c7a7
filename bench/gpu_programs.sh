#!/usr/bin/env bash
# Measures Python programs on a bare host with a GPU: no compiler, no network, perhaps no PyTorch.
#   bench/gpu_programs.sh pack BUILD FOLDER   copies what it needs; BUILD needs libgpuemu, gpuemu, gpuemu-fidelity and gpuemu_bench_opcall
#   FOLDER/gpu_programs.sh run [ROUNDS=31]    there: prints the figures, in about two minutes; $PYTHON (python3) needs numpy
#   FOLDER/gpu_programs.sh nan                there: compares which NaN is propagated with the emulator
#   FOLDER/gpu_programs.sh bits OUT           there: writes never.json and always.json to OUT, for tools/same_bits.py
set -uo pipefail

pack() { # BUILD FOLDER
  local build=$1 folder=$2 root nvrtc program
  root=$(cd "$(dirname "$0")/.." && pwd)
  mkdir -p "$folder/bin" "$folder/lib/gpuemu" "$folder/bench" "$folder/examples" || return 3
  for program in bin/gpuemu-check bin/gpuemu-fidelity bench/gpuemu_bench_opcall lib/gpuemu/libgpuemu.so.1; do
    [ -e "$build/$program" ] || { echo "gpu_programs: $build/$program is missing; ninja -C $build gpuemu libgpuemu gpuemu-fidelity gpuemu_bench_opcall" >&2; return 3; }
    cp -L "$build/$program" "$folder/$( [ "${program%%/*}" = bench ] && echo bin/gpuemu_bench_opcall || echo "$program" )" || return 3
    # Libraries that a bare host lacks; the C library is the host's own.
    ldd "$build/$program" | awk '$3 ~ /^\// {print $3}' | grep -vE '/(libc|libm|libdl|librt|libpthread)\.so' | xargs -r -I{} cp -L {} "$folder/lib/"
  done
  cp "$root"/bench/{program_bench,driver_mlp}.py "$folder/bench/" && cp "$root/examples/train_mlp.py" "$folder/examples/" || return 3
  mkdir -p "$folder/tools" && cp "$root/tools/nan_order.py" "$folder/tools/" || return 3
  cp -r "$root/python" "$folder/" && cp -rL "$build/kernels/builtin" "$folder/" && cp "$0" "$folder/gpu_programs.sh" || return 3
  find "$folder/python" -name __pycache__ -prune -exec rm -rf {} +
  rm -rf "$folder/python/tests"
  # PyTorch uses the libraries of its own host: only these programs use those of the build host.
  printf '#!/bin/sh\nhere=$(dirname "$0")\nLD_LIBRARY_PATH=$here/../lib exec "$here/gpuemu-check" "$@"\n' >"$folder/bin/check" && chmod +x "$folder/bin/check" || return 3
  strip "$folder"/bin/* "$folder"/lib/gpuemu/* 2>/dev/null
  nvrtc=$(find "$root/build/cuda" /usr/local/cuda*/lib64 -name 'libnvrtc.so.*' 2>/dev/null | sort | head -n 1)
  [ -z "$nvrtc" ] || LD_LIBRARY_PATH=$(dirname "$nvrtc") "${PYTHON:-python3}" "$root/bench/driver_mlp.py" compile "$folder/mlp.ptx" --nvrtc "$nvrtc" ||
    echo "gpu_programs: no NVRTC: the step is not compared with a graph of the driver" >&2
  du -sh "$folder" | awk '{print "gpu_programs: " $1 " in " $2}'
}

run() { # ROUNDS
  local here python=${PYTHON:-python3} ptx=()
  here=$(cd "$(dirname "$0")" && pwd)
  export GPUEMU_LIBRARY=$here/lib/gpuemu/libgpuemu.so.1 GPUEMU_CHECK=$here/bin/check PYTHONPATH=$here/python
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  echo "== op_call from C beside cuLaunchKernel (goal: at most 1.2)"
  LD_LIBRARY_PATH=$here/lib "$here/bin/gpuemu_bench_opcall" --backend cuda --rounds 40 --calls 500
  [ ! -f "$here/mlp.ptx" ] || { ptx=(--driver-ptx "$here/mlp.ptx"); echo "== the step by hand is right"; "$python" "$here/bench/driver_mlp.py" run "$here/mlp.ptx"; }
  echo "== programs from Python"
  "$python" "$here/bench/program_bench.py" --backend cuda --rounds "${1:-31}" "${ptx[@]}"
  for optimizer in adam sgd; do
    echo "== examples/train_mlp.py on cuda, $optimizer"
    "$python" "$here/examples/train_mlp.py" --backend cuda --optimizer $optimizer --compare --check | tail -n 6
    echo "exit code ${PIPESTATUS[0]}"
  done
  echo "== the planted adam_step (exit code 0: named)"
  "$python" "$here/examples/train_mlp.py" --backend cuda --plant adam --steps 10 | tail -n 6
  echo "exit code ${PIPESTATUS[0]}"
}

nan() {
  local here
  here=$(cd "$(dirname "$0")" && pwd)
  GPUEMU_LIBRARY=$here/lib/gpuemu/libgpuemu.so.1 GPUEMU_CHECK=$here/bin/check "${PYTHON:-python3}" "$here/tools/nan_order.py"
}

bits() { # OUT
  local here how
  here=$(cd "$(dirname "$0")" && pwd)
  mkdir -p "$1" || return 3
  for how in never always; do
    LD_LIBRARY_PATH=$here/lib "$here/bin/gpuemu-fidelity" "$here/builtin" --contraction $how --cases 64 --json "$1/$how.json" >"$1/$how.md" 2>"$1/$how.log"
    echo "contraction $how: exit code $? (0: all bits agree); what differs:"
    grep '^| builtin' "$1/$how.md" | grep -v '| 100 % |\|| - |'
  done
}

case ${1:-} in
  pack) [ $# = 3 ] || { sed -n '2,6s/^# *//p' "$0" >&2; exit 2; }; pack "$2" "$3" ;;
  run) run "${2:-31}" ;;
  nan) nan ;;
  bits) [ $# = 2 ] || { sed -n '2,6s/^# *//p' "$0" >&2; exit 2; }; bits "$2" ;;
  *) sed -n '2,6s/^# *//p' "$0" >&2; exit 2 ;;
esac
