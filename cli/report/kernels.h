// Prints built-in ops, for `gpuemu kernels`.
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "kernels/op.h"

namespace gpuemu::cli {

/// Prints one line per op.
void print_ops(std::span<const OpKind* const> ops, std::ostream& out);
/// Prints operands, attributes and variants of one op.
void print_op(const OpKind& op, std::ostream& out);
/// Returns {"ops": [...]}; docs/guides/builtin-kernels.md describes the members.
std::string ops_json(std::span<const OpKind* const> ops);

}  // namespace gpuemu::cli
