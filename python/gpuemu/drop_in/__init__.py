"""What `gpuemu run` prepares in Python programs: PyTorch gets a device `cuda`, Triton makes PTX for the emulated driver, Numba's PTX has
lines."""
