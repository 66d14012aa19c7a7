"""gpuemu.layouts: the public path of gpuemu.generate.layouts."""

import sys

from gpuemu.generate import layouts

sys.modules[__name__] = layouts
