#!/usr/bin/env bash
# Tests the extension for Visual Studio Code: types, unit tests without an editor, the package. Exit code 77 where Node 20 or the npm packages cannot be had.
#   scripts/vscode_test.sh
set -euo pipefail
cd "$(dirname "$0")/../vscode-extension"
../scripts/vscode_packages.sh
npx --no-install tsc --noEmit -p .
node esbuild.mjs --tests
node --test dist/test/unit/*.test.js >dist/unit.log || { grep -A 20 '^not ok' dist/unit.log; exit 1; }
grep -E '^# (tests|pass|fail)' dist/unit.log
[ "$(wc -c <LICENSE)" = "$(wc -c <../LICENSE)" ] || { echo "vscode: LICENSE is not the project's"; exit 1; }
