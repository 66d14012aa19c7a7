#!/usr/bin/env bash
# Installs a Visual Studio Code server (code-server, with its own Node 24) into build/vscode, using only the npm registry. Exit code 77 if it cannot be installed.
# Its own install step compiles modules that no test uses and downloads parts of them from other servers, so its three necessary steps are done here instead.
set -euo pipefail
cd "$(dirname "$0")/.."
server_version=4.139.1; node_version=24.21.0
command -v npm >/dev/null || { echo "vscode: skipped: no npm"; exit 77; }
command -v chromium >/dev/null || { echo "vscode: skipped: no chromium (scripts/setup.sh --vscode)"; exit 77; }
case $(uname -m) in
  x86_64) arch=x64 ;;
  aarch64) arch=arm64 ;;
  *) echo "vscode: skipped: no Node package for $(uname -m)"; exit 77 ;;
esac
place=$PWD/build/vscode
mark=$place/.done-$server_version-$node_version
[ ! -f "$mark" ] || exit 0
rm -rf "$place"
mkdir -p "$place/node" "$place/server"
echo '{"private":true}' | tee "$place/node/package.json" >"$place/server/package.json"
npm_quiet=(--no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-timeout=20000)
install_server() {
  npm install --prefix "$place/node" "${npm_quiet[@]}" "node-linux-$arch@$node_version" || return 1
  ln -sfn "node/node_modules/node-linux-$arch/bin/node" "$place/node24"
  local home=$place/node/node_modules/node-linux-$arch code=$place/server/node_modules/code-server/lib/vscode
  export PATH="$home/bin:$PATH" npm_config_nodedir="$home"
  npm install --prefix "$place/server" "${npm_quiet[@]}" --ignore-scripts "code-server@$server_version" || return 1
  (cd "$code" && npm install "${npm_quiet[@]}" --omit=dev --ignore-scripts) || return 1
  (cd "$code/extensions" && npm install "${npm_quiet[@]}" --omit=dev --ignore-scripts) || return 1
  # Needed for log files; without a compiler the server logs to the console.
  (cd "$code" && npm rebuild "${npm_quiet[@]}" @vscode/spdlog @vscode/native-watchdog) ||
    echo "vscode: no log files of the server: its native modules do not compile"
}
if ! install_server; then
  echo "vscode: skipped: the server cannot be had from npm"
  exit 77
fi
touch "$mark"
