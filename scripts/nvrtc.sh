# Sourced. Finds NVRTC and the CUDA headers on this host, for packages that include them.
# shellcheck shell=bash
# Sets nvrtc_options, arguments for cmake; ends the sourcing script if there is no NVRTC.
find_nvrtc_options() {
  local home lib found=""
  for home in ${CUDA_HOME:+"$CUDA_HOME"} build/cuda/nvidia/cu13 /usr/local/cuda; do
    for lib in lib lib64; do [ -z "$found" ] && [ -e "$home/$lib/libnvrtc.so.13" ] && found=$(realpath "$home/$lib"); done
  done
  [ -n "$found" ] || { echo "$(basename "$0" .sh): no libnvrtc.so.13 in CUDA_HOME, build/cuda or /usr/local/cuda" >&2; exit 3; }
  nvrtc_options=("-DGPUEMU_BUNDLE_NVRTC=$found")
  for home in build/cuda/nvidia/cu13 ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda; do
    [ -e "$home/include/cuda_fp16.h" ] && { nvrtc_options+=("-DGPUEMU_BUNDLE_CUDA_INCLUDE=$(realpath "$home/include")"); break; }
  done
}
