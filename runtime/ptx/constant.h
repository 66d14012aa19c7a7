// Constant expressions: literals, WARP_SZ, casts, and the operators of C on 64-bit integers.
#pragma once

#include <string_view>

#include "common/base/result.h"
#include "runtime/ptx/cursor.h"

namespace gpuemu::ptx {

/// Whether an expression may begin at the cursor: a number, a sign, '~', '(' or WARP_SZ.
bool starts_constant(const Cursor& in);

/// Integers are .s64 unless an operand has the suffix U, the cast (.u64) or does not fit. A float
/// literal may only have a sign. Compile error with the place for what is no constant, for a
/// division by zero and for nesting deeper than the limit.
Result<Number> parse_constant(Cursor& in, std::string_view what);

}  // namespace gpuemu::ptx
