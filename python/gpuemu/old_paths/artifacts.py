"""gpuemu.artifacts: the public path of gpuemu.client.artifacts."""

import sys

from gpuemu.client import artifacts

sys.modules[__name__] = artifacts
