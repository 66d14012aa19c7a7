// Reads the Python stack of the calling thread, through public functions of the interpreter that
// are looked up in the process at run time.
#pragma once

#include <string>
#include <vector>

#include "runtime/run_record/run_record.h"

namespace gpuemu::libcuda {

struct PythonStack {
  /// Innermost first, without those of gpuemu and of the libraries that launch kernels; empty when
  /// the process runs no Python.
  std::vector<RunFrame> frames;
  bool from_triton = false;  ///< Triton called the driver, for kernel[grid](...).
  bool from_numba = false;   ///< Numba did, for kernel[grid, block](...).
  std::string test;          ///< The pytest test that runs; "" outside of pytest.
};

/// Takes the GIL, so the caller must hold no lock of this library.
PythonStack python_stack();

}  // namespace gpuemu::libcuda
