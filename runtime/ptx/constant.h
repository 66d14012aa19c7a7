// Parses constant expressions: literals, WARP_SZ, casts, and C's operators on 64-bit integers.
#pragma once

#include <string_view>

#include "common/base/result.h"
#include "runtime/ptx/cursor.h"

namespace gpuemu::ptx {

/// Returns whether an expression may begin at the cursor: a number, a sign, '~', '(' or WARP_SZ.
bool starts_constant(const Cursor& in);

/// Parses an expression. Integers are .s64 unless an operand has the suffix U, the cast (.u64) or a
/// value that does not fit. A float literal may only have a sign. Fails with Compile, giving the
/// position, for something that is not constant, a division by zero, or too deep nesting.
Result<Number> parse_constant(Cursor& in, std::string_view what);

}  // namespace gpuemu::ptx
