#!/usr/bin/env bash
# Fuzzes the PTX parser and the emulator with libFuzzer (clang 19), under the address and undefined-behaviour sanitizers.
#   scripts/fuzz.sh [MINUTES] [TARGET...]     minutes per target (1); targets ptx_parse, ptx_run (both)
# Starts from the PTX of kernels/, examples/, tests/ and from what earlier runs found (build/fuzz/corpus).
# A finding stays in build/fuzz/found; once it is fixed, move it to tests/fuzz/crashes/TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in -h|--help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
minutes=${1:-1}
[[ $minutes =~ ^[0-9]+$ ]] && [ "$minutes" -gt 0 ] || { echo "fuzz: '$minutes' is no number of minutes from 1; see scripts/fuzz.sh --help" >&2; exit 2; }
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- ptx_parse ptx_run
build=${GPUEMU_FUZZ_BUILD:-build/fuzz}
bytes_max=16384
for target; do
  [ -f "tests/fuzz/${target}_fuzz.cc" ] || { echo "fuzz: no target '$target'; there are ptx_parse and ptx_run" >&2; exit 2; }
done
command -v clang++-19 >/dev/null && compgen -G "$(clang++-19 -print-resource-dir)/lib/*/libclang_rt.fuzzer*.a" >/dev/null ||
  { echo "fuzz: clang-19 or libclang-rt-19-dev is missing: scripts/setup.sh --nightly" >&2; exit 3; }
mkdir -p "$build"/found
programs=("${@/%/_fuzz}")
if ! cmake --preset fuzz -B "$build" >"$build/configure.log" 2>&1 ||
    ! ninja -C "$build" "${programs[@]}" kernels >"$build/build.log" 2>&1; then
  grep -hE -A 20 -m 1 'FAILED|CMake Error' "$build/configure.log" "$build/build.log"; exit 3
fi

# Seeds: compiler output. Long texts would only slow the fuzzer down.
seeds=$build/seeds
mkdir -p "$seeds"
nvcc=$(sed -n 's/^GPUEMU_NVCC:FILEPATH=//p' "$build/CMakeCache.txt")
while read -r source; do
  out=$seeds/$(echo "${source%.cu}" | tr / _).ptx
  [ "$out" -nt "$source" ] || "$nvcc" -ptx -arch=compute_80 -o "$out" "$source" >"$build/seed.log" 2>&1 ||
    echo "fuzz: no seed from $source: $(grep -m 1 -E 'error|fatal' "$build/seed.log")"
done < <(find examples tests/kernels tests/ptx -name '*.cu' 2>/dev/null)
for ptx in "$build"/kernels/*.ptx tests/golden/ptx/*.ptx tests/fuzz/crashes/*/*; do
  [ -f "$ptx" ] && cp -u "$ptx" "$seeds/$(echo "${ptx#"$build"/}" | tr / _)"
done
find "$seeds" -size +$((bytes_max / 1024))k -delete

status=0
for target; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus"
  log=$build/$target.log
  if ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 "$build/tests/fuzz/${target}_fuzz" \
      -max_total_time=$((minutes * 60)) -timeout=120 -rss_limit_mb=2048 -max_len=$bytes_max -print_final_stats=1 \
      -artifact_prefix="$build/found/$target-" "$corpus" "$seeds" >"$log" 2>&1; then
    echo "ok: $target ($(sed -n 's/^stat::number_of_executed_units: //p' "$log") inputs in $minutes min, $(find "$corpus" -type f | wc -l) kept)"
  else
    status=1; echo "FAILED: $target"
    grep -E -A 14 -m 1 'ERROR: |runtime error|panic|check failed' "$log" || tail -n 20 "$log"
    grep -E 'Test unit written' "$log" || true
  fi
done
exit $status
