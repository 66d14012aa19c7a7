// A kernel as a device loads it: the PTX and the names of its entries.
#pragma once

#include <string>
#include <vector>

#include "common/numeric/dtype.h"
#include "judge/cases/constants.h"

namespace gpuemu {

/// A variable of the module that `symbols` sets, or that only the host could set.
struct PreparedVariable {
  std::string name;  ///< PTX name.
  std::string source_name;
  int symbol = -1;  ///< Index into KernelConfig::symbols; -1: not set by any.
  uint64_t bytes = 0;
  std::vector<std::byte> initial;
  bool starts_undefined = false;
};

/// A kernel compiled for one dtype: the text that a device loads, and the entry of each launch in
/// it.
struct PreparedKernel {
  std::string key;  ///< Content hash of `ptx`.
  std::string name;
  std::string ptx;
  std::vector<std::string> entries;  ///< PTX names, one per KernelConfig::launches.
  std::vector<std::string> warnings =
      {};  ///< Warnings from reading the PTX, with the kernel's name.
  std::vector<std::string> compiler_warnings = {};  ///< See CompiledModule, with the source's path.
  std::vector<PreparedVariable> variables = {};
  Constants constants = {};  ///< See judge/metrics/branch_constants.h.
};

/// Replaces {dtype} and {ctype} in the text.
std::string with_dtype(std::string text, DType dtype);

}  // namespace gpuemu
