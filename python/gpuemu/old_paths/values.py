"""gpuemu.values: the public path of gpuemu.generate.values."""

import sys

from gpuemu.generate import values

sys.modules[__name__] = values
