// Checks that need the whole module: names, types of guards, operand counts.
#pragma once

#include "common/base/result.h"
#include "runtime/ptx/cursor.h"
#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// `in` is only used to name the text in errors.
Status verify(const Module& module, const Cursor& in);

}  // namespace gpuemu::ptx
