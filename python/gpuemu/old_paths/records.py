"""gpuemu.records: the public path of gpuemu.client.records."""

import sys

from gpuemu.client import records

sys.modules[__name__] = records
