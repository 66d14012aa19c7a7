"""gpuemu.replies: the public path of gpuemu.client.replies."""

import sys

from gpuemu.client import replies

sys.modules[__name__] = replies
