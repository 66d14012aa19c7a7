// A kernel as a device loads it: PTX and the names of its entries.
#pragma once

#include <string>
#include <vector>

#include "common/numeric/dtype.h"
#include "judge/cases/constants.h"

namespace gpuemu {

/// A kernel compiled for one dtype: the text a device loads and the entry of each launch in it.
/// A variable of the module that `symbols` sets, or that only the host could set.
struct PreparedVariable {
  std::string name;  ///< PTX name.
  std::string source_name;
  int symbol = -1;  ///< Index into KernelConfig::symbols; -1: nothing sets it.
  uint64_t bytes = 0;
  std::vector<std::byte> initial;
  bool starts_undefined = false;
};

struct PreparedKernel {
  std::string key;  ///< Content hash of `ptx`.
  std::string name;
  std::string ptx;
  std::vector<std::string> entries;  ///< PTX names, one per KernelConfig::launches.
  std::vector<std::string> warnings =
      {};  ///< What reading the PTX warned of, with the kernel's name.
  std::vector<PreparedVariable> variables = {};
  Constants constants = {};  ///< See judge/metrics/branch_constants.h.
};

/// Replaces {dtype} and {ctype}.
std::string with_dtype(std::string text, DType dtype);

}  // namespace gpuemu
