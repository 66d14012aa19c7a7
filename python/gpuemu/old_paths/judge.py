"""gpuemu.judge: the public path of gpuemu.check.judge."""

import sys

from gpuemu.check import judge

sys.modules[__name__] = judge
