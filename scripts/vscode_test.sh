#!/usr/bin/env bash
# Tests the extension for Visual Studio Code: types, unit tests without an editor, and the suite that runs inside an editor if build/vscode has one.
# Exit code 77 if Node 20 or the npm packages cannot be installed.
#   scripts/vscode_test.sh [--unit|--screen] [ARGUMENTS OF PLAYWRIGHT]
#     --unit     only tests that need no editor
#     --screen   also tests in Chromium, with screenshots; installs the editor (scripts/setup.sh --vscode installs its packages)
set -euo pipefail
cd "$(dirname "$0")/../vscode-extension"
what=host
case ${1:-} in
  --unit) what=unit; shift ;;
  --screen) what=screen; shift ;;
  -h|--help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
../scripts/vscode_packages.sh
npx --no-install tsc --noEmit -p .
node esbuild.mjs --tests
node --test dist/test/unit/*.test.js >dist/unit.log || { grep -A 20 '^not ok' dist/unit.log; exit 1; }
grep -E '^# (tests|pass|fail)' dist/unit.log
[ "$what" != unit ] || exit 0
if [ "$what" = screen ]; then
  ../scripts/vscode_server.sh
  ../scripts/vsix.sh --output ../build
  node esbuild.mjs --tests
elif [ ! -x ../build/vscode/node24 ] || ! command -v chromium >/dev/null; then
  echo "vscode: no editor in build/vscode: the suite that runs in one is skipped (scripts/setup.sh --vscode)"
  exit 0
fi
suites=(host.spec.ts)
[ "$what" = host ] || suites=()
npx --no-install playwright test -c test/screen "${suites[@]}" "$@"
