#!/usr/bin/env bash
# Builds the extension for Visual Studio Code: vscode-extension/gpuemu-VERSION.vsix. Exit code 77 if neither Node 20 nor its packages can be installed.
#   scripts/vsix.sh [--output FOLDER]
set -euo pipefail
output=
[ "${1:-}" != --output ] || { mkdir -p "$2"; output=$(cd "$2" && pwd); }
cd "$(dirname "$0")/../vscode-extension"
output=${output:-$PWD}
../scripts/vscode_packages.sh
npx --no-install tsc --noEmit -p .
node esbuild.mjs
version=$(node -p 'require("./package.json").version')
file=$output/gpuemu-$version.vsix
npx --no-install vsce package --no-dependencies --allow-missing-repository --no-rewrite-relative-links --out "$file" >/dev/null
size=$(stat -c %s "$file")
[ "$size" -lt 300000 ] || { echo "vsix: $file has $size bytes, 300000 are allowed" >&2; exit 1; }
echo "vsix: $file, $size bytes"
