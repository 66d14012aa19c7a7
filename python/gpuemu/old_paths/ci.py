"""gpuemu.ci: the public path of gpuemu.client.ci."""

import sys

from gpuemu.client import ci

sys.modules[__name__] = ci
