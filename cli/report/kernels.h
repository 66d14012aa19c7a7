// The built-in ops: what `gpuemu kernels` prints.
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "kernels/op.h"

namespace gpuemu::cli {

/// One line per op.
void print_ops(std::span<const OpKind* const> ops, std::ostream& out);
/// Operands, attributes and variants of one.
void print_op(const OpKind& op, std::ostream& out);
/// {"ops": [...]}; docs/guides/builtin-kernels.md describes the members.
std::string ops_json(std::span<const OpKind* const> ops);

}  // namespace gpuemu::cli
