#!/usr/bin/env bash
# Runs the tests of PyTorch, Triton, Numba, tinygrad, JAX, TensorFlow and Ray, with packages from PyPI: 4 to 10 GB in build/frameworks-venv, made at the first run.
#   scripts/frameworks.sh [--ci | --install] [pytest options]     GPUEMU_FRAMEWORKS_VENV names another folder
#     --install   only makes the folder, with the packages that can be installed within GPUEMU_FRAMEWORKS_SECONDS (900) each
#     --ci        runs the tests of the packages in the folder, without downloading anything
# Exit code 77: none of the packages can be installed here.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${GPUEMU_FRAMEWORKS_VENV:-build/frameworks-venv}
mode=all
case ${1:-} in
  --ci|--install) mode=${1#--}; shift ;;
  -h|--help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
mkdir -p build
exec 9>build/frameworks.lock
flock 9 # Waits for a running installation.
has() { "$venv/bin/python" -c "import $1" 2>/dev/null; }
fetch() { # PACKAGES AND OPTIONS OF PIP...: reports errors
  local seconds=${GPUEMU_FRAMEWORKS_SECONDS:-900} status=0
  timeout "$seconds" "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" || status=$?
  [ $status != 124 ] || echo "frameworks: $* took more than $seconds s (GPUEMU_FRAMEWORKS_SECONDS)" >&2
  return $status
}
fetch_torch() { # Torch's own index has a version without CUDA, a tenth of the size; the one on PyPI brings CUDA along.
  fetch torch --retries 0 --timeout 20 --index-url https://download.pytorch.org/whl/cpu 2>/dev/null || fetch torch
}
if [ $mode != ci ]; then
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  has 'pynng, pytest, ml_dtypes' || fetch pytest pynng numpy ml_dtypes || { echo "frameworks: pytest, pynng, numpy and ml_dtypes cannot be had" >&2; exit 77; }
  has 'jax, tensorflow' || fetch jax tensorflow-cpu || { has jax || fetch jax; } || echo "frameworks: no jax" >&2
  has torch || fetch_torch || echo "frameworks: no torch" >&2
  has triton || fetch triton==3.9.0 || echo "frameworks: no triton" >&2
  for version in 3.2.0 3.5.1; do # Those of PyTorch 2.6 and 2.9. Up to 3.5 Triton has no hook for compiler stages, so gpuemu makes it write PTX in another way.
    older=$venv/older-tritons/$version
    [ -d "$older/triton" ] || fetch --no-deps --target "$older" "triton==$version" || echo "frameworks: no triton $version" >&2
  done
  has liger_kernel || fetch --no-deps liger-kernel==0.8.5 || echo "frameworks: no liger-kernel" >&2
  has numba.cuda || fetch numba-cuda==0.30.4 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' || echo "frameworks: no numba-cuda" >&2
  has tinygrad || fetch tinygrad==0.14.0 || echo "frameworks: no tinygrad" >&2
  has 'ray, grpc' || fetch 'ray[client]' || echo "frameworks: no ray" >&2
  [ $mode != install ] || exit 0
fi
has pytest && has pynng && { has torch || has jax; } || { echo "frameworks: neither torch nor jax is in $venv: scripts/frameworks.sh --install" >&2; exit 77; }
has tensorflow && export GPUEMU_TEST_TENSORFLOW=1
# These two are left out otherwise, because torch is missing where the other tests run.
also=(tests/e2e/test_python_kernel.py::test_a_torch_tensor_is_changed_in_place tests/e2e/test_python_client.py::test_a_torch_tensor_is_judged_like_its_array)
PYTHONPATH=$PWD/python "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/frameworks "${also[@]}" "$@"
