// Kernels that keep results in between in 16 bits.
#pragma once

#include <string>

#include "common/numeric/dtype.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// "rounds to float16 between steps at kernel.cu:12": the first instruction, in the order of the
/// text, whose result is rounded to `dtype` and that another one computes with or keeps in shared
/// memory. "" where there is none: a result that is only stored is rounded once.
std::string narrow_step(const ptx::Module& module, DType dtype);

}  // namespace gpuemu
