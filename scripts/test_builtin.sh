#!/usr/bin/env bash
# Tests the built-in kernels on the emulator with a private daemon.
#   scripts/test_builtin.sh [cases of each op and dtype = 3]
set -uo pipefail
cd "$(dirname "$0")/.." || exit 3
bin=${GPUEMU_BIN:-$PWD/build/release/bin}
home=$(mktemp -d) || exit 3
trap 'HOME=$home "$bin/gpuemu" daemon stop >/dev/null 2>&1; rm -rf "$home"' EXIT
export GPUEMU_SOCKET=$home/socket GPUEMU_DB=$home/db GPUEMU_BACKEND=emulator
cd "$home" || exit 3
HOME=$home "$bin/gpuemu" test builtin --cases "${1:-3}" | grep -v '^\[PASS\]'
