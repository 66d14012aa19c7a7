"""gpuemu.tolerances: the public path of gpuemu.check.tolerances, which programs of the first release import."""

import sys

from gpuemu.check import tolerances
from gpuemu.check.tolerances import *  # For type checkers; at run time the module itself takes this one's place.

sys.modules[__name__] = tolerances
