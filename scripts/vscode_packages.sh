#!/usr/bin/env bash
# Installs the npm packages that build and test the extension, unless they are installed. Exit code 77, with the reason, if they cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/../vscode-extension"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "vscode: skipped: no node and npm (apt-get install nodejs npm)"
  exit 77
fi
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 20 ] || { echo "vscode: skipped: node $major, 20 or later is needed"; exit 77; }
mark=node_modules/.installed
if [ -f "$mark" ] && [ "$mark" -nt package-lock.json ]; then exit 0; fi
# npm retries for minutes if it cannot reach its registry.
if ! PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 timeout 300 npm ci --no-audit --no-fund --loglevel=error --fetch-retries=1 \
    --fetch-timeout=20000 >node_modules.log 2>&1; then
  tail -n 3 node_modules.log; rm -f node_modules.log
  echo "vscode: skipped: the npm packages cannot be had"
  exit 77
fi
rm -f node_modules.log
touch "$mark"
