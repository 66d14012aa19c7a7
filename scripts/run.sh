#!/usr/bin/env bash
# Tries all of gpuemu once, on this host and without a GPU: set-up, build, a daemon in a private
# folder, tests of all examples, one found bug reproduced and minimized, the daemon stopped.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
  '') ;;
  -h|--help) sed -n '2,3s/^# \{0,1\}//p' scripts/run.sh; exit 0 ;;
  *) echo "run: unknown argument '$1'; usage: scripts/run.sh" >&2; exit 2 ;;
esac
root=$PWD
scripts/setup.sh
echo "run: building (release, ccache)"
build_started=$SECONDS
# A new build folder compiles files together and uses precompiled headers; an existing one keeps its settings.
cold_build=(); [ -f build/release/CMakeCache.txt ] || cold_build=(-DGPUEMU_UNITY=ON -DGPUEMU_PRECOMPILE=ON)
cmake --preset release "${cold_build[@]}" -DGPUEMU_TESTS=${GPUEMU_TESTS:-OFF} >build-configure.log 2>&1 || { cat build-configure.log; rm -f build-configure.log; exit 3; }
mv build-configure.log build/release/configure.log
ninja -C build/release gpuemu gpuemu-daemon gpuemu-check gpuemu-device gpuemu-worker gpuemu-cudart gpuemu-nvjitlink gpuemu-nvrtc gpuemu-ptx gpuemu-nvcc | tail -n 1
echo "run: built in $((SECONDS - build_started)) s"

home=$(mktemp -d /tmp/gpuemu-run.XXXXXX)
export GPUEMU_SOCKET=$home/gpuemu.sock GPUEMU_DB=$home/db HOME=$home
export PATH=$root/build/release/bin:$PATH
finish() { gpuemu daemon stop >/dev/null 2>&1 || true; rm -rf "$home"; }
trap finish EXIT
cd examples
step() { echo; echo "\$ $*"; "$@"; }

step gpuemu daemon start --background
status=0
step gpuemu test || status=$?
if [ "$status" != 1 ]; then
  echo "run: 'gpuemu test' ended with $status; the planted faults of examples/ should have made it 1" >&2
  exit 3
fi
step gpuemu failures --limit 3
seed=$(gpuemu failures --limit 1 | awk 'NR == 1 {print $1}')
step gpuemu reproduce "$seed" --verbose
step gpuemu minimize "$seed"
step gpuemu daemon stop
gpuemu run --quiet -- true  # Finds the libraries that replace NVIDIA's in programs.
echo
echo "run: done; the planted faults were found, one was reproduced and minimized"
