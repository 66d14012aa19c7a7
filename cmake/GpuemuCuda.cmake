# filled by the kernels owner: gpuemu_kernel()
