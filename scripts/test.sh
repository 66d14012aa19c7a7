#!/usr/bin/env bash
# Sets up what the tests need and runs them all: C++ unit and golden tests, Python, end to end.
# Ends with the line "N passed, N failed" over all of them; exit code 0 only when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 3
root=$PWD
passed=0; failed=0
started=$SECONDS
say() { echo; echo "test: $* (at $((SECONDS - started)) s)"; }
result() { # NAME STATUS: a check that is one test by itself
  if [ "$2" = 0 ]; then passed=$((passed + 1)); echo "ok: $1"; else failed=$((failed + 1)); echo "FAILED: $1"; fi
}
count_junit() { # FILE NAME STATUS: adds the counts of a JUnit file, and a failure that it does not show
  local counts ok bad
  counts=$(python3 - "$1" <<'P'
import sys, xml.etree.ElementTree as tree
try:
    root = tree.parse(sys.argv[1]).getroot()
except Exception:
    print("0 1"); sys.exit()
suites = [root] if root.tag == "testsuite" else list(root)
total = bad = skipped = 0
for suite in suites:
    total += int(suite.get("tests", 0))
    bad += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    skipped += int(suite.get("skipped", 0) or 0) + int(suite.get("disabled", 0) or 0)
print(total - bad - skipped, bad)
P
)
  read -r ok bad <<<"$counts"
  if [ "$3" != 0 ] && [ "$bad" = 0 ]; then bad=1; echo "FAILED: $2 ended with status $3"; fi
  echo "$2: $ok passed, $bad failed"
  passed=$((passed + ok)); failed=$((failed + bad))
}
tell_failures() { # JUNIT-FILE...: the failing tests and what they said, where the end of a log shows them
  python3 - "$@" <<'P'
import sys, xml.etree.ElementTree as tree
for path in sys.argv[1:]:
    try:
        cases = list(tree.parse(path).getroot().iter("testcase"))
    except Exception as error:
        print(f"{path} cannot be read: {error}")
        continue
    for case in cases:
        faults = [e for e in case if e.tag in ("failure", "error")]
        if not faults:
            continue
        said = "\n".join((e.text or e.get("message") or "") for e in case if e.tag in ("failure", "error", "system-out"))
        print(f"FAILED: {case.get('classname', '')}::{case.get('name')}")
        lines = [line for line in said.splitlines() if line.strip() and not line.startswith("[ ")]
        shown = lines if len(lines) <= 40 else lines[:10] + ["..."] + lines[-30:]
        print("\n".join("  " + line for line in shown))
P
}
tell_skipped() { # JUNIT-FILE...: which tests this machine could not run, and why; those of scripts/nightly.sh are not meant to
  python3 - "$@" <<'P'
import collections, sys, xml.etree.ElementTree as tree
reasons = collections.defaultdict(list)
for path in sys.argv[1:]:
    try:
        cases = list(tree.parse(path).getroot().iter("testcase"))
    except Exception:
        continue  # count_junit has said so.
    for case in cases:
        for skipped in case.findall("skipped"):
            if not (skipped.get("message") or "").startswith("slow:"):
                reasons[skipped.get("message")].append(f"{case.get('classname')}::{case.get('name')}")
for reason, names in reasons.items():
    print(f"skipped {len(names)}: {reason}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}")
P
}

scripts/setup.sh --tests || { echo "0 passed, 1 failed"; exit 1; }
mkdir -p build
rm -f build/ctest.xml build/pytest.xml build/frameworks.xml  # What an earlier run found counts for nothing.
# Fetches PyTorch, JAX and TensorFlow while everything is built; at the lowest priority beside the compilers that would take for ever.
scripts/frameworks.sh --install >build/frameworks.log 2>&1 &

say "building (release)"
# A new build folder compiles files together; one that somebody works in stays as it is.
unity=(); [ -f build/release/CMakeCache.txt ] || unity=(-DGPUEMU_UNITY=ON)
cmake --preset release "${unity[@]}" -DGPUEMU_TESTS=ON >build/configure.log 2>&1 || { cat build/configure.log; echo "0 passed, 1 failed"; exit 1; }
ninja -C build/release >build/build.log 2>&1
status=$?
[ $status = 0 ] || grep -A 30 -m 1 FAILED build/build.log
result "build" $status
[ $status = 0 ] || { echo "$passed passed, $failed failed"; exit 1; }

# Most tests wait for processes of theirs: what only computes fills the gaps, at the lowest priority.
behind() { # NAME COMMAND...: its output and its status, to be told by `tell`
  local name=$1; shift
  nice -n 19 "$@" >"build/behind-$name.log" 2>&1; echo $? >"build/behind-$name.status"
}
rm -f build/behind-*
(
  if command -v clang-tidy-19 >/dev/null; then behind clang-tidy python3 tools/lint.py --quick; fi
  for sanitizer in address thread; do behind "$sanitizer-sanitizer" scripts/sanitize.sh $sanitizer; done
  behind frameworks scripts/frameworks.sh --ci --junitxml build/frameworks.xml
) &
behind_pid=$!
trap 'pkill -P $behind_pid 2>/dev/null; kill $behind_pid 2>/dev/null' EXIT
tell() { # NAME
  say "$1"; cat "build/behind-$1.log"; result "$1" "$(cat "build/behind-$1.status" 2>/dev/null || echo 1)"
}

say "structure and formatting"
python3 tools/tidy.py; result "tools/tidy.py" $?
if command -v clang-format-19 >/dev/null; then
  git ls-files '*.cc' '*.h' | xargs clang-format-19 --dry-run --Werror; result "clang-format" $?
else
  echo "clang-format-19 is missing: formatting is not checked"
fi

say "C++ tests"
ctest --test-dir build/release --output-on-failure --no-tests=error -LE 'gpu|slow' -j 2 \
  --output-junit "$root/build/ctest.xml" >build/ctest.log 2>&1
count_junit build/ctest.xml "C++" $?

say "Python tests"
python=/usr/bin/python3
build/venv/bin/python -c 'import numpy, pytest' 2>/dev/null && python=build/venv/bin/python
# Most of these tests wait for a daemon or a process of theirs: two files at a time.
together=()
$python -c 'import xdist' 2>/dev/null && together=(-n 2 --dist loadfile)
PYTHONPATH=$root/python $python -m pytest "${together[@]}" -q -p no:cacheprovider python/tests tests/e2e tests/faults tests/ptx tests/quality \
  --junitxml build/pytest.xml 2>&1 | tail -n 40
count_junit build/pytest.xml "Python and end to end" "${PIPESTATUS[0]}"

wait $behind_pid
if command -v clang-tidy-19 >/dev/null; then tell clang-tidy
else echo "clang-tidy-19 is missing: static analysis is switched off"
fi
for sanitizer in address thread; do tell "$sanitizer-sanitizer"; done
say "PyTorch, JAX and TensorFlow"; cat build/frameworks.log build/behind-frameworks.log
status=$(cat build/behind-frameworks.status 2>/dev/null || echo 1)
if [ "$status" = 77 ]; then echo "none of them can be had here: their tests are switched off"
else count_junit build/frameworks.xml "PyTorch, JAX and TensorFlow" "$status"
fi

echo
reports=(build/ctest.xml build/pytest.xml)
[ ! -f build/frameworks.xml ] || reports+=(build/frameworks.xml)
tell_skipped "${reports[@]}"
[ "$failed" = 0 ] || tell_failures "${reports[@]}"
echo "test: took $((SECONDS - started)) s"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
