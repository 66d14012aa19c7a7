#!/usr/bin/env bash
# Measures a shared daemon on an idle host with 16 processors and perhaps a GPU: cases per second by lanes, the cost of the ledger, cases on the GPU.
#   bench/gpu_sharing.sh BUNDLE [STORAGE [BEFORE]]     in about five minutes
# BUNDLE is the folder of scripts/bundle.sh --with-nvrtc, STORAGE is gpuemu_bench_storage or "", BEFORE such a folder of an older build, which runs in turn.
# Needs this folder, examples/, tests/e2e/wire_client.py and python3 with numpy; with the package ray also two nodes are compared with one.
# bench/README.md says what each figure is compared with.
set -uo pipefail
[ $# -ge 1 ] && [ -x "$1/bin/gpuemu" ] || { sed -n '2,6s/^# *//p' "$0" >&2; exit 2; }
bundle=$(realpath "$1")
storage=${2:+$(realpath "$2")}
before=(); [ -z "${3:-}" ] || before=(--before "$(realpath "$3")/bin")
cd "$(dirname "$0")" || exit 3
show() { # COMMAND...: prints its last lines, and runs for at most two minutes
  echo "== $* [$SECONDS s]"
  timeout 120 "$@" 2>&1 | tail -n 20
}
show python3 guided_per_second.py --bin "$bundle/bin" "${before[@]}" --lanes 1,16 --cases 2500 --rounds 3
show python3 guided_per_second.py --bin "$bundle/bin" "${before[@]}" --op softmax --lanes 1,16 --cases 700 --rounds 2
show python3 sharing_bench.py --bin "$bundle/bin"
show python3 projects_per_second.py --bin "$bundle/bin"
show python3 cluster_per_second.py --bin "$bundle/bin" --rounds 2
if [ -n "$storage" ]; then
  export LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  for _ in 1 2; do show "$storage" 2000; done
  TMPDIR=/dev/shm show "$storage" 2000
fi
if nvidia-smi >/dev/null 2>&1; then
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  show python3 fuzz_per_second.py --bin "$bundle/bin" --cases 8000 --rounds 1 --baseline-cases 1
  show python3 guided_per_second.py --bin "$bundle/bin" --backend cuda --lanes 1 --cases 15000 --rounds 2
fi
