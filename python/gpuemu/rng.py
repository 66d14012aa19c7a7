"""gpuemu.rng: the public path of gpuemu.generate.rng, which programs of the first release import."""

import sys

from gpuemu.generate import rng
from gpuemu.generate.rng import *  # For type checkers; at run time the module itself takes this one's place.

sys.modules[__name__] = rng
