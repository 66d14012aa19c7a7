#!/usr/bin/env bash
# Runs the long checks that scripts/test.sh leaves out: slow C++ and end-to-end tests, the frameworks, everything under the
# address sanitizer, multithreaded code under the thread sanitizer, the static analyzer, libFuzzer, the kill soak, benchmarks. Builds what is missing first. Ends with a verdict; exit code 0 only if everything passed.
#   scripts/nightly.sh [--rounds N] [--cases N] [--seed N] [--no-build] [--no-bench]
#     --rounds, --cases, --seed   of the kill soak (1000, 150, random and printed)
#     --no-build                  uses the existing programs of build/release, or of GPUEMU_BIN
#     --no-bench                  skips the benchmarks
set -uo pipefail
cd "$(dirname "$0")/.." || exit 3
root=$PWD
soak=(--rounds 1000 --cases 150)
build=1; bench=1
while [ $# -gt 0 ]; do
  case $1 in
    --rounds|--cases|--seed)
      [ $# -ge 2 ] || { echo "nightly: $1 needs a number" >&2; exit 2; }
      soak+=("$1" "$2"); shift ;;
    --no-build) build=0 ;;
    --no-bench) bench=0 ;;
    -h|--help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "nightly: unknown argument '$1'; see scripts/nightly.sh --help" >&2; exit 2 ;;
  esac
  shift
done

passed=(); failed=(); left_out=()
step() { # NAME COMMAND...   exit code 77: this host cannot run it
  local name=$1 start=$SECONDS; shift
  echo; echo "nightly: $name"
  "$@"
  case $? in
    0) passed+=("$name") ;;
    77) left_out+=("$name") ;;
    *) failed+=("$name") ;;
  esac
  echo "nightly: $name took $((SECONDS - start)) s"
}
leave_out() { left_out+=("$1"); echo; echo "nightly: left out: $1: $2"; }

if [ "$build" = 1 ]; then
  scripts/setup.sh --nightly --vscode || { echo "nightly: the set-up did not work"; exit 3; }
  mkdir -p build
  echo "nightly: building (release)"
  if ! cmake --preset release -DGPUEMU_TESTS=ON >build/nightly.log 2>&1 ||
      ! ninja -C build/release all tests tools >>build/nightly.log 2>&1; then
    grep -A 30 -m 1 -E 'FAILED|CMake Error' build/nightly.log
    echo "nightly: FAILED: the build; all of it is in build/nightly.log"
    exit 1
  fi
fi
export GPUEMU_BIN=${GPUEMU_BIN:-$root/build/release/bin}
[ -x "$GPUEMU_BIN/gpuemu-daemon" ] || { echo "nightly: no gpuemu-daemon in $GPUEMU_BIN" >&2; exit 3; }
python=/usr/bin/python3
build/venv/bin/python -c 'import numpy, pytest' 2>/dev/null && python=$root/build/venv/bin/python

if [ -f build/release/CTestTestfile.cmake ]; then
  step "slow C++ tests" ctest --test-dir build/release -L slow --output-on-failure --no-tests=error
else
  leave_out "slow C++ tests" "build/release has no tests"
fi
step "clang-tidy with the static analyzer" python3 tools/lint.py --analyze
step "all tests under the address sanitizer" scripts/sanitize.sh address --all
# It cannot find anything in single-threaded code, and makes the long tests far longer.
step "what threads share under the thread sanitizer" scripts/sanitize.sh thread --runtime
if command -v clang++-19 >/dev/null && compgen -G "$(clang++-19 -print-resource-dir)/lib/*/libclang_rt.fuzzer*.a" >/dev/null; then
  step "fuzzing the reader of PTX and the emulator, 10 minutes each" scripts/fuzz.sh 10
else
  leave_out "fuzzing" "clang-19 or libclang-rt-19-dev is missing (scripts/setup.sh --nightly)"
fi
step "extension for Visual Studio Code, on the screen" scripts/vscode_test.sh --screen
step "slow end-to-end tests" env PYTHONPATH="$root/python" "$python" -m pytest -q -p no:cacheprovider \
  --slow -m slow tests/e2e
step "planted faults and false alarms, ten seeds" "$python" -m pytest -q -p no:cacheprovider --slow -m slow tests/quality
step "PTX of CUB, cooperative groups, Triton and Numba" "$python" -m pytest -q -p no:cacheprovider --slow -m slow tests/ptx
step "PyTorch, JAX and TensorFlow" scripts/frameworks.sh
step "every built-in kernel, 64 cases of each dtype" scripts/test_builtin.sh 64
step "kill soak" python3 tests/soak/kill_soak.py "${soak[@]}"
for extra in tests/soak/*; do
  case $extra in
    */kill_soak.py|*/__pycache__) ;;
    *.py) step "$(basename "$extra")" python3 "$extra" ;;
    *.sh) step "$(basename "$extra")" bash "$extra" ;;
  esac
done
if [ "$bench" = 0 ]; then
  leave_out "benchmarks" "--no-bench"
elif [ -f bench/run.sh ]; then
  step "benchmarks" bash bench/run.sh
else
  leave_out "benchmarks" "there is no bench/run.sh"
fi

echo
for name in ${left_out[@]+"${left_out[@]}"}; do echo "left out: $name"; done
for name in ${passed[@]+"${passed[@]}"}; do echo "passed: $name"; done
for name in ${failed[@]+"${failed[@]}"}; do echo "FAILED: $name"; done
echo "nightly: ${#passed[@]} passed, ${#failed[@]} failed, ${#left_out[@]} left out"
[ ${#failed[@]} = 0 ]
