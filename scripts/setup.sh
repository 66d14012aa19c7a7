#!/usr/bin/env bash
# Prepares a Debian 12 host for building gpuemu. Idempotent and non-interactive. What cannot be installed is
# listed with the features that need it; only a missing compiler or library is an error.
#   scripts/setup.sh [--tests] [--nightly] [--vscode]
#     --tests     also installs what the test suite needs
#     --vscode    also installs what builds and tests the extension for Visual Studio Code
#     --nightly   like --tests, and what only scripts/nightly.sh needs: the compiler for libFuzzer
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
want_tests=0; want_nightly=0; want_vscode=0
for arg in "$@"; do
  case $arg in
    --tests) want_tests=1 ;;
    --nightly) want_tests=1; want_nightly=1 ;;
    --vscode) want_vscode=1 ;;
    -h|--help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "setup: unknown argument '$arg'; usage: scripts/setup.sh [--tests] [--nightly] [--vscode]" >&2; exit 2 ;;
  esac
done
say() { echo "setup: $*"; }

build_packages=(g++ cmake ninja-build ccache pkg-config libnng-dev librocksdb-dev libflatbuffers-dev
  flatbuffers-compiler nlohmann-json3-dev libtomlplusplus-dev libcli11-dev
  libre2-dev libb2-dev libfmt-dev libspdlog-dev libssl-dev libedit-dev libxbyak-dev libgtest-dev
  libsnappy-dev zlib1g-dev libbz2-dev liblz4-dev libzstd-dev libgflags-dev python3 python3-numpy python3-venv)
test_packages=(python3-pytest python3-pytest-timeout python3-jsonschema python3-lxml python3-yaml clang-format-19
  clang-tidy-19 make procps openssl curl groff zsh fish shellcheck debootstrap)
nightly_packages=(clang-19 libclang-rt-19-dev)
vscode_packages=(chromium fonts-dejavu-core)
packages=("${build_packages[@]}")
[ "$want_tests" = 1 ] && packages+=("${test_packages[@]}")
[ "$want_nightly" = 1 ] && packages+=("${nightly_packages[@]}")
if [ "$want_vscode" = 1 ]; then
  packages+=("${vscode_packages[@]}")
  command -v node >/dev/null || packages+=(nodejs npm)
fi

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }
missing=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
if [ ${#missing[@]} -gt 0 ]; then
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=(sudo -n)
    else
      say "not root and no password-less sudo: run this once as root, then again:"
      say "  apt-get install -y --no-install-recommends ${missing[*]}"
      exit 3
    fi
  fi
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq || say "apt-get update did not work; trying with the lists at hand"
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
    say "trying the packages one by one"
    for package in "${missing[@]}"; do
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null ||
        say "cannot install $package: what needs it is switched off or will stop the build with its name"
    done
  fi
else
  say "all Debian packages are there"
fi

# Debian's Python with its packages (numpy, pytest), and a folder for packages that only PyPI has.
make_venv() {
  [ -x build/venv/bin/python ] && build/venv/bin/python -c 'import numpy' 2>/dev/null && return 0
  rm -rf build/venv
  /usr/bin/python3 -m venv --system-site-packages build/venv 2>/dev/null
}
pip=()
find_pip() {
  if python3 -m pip --version >/dev/null 2>&1; then pip=(python3 -m pip)
  elif make_venv; then pip=(build/venv/bin/python -m pip)
  else return 1; fi
}

# The CUDA compiler: from CUDA_HOME, PATH, /usr/local/cuda, wheels of an earlier run, otherwise PyPI.
wheels=$root/build/cuda
find_nvcc() {
  local candidate
  for candidate in ${CUDA_HOME:+"$CUDA_HOME/bin/nvcc"} "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc \
      "$wheels"/nvidia/cu13/bin/nvcc; do
    if [ -n "$candidate" ] && [ -x "$candidate" ]; then echo "$candidate"; return 0; fi
  done
  return 1
}
# One call for all wheels of a folder, because a second one would replace the files of the first. The wheels have `lib`, but nvcc looks
# for libcudart_static.a in `lib64` (`nvcc -shared`, `nvcc -o program`).
fetch_wheels() {
  local wheel wanted=()
  for wheel in "$@"; do wanted+=("$wheel==13.0.*"); done
  mkdir -p "$wheels"
  "${pip[@]}" install --quiet --disable-pip-version-check --no-deps --upgrade --target "$wheels" "${wanted[@]}" || return 1
  link_lib64
}
link_lib64() { [ ! -d "$wheels/nvidia/cu13/lib" ] || [ -e "$wheels/nvidia/cu13/lib64" ] || ln -s lib "$wheels/nvidia/cu13/lib64"; }
compiler_wheels=(nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl)
link_lib64  # For wheels of an earlier run.
if nvcc=$(find_nvcc); then
  say "CUDA compiler: $nvcc"
else
  say "no CUDA compiler; fetching the toolkit's wheels from PyPI into build/cuda (about 490 MB unpacked)"
  find_pip || { say "neither pip nor venv for python3: apt-get install python3-venv"; exit 3; }
  if ! fetch_wheels "${compiler_wheels[@]}" nvidia-cuda-nvrtc || ! nvcc=$(find_nvcc); then
    say "PyPI is out of reach and there is no CUDA toolkit: kernels cannot be compiled."
    say "install a CUDA 13.0 toolkit and set CUDA_HOME, then run this again"
    exit 3
  fi
  say "CUDA compiler: $nvcc"
fi

# NVRTC compiles users' sources in 15 ms, nvcc takes a second; without NVRTC, nvcc is used.
find_nvrtc() {
  local folder
  for folder in ${CUDA_HOME:+"$CUDA_HOME/lib64"} /usr/local/cuda/lib64 "$wheels/nvidia/cu13/lib"; do
    if [ -e "$folder/libnvrtc.so.13" ]; then echo "$folder/libnvrtc.so.13"; return 0; fi
  done
  return 1
}
if ! nvrtc=$(find_nvrtc); then
  also=()
  case $nvcc in "$wheels"/*) also=("${compiler_wheels[@]}") ;; esac
  if find_pip && fetch_wheels "${also[@]}" nvidia-cuda-nvrtc 2>/dev/null; then nvrtc=$(find_nvrtc || true); fi
fi
if [ -n "$nvrtc" ]; then say "NVRTC: $nvrtc"
else say "NVRTC cannot be had (PyPI out of reach): sources are compiled with nvcc, about a second each"
fi

# NVTX's headers, for ranges that Nsight tools show: 0.3 MB, in a folder of their own so that pip replaces no other files.
has_nvtx() {
  local folder
  for folder in "$(dirname "$nvcc")/../include" "$wheels/nvidia/cu13/include" build/nvtx/nvidia/cu13/include; do
    [ ! -e "$folder/nvtx3/nvToolsExt.h" ] || return 0
  done
  return 1
}
if ! has_nvtx; then
  if ! find_pip || ! "${pip[@]}" install --quiet --disable-pip-version-check --no-deps --upgrade --target build/nvtx 'nvidia-nvtx==13.0.*'; then
    say "the headers of NVTX cannot be had (PyPI out of reach): profiles of op calls have no NVTX ranges"
  fi
fi

# The disassembler: 6 MB in a folder of its own, for `gpuemu lint` and its tests.
find_cuobjdump() {
  local folder
  for folder in ${CUDA_HOME:+"$CUDA_HOME/bin"} "$(dirname "$nvcc")" /usr/local/cuda/bin "$wheels/nvidia/cu13/bin"; do
    if [ -x "$folder/cuobjdump" ] && [ -x "$folder/nvdisasm" ]; then echo "$folder/cuobjdump"; return 0; fi
  done
  command -v cuobjdump
}
if [ "$want_tests" = 1 ] && ! find_cuobjdump >/dev/null; then
  # Installed into a folder of its own first, because pip would replace the files in the other.
  scratch=$(mktemp -d)
  if find_pip && "${pip[@]}" install --quiet --disable-pip-version-check --no-deps --target "$scratch" \
      'nvidia-cuda-cuobjdump==13.2.*' 'nvidia-cuda-nvdisasm==13.2.*'; then
    mkdir -p "$wheels/nvidia/cu13/bin"
    cp "$scratch"/nvidia/cu13/bin/{cuobjdump,nvdisasm} "$wheels/nvidia/cu13/bin/"
  else
    say "cuobjdump and nvdisasm cannot be had (PyPI out of reach): tests of machine code are switched off"
  fi
  rm -rf "$scratch"
fi

if [ "$want_tests" = 1 ]; then
  make_venv || say "no python3-venv: tests of existing Python clients are switched off"
  if [ -x build/venv/bin/python ] && ! build/venv/bin/python -c 'import pynng, mypy, hypothesis, tomlkit, ml_dtypes, xdist, tqdm, matplotlib, check_jsonschema' 2>/dev/null; then
    build/venv/bin/python -m pip install --quiet --disable-pip-version-check pynng mypy hypothesis tomlkit ml_dtypes pytest-xdist tqdm matplotlib check-jsonschema ||
      say "pynng, mypy, hypothesis, tomlkit, ml_dtypes, pytest-xdist, tqdm, matplotlib and check-jsonschema cannot be had (PyPI out of reach): tests of Python clients, of type hints and of what needs them are switched off"
  fi
fi
if [ "$want_vscode" = 1 ]; then
  if ! scripts/vscode_packages.sh || ! scripts/vscode_server.sh; then
    say "the extension for Visual Studio Code is not tested here, or only in part"
  fi
fi
say "done"
