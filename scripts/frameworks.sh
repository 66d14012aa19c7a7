#!/usr/bin/env bash
# The tests of PyTorch, JAX and TensorFlow, with the packages of PyPI: about 1.5 GB in build/frameworks-venv, made at the first run.
#   scripts/frameworks.sh [pytest options]     GPUEMU_FRAMEWORKS_VENV names another folder
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${GPUEMU_FRAMEWORKS_VENV:-build/frameworks-venv}
if ! "$venv/bin/python" -c 'import torch, jax, tensorflow, pynng, pytest' 2>/dev/null; then
  python3 -m venv "$venv"
  pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
  "${pip[@]}" pytest pynng numpy ml_dtypes || { echo "frameworks: PyPI is out of reach" >&2; exit 77; }
  # torch's own index has a build without CUDA, a tenth of the size.
  "${pip[@]}" torch --retries 1 --index-url https://download.pytorch.org/whl/cpu || "${pip[@]}" torch
  "${pip[@]}" jax tensorflow-cpu
fi
PYTHONPATH=$PWD/python GPUEMU_TEST_TENSORFLOW=1 "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/frameworks "$@"
