"""gpuemu: validation and fuzzing of GPU kernels, from Python."""

__version__ = "0.1.0"
