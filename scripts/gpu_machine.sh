#!/usr/bin/env bash
# Runs the tests that need a GPU on a host that has a driver and nothing else: no compiler, no network.
#   scripts/gpu_machine.sh pack BUILD FOLDER    copies programs, libraries and this script to FOLDER
#   FOLDER/gpu_machine.sh run [LOG-FOLDER]      there: runs all of them; with two GPUs, two at a time
#   FOLDER/gpu_machine.sh run --emulator        runs the same programs without a GPU, to try the folder
# `pack` needs the target `gpu_machine` in BUILD. Exit code 0 if everything passed; the output of each part is in
# LOG-FOLDER (FOLDER/log).
set -uo pipefail
programs=(examples/gpuemu_embed_mlp examples/gpuemu_embed_softmax examples/gpuemu_embed_loaded examples/gpuemu_embed_two_devices
  tests/conformance/conformance_test ops/capi/ops_capi_test)

pack() { # BUILD FOLDER
  local build=$1 folder=$2 program library
  mkdir -p "$folder/examples" "$folder/tests" "$folder/lib/gpuemu" || return 3
  for program in "${programs[@]}"; do
    [ -x "$build/$program" ] || { echo "gpu_machine: $build/$program is missing; ninja -C $build gpu_machine" >&2; return 3; }
    case $program in
      examples/*) cp "$build/$program" "$folder/examples/" || return 3 ;;
      *) cp "$build/$program" "$folder/tests/" || return 3
        # Libraries that a bare host lacks; the C library is the host's own.
        ldd "$build/$program" | awk '$3 ~ /^\// {print $3}' | grep -vE '/(libc|libm|libdl|librt|libpthread)\.so' |
          while read -r library; do cp -L "$library" "$folder/lib/"; done ;;
    esac
  done
  cp "$build/lib/gpuemu/libgpuemu.so.1" "$folder/lib/gpuemu/" && cp "$0" "$folder/gpu_machine.sh" || return 3
  strip "$folder"/examples/* "$folder"/tests/* "$folder/lib/gpuemu/libgpuemu.so.1" 2>/dev/null
  du -sh "$folder" | awk '{print "gpu_machine: " $1 " in " $2}'
}

passed=0; failed=0; skipped=0
part() { # NAME COMMAND...: exit code 77 of the command means that this host cannot run it
  local name=$1 status; shift
  "$@" >"$log/$name.log" 2>&1; status=$?
  case $status in
    0) passed=$((passed + 1)); echo "ok: $name: $(tail -n 1 "$log/$name.log")" ;;
    77) skipped=$((skipped + 1)); echo "skipped: $name: $(tail -n 1 "$log/$name.log")" ;;
    *) failed=$((failed + 1)); echo "FAILED: $name ended with status $status"; grep -vE '^\[ +(OK|RUN) ' "$log/$name.log" | tail -n 30 ;;
  esac
}
# After a fault a process loses the GPU, so each test runs in its own process, four at a time.
each_test() { # PROGRAM FILTER
  local program=$1 list bad=0 ran
  list=$("$program" --gtest_list_tests --gtest_filter="$2" | awk '/^[^ ]/ {suite = $1; next} {print suite $1}')
  [ -n "$list" ] || { echo "no test matches $2"; return 1; }
  # shellcheck disable=SC2016
  xargs -P 4 -I{} sh -c '"$0" --gtest_brief=1 --gtest_filter="$1" >"$2/one.$$" 2>&1; s=$?
    if [ $s != 0 ]; then echo "FAILED: $1"; cat "$2/one.$$"; elif grep -q "^\[  SKIPPED \]" "$2/one.$$"; then echo "SKIPPED: $1"; else echo "OK: $1"; fi
    rm -f "$2/one.$$"' "$program" {} "$log" <<<"$list" >"$log/tests.tmp"
  cat "$log/tests.tmp"
  bad=$(grep -c '^FAILED: ' "$log/tests.tmp"); ran=$(grep -c '^OK: ' "$log/tests.tmp")
  rm -f "$log/tests.tmp"
  echo "$ran passed, $bad failed, $(($(wc -l <<<"$list") - ran - bad)) skipped"
  [ "$bad" = 0 ] && [ "$ran" != 0 ]
}
falls() { # Checks that the loss in the last line is less than that in the first.
  awk '/^loss/ {if (!n++) first = $3; last = $3} {print} END {exit !(n > 1 && last < first)}'
}
train() { "$here/examples/gpuemu_embed_mlp" --backend "$backend" --steps 1001 "$@" | falls; }
conform() { each_test "$here/tests/conformance_test" "$suite"; }
library() { # Tests the C interface on a GPU, and the interface itself.
  each_test "$here/tests/ops_capi_test" "$tests_of_calls"
}

run() { # [--emulator] [LOG-FOLDER]
  here=$(cd "$(dirname "$0")" && pwd)
  backend=cuda; suite='Cuda/*'; tests_of_calls='*'
  if [ "${1:-}" = --emulator ]; then
    backend=emulator; suite='Emulator/Streams*:Emulator/Memory*:Emulator/Faults*'; shift
    export GPUEMU_EMULATED_DEVICES=sm_80,sm_90
    tests_of_calls='EmulatedContexts*:Hostile*'
  fi
  log=${1:-$here/log}; mkdir -p "$log" || return 3
  export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  [ "$backend" = emulator ] || part driver nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv,noheader
  GPUEMU_LIBRARY=$here/lib/gpuemu/libgpuemu.so.1 part loaded "$here/examples/gpuemu_embed_loaded" "$backend"
  part softmax "$here/examples/gpuemu_embed_softmax" "$backend"
  part mlp train
  part mlp-deep train --layers 6
  part mlp-trace train --layers 3 --steps 101 --trace "$log/mlp.json"
  [ "$backend" = emulator ] || part mlp-bench "$here/examples/gpuemu_embed_mlp" --backend "$backend" --layers 6 --bench
  part two-devices "$here/examples/gpuemu_embed_two_devices" --backend "$backend"
  part calls library
  part conformance conform
  echo "gpu_machine: $passed passed, $failed failed, $skipped skipped; logs in $log"
  [ "$failed" = 0 ]
}

case ${1:-} in
  pack) [ $# = 3 ] || { echo "usage: $0 pack BUILD FOLDER" >&2; exit 2; }; pack "$2" "$3" ;;
  run) shift; run "$@" ;;
  -h|--help) sed -n '2,7s/^# \{0,1\}//p' "$0" ;;
  *) echo "usage: $0 pack BUILD FOLDER | run [--emulator] [LOG-FOLDER]" >&2; exit 2 ;;
esac
