"""Property tests: draws inputs, runs a function beside its reference and has gpuemu-check judge. The function gpuemu.check is in
gpuemu.check.checking."""
