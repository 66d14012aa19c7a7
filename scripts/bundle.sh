#!/usr/bin/env bash
# Makes a folder that runs wherever it is copied: programs, their libraries, examples, Python helpers.
#   scripts/bundle.sh [--with-nvrtc] [--with-tools] [FOLDER]     default: build/gpuemu-bundle
# FOLDER is new, empty, or contains a bundle, whose files are replaced; other files in it are kept.
# The target host needs x86-64 Linux with the C library of Debian 12 (2.36) or newer, and python3
# with numpy for the references; the cuda backend also needs NVIDIA's driver. --with-nvrtc includes NVRTC and
# the CUDA headers (about 200 MB), for hosts without a CUDA toolkit; PTX needs neither. --with-tools also includes
# gpuemu-fidelity and gpuemu-ptx-census.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/nvrtc.sh
. scripts/bundle_folder.sh
root=$PWD
with_nvrtc=0; tools=OFF; out=$root/build/gpuemu-bundle
for arg in "$@"; do
  case $arg in
    --with-nvrtc) with_nvrtc=1 ;;
    --with-tools) tools=ON ;;
    -h|--help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "bundle: unknown option '$arg'; usage: scripts/bundle.sh [--with-nvrtc] [--with-tools] [FOLDER]" >&2; exit 2 ;;
    *) out=$(realpath -m "$arg") ;;
  esac
done
say() { echo "bundle: $*"; }
takes_bundle "$out" || { echo "bundle: $out exists and is no bundle; name another folder or remove it" >&2; exit 2; }

scripts/setup.sh
options=(-DGPUEMU_BUNDLE_NVRTC= -DGPUEMU_BUNDLE_CUDA_INCLUDE=)
[ $with_nvrtc = 0 ] || { find_nvrtc_options; options=("${nvrtc_options[@]}"); }
more=(); [ $tools = OFF ] || more=(tools)
say "building (release, ccache)"
# Builds only what is installed, so that a build folder with tests keeps them.
cmake --preset release "${options[@]}" -DGPUEMU_TOOLS=$tools -DGPUEMU_ONE_PROGRAM=ON >/dev/null
ninja -C build/release installed-programs libgpuemu gpuemu-cudart gpuemu-nvjitlink gpuemu-nvrtc gpuemu-ptx "${more[@]}" | tail -n 1
remove_bundle "$out"
cmake --install build/release --strip --prefix "$out" >/dev/null
mark_bundle "$out" build/release/install_manifest.txt

for program in "$out"/bin/*; do
  outside=$(ldd "$program" | awk '/=>/ {print $3}' | grep -v "^$out/" |
    grep -vE '/(ld-linux|libc|libm|libdl|libpthread|librt)[-.]' || true)
  [ -z "$outside" ] || { echo "bundle: $program still needs $outside of this machine" >&2; exit 3; }
done
say "$out: $(du -sh "$out" | cut -f1); try $out/bin/gpuemu version"
