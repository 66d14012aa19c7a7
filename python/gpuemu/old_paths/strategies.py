"""gpuemu.strategies: the public path of gpuemu.generate.strategies."""

import sys

from gpuemu.generate import strategies

sys.modules[__name__] = strategies
