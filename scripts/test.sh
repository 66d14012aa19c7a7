#!/usr/bin/env bash
# Installs what the tests need and runs them: C++ unit and golden tests, Python, end to end. Long tests run in scripts/nightly.sh.
# Ends with the line "N passed, N failed" over all tests; exit code 0 only if nothing failed.
#   scripts/test.sh [--quick]     time limit on two cores: 15 minutes with an existing build, 30 without
#     --quick   checks for use before a commit, at most 3 minutes without the build: structure, formatting, unit tests, python/tests and
#               each command once
set -uo pipefail
cd "$(dirname "$0")/.." || exit 3
root=$PWD
quick=0
case ${1:-} in
  '') ;;
  --quick) quick=1 ;;
  -h|--help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "test: unknown argument '$1'; usage: scripts/test.sh [--quick]" >&2; exit 2 ;;
esac
passed=0; failed=0
started=$SECONDS
say() { echo; echo "test: $* (at $((SECONDS - started)) s)"; }
result() { # NAME STATUS: a check that counts as one test
  if [ "$2" = 0 ]; then passed=$((passed + 1)); echo "ok: $1"; else failed=$((failed + 1)); echo "FAILED: $1"; fi
}
count_junit() { # FILE NAME STATUS: adds the counts of a JUnit file, and a failure that the file does not show
  local ok bad
  read -r ok bad < <(python3 tools/junit.py count "$1")
  if [ "$3" != 0 ] && [ "$bad" = 0 ]; then bad=1; echo "FAILED: $2 ended with status $3"; fi
  echo "$2: $ok passed, $bad failed"
  passed=$((passed + ok)); failed=$((failed + bad))
}
finish() {
  local allowed=900
  [ $quick = 0 ] || allowed=180
  [ $cold = 0 ] || allowed=1800
  echo
  python3 tools/junit.py slowest build/ctest.xml build/pytest.xml
  python3 tools/junit.py skipped build/ctest.xml build/pytest.xml
  [ "$failed" = 0 ] || python3 tools/junit.py failures build/ctest.xml build/pytest.xml
  echo "test: took $((SECONDS - started)) s"
  # The time also depends on the host, so it is reported but does not fail the run.
  [ $((SECONDS - started)) -le $allowed ] || echo "test: more than the $allowed s that it may take on two cores with nothing else to do"
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}

scripts/setup.sh --tests || { echo "0 passed, 1 failed"; exit 1; }
mkdir -p build
rm -f build/ctest.xml build/pytest.xml build/behind-*  # Removes results of earlier runs.

say "building (release)"
# A new build folder compiles files together and uses precompiled headers; an existing one keeps its settings.
cold=0; cold_build=()
[ -f build/release/CMakeCache.txt ] || { cold=1; cold_build=(-DGPUEMU_UNITY=ON -DGPUEMU_PRECOMPILE=ON); }
cmake --preset release "${cold_build[@]}" -DGPUEMU_TESTS=ON >build/configure.log 2>&1 || { cat build/configure.log; echo "0 passed, 1 failed"; exit 1; }
ninja -C build/release all tests tools >build/build.log 2>&1
status=$?
[ $status = 0 ] || grep -A 30 -m 1 FAILED build/build.log
result "build" $status
[ $status = 0 ] || { echo "$passed passed, $failed failed"; exit 1; }

# Most tests wait for their child processes, so several run in parallel; those that only compute get the lowest priority.
beside() { # NAME COMMAND...: stores output and status for `tell`
  local name=$1; shift
  "$@" >"build/behind-$name.log" 2>&1; echo $? >"build/behind-$name.status"
}
behind() { beside "$1" nice -n 19 "${@:2}"; }
tell() { # NAME: status 77 means that this host lacks what the tests need
  local status; status=$(cat "build/behind-$1.status" 2>/dev/null || echo 1)
  say "$1"; cat "build/behind-$1.log"
  [ "$status" = 77 ] || result "$1" "$status"
}
# clang-tidy checks the most recently changed files, as many as two cores can in a few minutes; scripts/nightly.sh checks all.
lately=(); lately_most=12
if command -v clang-tidy-19 >/dev/null && [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then
  while read -r file; do [ ! -f "$file" ] || [[ $file == *_test.cc ]] || lately+=("$file"); done < <(
    { git diff --name-only HEAD -- '*.cc'; git log -10 --name-only --format= -- '*.cc'; } | awk 'NF && !seen[$0]++')
fi
if [ $quick = 0 ]; then
  (
    [ ${#lately[@]} = 0 ] || behind clang-tidy python3 tools/lint.py --quick "${lately[@]:0:lately_most}"
    behind address-sanitizer scripts/sanitize.sh address
  ) &
  behind_pid=$!
fi
end_others() {
  local pid
  for pid in ${behind_pid:-} ${extension_pid:-}; do pkill -P "$pid" 2>/dev/null; kill "$pid" 2>/dev/null; done
}
trap end_others EXIT

say "structure and formatting"
python3 tools/tidy.py; result "tools/tidy.py" $?
if command -v clang-format-19 >/dev/null; then
  scripts/sources.sh '*.cc' '*.h' '*.inc' | xargs clang-format-19 --dry-run --Werror; result "clang-format" $?
else
  echo "clang-format-19 is missing: formatting is not checked"
fi

extension_tests=()
[ $quick = 0 ] || extension_tests=(--unit)
beside vscode-extension scripts/vscode_test.sh "${extension_tests[@]}" &
extension_pid=$!

say "C++ tests"
chosen=(--without gpu --without slow)
[ $quick = 0 ] || chosen+=(--label unit)
python3 tools/cpp_tests.py build/release --junit build/ctest.xml "${chosen[@]}"
count_junit build/ctest.xml "C++" $?

say "Python tests"
python=/usr/bin/python3
build/venv/bin/python -c 'import numpy, pytest' 2>/dev/null && python=build/venv/bin/python
folders=(python/tests tests/e2e tests/faults tests/ptx tests/quality)
[ $quick = 0 ] || folders=(python/tests tests/e2e/test_each_command.py)
# Many of these tests wait for a daemon or another process, so half as many files again run at a time as there are processors, at most six.
# With more, tests that compare times fail now and then.
together=(); files=$(($(nproc) * 3 / 2))
$python -c 'import xdist' 2>/dev/null && together=(-n $((files < 6 ? files : 6)) --dist loadfile --no-loadscope-reorder)
# No test takes a tenth of this time on two cores.
$python -c 'import pytest_timeout' 2>/dev/null && together+=(--timeout 900)
PYTHONPATH=$root/python $python -m pytest "${together[@]}" -q -p no:cacheprovider "${folders[@]}" \
  --junitxml build/pytest.xml 2>&1 | tail -n 40
count_junit build/pytest.xml "Python and end to end" "${PIPESTATUS[0]}"

wait "$extension_pid"
tell vscode-extension
if [ $quick = 0 ]; then
  wait "$behind_pid"
  if [ ${#lately[@]} != 0 ]; then
    tell clang-tidy
    [ ${#lately[@]} -le $lately_most ] ||
      echo "$((${#lately[@]} - lately_most)) files that changed before these are left to scripts/nightly.sh"
  else echo "clang-tidy-19 is missing or these sources have no history: static analysis is left to scripts/nightly.sh"
  fi
  tell address-sanitizer
fi
finish
