"""gpuemu.reproduce: the public path of gpuemu.check.reproduce."""

import sys

from gpuemu.check import reproduce

if __name__ == "__main__":
    sys.exit(reproduce.main())
sys.modules[__name__] = reproduce
