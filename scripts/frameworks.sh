#!/usr/bin/env bash
# The tests of PyTorch, JAX and TensorFlow, with the packages of PyPI: about 2.5 GB in build/frameworks-venv, made at the first run.
#   scripts/frameworks.sh [--ci | --install] [pytest options]     GPUEMU_FRAMEWORKS_VENV names another folder
#     --install   only makes the folder, without TensorFlow and with what can be had in GPUEMU_FRAMEWORKS_SECONDS (600) for each package
#     --ci        the tests of what is in the folder, without TensorFlow
# Exit code 77: none of the packages can be had here.
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
flock 9 # One that installs is waited for.
has() { "$venv/bin/python" -c "import $1" 2>/dev/null; }
pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
limit=()
[ $mode = all ] || limit=(timeout "${GPUEMU_FRAMEWORKS_SECONDS:-600}")
cpu_torch() { # Of torch's own index: without CUDA, a tenth of the size.
  "${limit[@]}" "${pip[@]}" torch --retries 1 --timeout 20 --index-url https://download.pytorch.org/whl/cpu
}
if [ $mode != ci ]; then
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  has 'pynng, pytest, ml_dtypes' || "${limit[@]}" "${pip[@]}" pytest pynng numpy ml_dtypes || { echo "frameworks: PyPI is out of reach" >&2; exit 77; }
  if [ $mode = install ]; then
    has jax || "${limit[@]}" "${pip[@]}" jax || echo "frameworks: no jax in time" >&2
    has torch || cpu_torch || echo "frameworks: no torch without CUDA in time" >&2
    exit 0
  fi
  has torch || cpu_torch || "${pip[@]}" torch
  has 'jax, tensorflow' || "${pip[@]}" jax tensorflow-cpu
  export GPUEMU_TEST_TENSORFLOW=1
fi
has pytest && has pynng && { has torch || has jax; } || { echo "frameworks: neither torch nor jax is in $venv: scripts/frameworks.sh --install" >&2; exit 77; }
PYTHONPATH=$PWD/python "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/frameworks "$@"
