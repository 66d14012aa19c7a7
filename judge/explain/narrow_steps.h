// Finds kernels that keep intermediate results in 16 bits.
#pragma once

#include <string>

#include "common/numeric/dtype.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// Returns for example "rounds to float16 between steps at kernel.cu:12": the first instruction in
/// text order whose result is rounded to `dtype` and then used in a computation or kept in shared
/// memory. Returns "" if there is none: a result that is only stored is rounded once.
std::string narrow_step(const ptx::Module& module, DType dtype);

}  // namespace gpuemu
