#!/usr/bin/env bash
# Builds tests with a sanitizer and runs them.
#   scripts/sanitize.sh address|thread [--runtime|--all]
# By default only what compiles fast: parsers, generator, comparison (address, undefined); sockets,
# lanes, streams and the allocator (thread). --runtime adds code that runs on the emulator: the C interface
# with misuse tests, dispatch, modules and profiles, which several threads use. Exit code 0 if every
# test passed.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
  address) preset=asan
    targets=(common_base common_config runtime_ptx judge_cases judge_bounds judge_scan judge_verdict) ;;
  thread) preset=tsan; targets=(common_transport daemon_schedule runtime_emulator_queues ops_memory) ;;
  -h|--help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "usage: scripts/sanitize.sh address|thread [--runtime|--all]" >&2; exit 2 ;;
esac
case ${2:-} in
  ''|--all) ;;
  --runtime) targets+=(runtime_device ops_modules ops_dispatch ops_profile ops_capi)
    [ $preset = asan ] && targets+=(ops_memory runtime_emulator_queues) ;;
  *) echo "sanitize: unknown argument '$2'; see scripts/sanitize.sh --help" >&2; exit 2 ;;
esac
tests=("${targets[@]/%/_test}")
mkdir -p build
level=0  # These tests take longer to compile than to run.
[ "${2:-}" = --all ] && level=1
# The tests of scripts/test.sh compile in half the processor time if the files of a folder are compiled together.
together=OFF; [ "$*" = address ] && together=ON
cmake --preset $preset -DGPUEMU_TESTS=ON -DGPUEMU_SANITIZE_LEVEL=$level -DGPUEMU_UNITY=$together -DGPUEMU_PRECOMPILE=$together >build/$preset-configure.log 2>&1 || { cat build/$preset-configure.log; exit 3; }
programs=("${tests[@]}")
[ "${2:-}" = --all ] && { tests=(); programs=(all tests); }
ninja -C build/$preset "${programs[@]}" >build/$preset-build.log 2>&1 || { grep -A 30 -m 1 FAILED build/$preset-build.log; exit 3; }
# ctest lists tests that were not built as NOT_BUILT, so each test program is run directly.
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:suppressions=$PWD/tests/races.supp
export LSAN_OPTIONS=suppressions=$PWD/tests/leaks.supp:print_suppressions=0
run_tests() { # PROGRAM: prints a line, or what it found
  local name log found
  name=$(basename "$1"); log=build/$preset/$name.log
  if timeout 1800 "build/$preset/$1" --gtest_brief=1 >"$log" 2>&1; then
    echo "ok: $name ($(grep -oE '^\[==========\] [0-9]+ tests?' "$log" | tail -n 1 | grep -oE '[0-9]+ tests?'))"
    return 0
  fi
  found=$(grep -E -A 12 -m 3 'ERROR: |WARNING: ThreadSanitizer|runtime error|Failure' "$log" || tail -n 20 "$log")
  printf 'FAILED: %s\n%s\n' "$name" "$found"  # one write, so that lines of programs that end together stay apart
  return 1
}
export -f run_tests
export preset
listed=()
while read -r program; do
  [ ${#tests[@]} = 0 ] || [[ " ${tests[*]} " == *" $(basename "$program") "* ]] || continue
  listed+=("$program")
done < <(cd build/$preset && find . -name '*_test' -type f -perm -u+x | sort)
[ ${#listed[@]} != 0 ] || { echo "sanitize: build/$preset has no test program" >&2; exit 3; }
# shellcheck disable=SC2016
printf '%s\0' "${listed[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'run_tests "$0" || exit 1' || exit 1
