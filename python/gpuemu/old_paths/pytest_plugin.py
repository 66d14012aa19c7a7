"""gpuemu.pytest_plugin: the public path of gpuemu.check.pytest_plugin."""

import sys

from gpuemu.check import pytest_plugin

sys.modules[__name__] = pytest_plugin
