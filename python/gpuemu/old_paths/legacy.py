"""gpuemu.legacy: the public path of gpuemu.generate.legacy."""

import sys

from gpuemu.generate import legacy

sys.modules[__name__] = legacy
