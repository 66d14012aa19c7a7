#!/usr/bin/env bash
# Writes the .deb, the tarball and their SHA256SUMS to the build folder.
#   scripts/package.sh [--with-nvrtc] [BUILD_FOLDER]     default: build/release
# --with-nvrtc includes NVRTC and the CUDA headers (about 200 MB), for hosts without a CUDA
# toolkit; PTX and built-in kernels need neither.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/nvrtc.sh
build=build/release
nvrtc_options=(-DGPUEMU_BUNDLE_NVRTC= -DGPUEMU_BUNDLE_CUDA_INCLUDE=)
for arg in "$@"; do
  case $arg in
    --with-nvrtc) find_nvrtc_options ;;
    -h|--help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "package: unknown option '$arg'; usage: scripts/package.sh [--with-nvrtc] [BUILD_FOLDER]" >&2; exit 2 ;;
    *) build=$arg ;;
  esac
done
[ "$build" != build/release ] || scripts/setup.sh
cmake --preset release -B "$build" "${nvrtc_options[@]}" -DGPUEMU_TOOLS=OFF >/dev/null
ninja -C "$build" -j "${GPUEMU_JOBS:-$(nproc)}" installed-programs libgpuemu gpuemu-cudart gpuemu-nvjitlink gpuemu-nvrtc gpuemu-ptx | tail -n 1
cd "$build"
rm -f gpuemu_*_amd64.deb gpuemu-*-Linux.tar.gz SHA256SUMS
cpack --config CPackConfig.cmake >cpack.log 2>&1 || { tail -n 20 cpack.log >&2; echo "package: cpack failed, see $PWD/cpack.log" >&2; exit 3; }
sha256sum gpuemu_*_amd64.deb gpuemu-*-Linux.tar.gz >SHA256SUMS
cat SHA256SUMS
