"""Prepares Python programs for `gpuemu run`: PyTorch gets a device `cuda`, Triton makes PTX for the emulated driver, and Numba's
PTX has line information."""
