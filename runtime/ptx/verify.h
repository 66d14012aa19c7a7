// Checks of a parsed module that need all of it: names, types of guards, operand counts.
#pragma once

#include "common/base/result.h"
#include "runtime/ptx/cursor.h"
#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// `in` only names the text in errors.
Status verify(const Module& module, const Cursor& in);

}  // namespace gpuemu::ptx
