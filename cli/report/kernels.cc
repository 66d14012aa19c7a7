// Prints the declarations of built-in ops as text.
#include "cli/report/kernels.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "cli/report/op_words.h"
#include "common/base/text.h"
#include "kernels/catalog.h"
#include "ops/dispatch/libraries.h"

namespace gpuemu::cli {
namespace {

std::string joined(const std::vector<DType>& dtypes) {
  std::string text;
  for (const DType dtype : dtypes) text += (text.empty() ? "" : ", ") + std::string(name_of(dtype));
  return text;
}

/// Returns the dtypes that any variant computes for the first type letter, in enumeration order.
std::vector<DType> dtypes_of(const OpKind& op) {
  std::set<DType> all;
  for (const KernelVariant* variant : variants_here(op)) {
    if (variant->types.empty()) continue;
    all.insert(variant->types[0].dtypes.begin(), variant->types[0].dtypes.end());
  }
  return {all.begin(), all.end()};
}

std::string rank_text(const OperandSpec& operand) {
  if (operand.rank_min == operand.rank_max) return fmt::format("rank {}", operand.rank_min);
  if (operand.rank_max < kRankMax) {
    return fmt::format("rank {} to {}", operand.rank_min, operand.rank_max);
  }
  return operand.rank_min == 0 ? "any rank" : fmt::format("rank {} or more", operand.rank_min);
}

void print_operands(const char* title, const std::vector<OperandSpec>& operands,
                    std::ostream& out) {
  for (const OperandSpec& operand : operands) {
    out << fmt::format("  {:<10} {}: {}, {}\n", title, operand.name, operand.type,
                       rank_text(operand));
    title = "";
  }
}

void print_schema(const AttributeSchema& schema, std::ostream& out) {
  if (schema.fields.empty()) {
    out << "  attributes none\n";
    return;
  }
  out << fmt::format("  attributes schema {} ({} bytes)\n", schema.id(),
                     schema.byte_size_of(schema.version()));
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const AttributeField& field = schema.fields[i];
    out << fmt::format("             {}: {} at byte {}, {}{}{}\n", field.name, name_of(field.type),
                       schema.offset_of(i),
                       field.fallback ? fmt::format("default {}", *field.fallback) : "required",
                       field.meaning.empty() ? "" : ", ", field.meaning);
  }
}

}  // namespace

std::string variant_source(const KernelVariant& variant) {
  if (!variant.library.empty()) return "lib" + variant.library + " of this machine";
  const BuiltinKernel* module = find_builtin(variant.module);
  return module == nullptr ? variant.module : std::string(module->file);
}

void print_ops(std::span<const OpKind* const> ops, std::ostream& out) {
  for (const OpKind* op : ops) {
    const size_t variants = variants_here(*op).size();
    out << fmt::format("{:<14} {}; {}; {}\n", op->name, joined(dtypes_of(*op)),
                       counted(variants, "variant"), op->summary);
  }
}

void print_op(const OpKind& op, std::ostream& out) {
  out << fmt::format("{}: {}\n", op.name, op.summary);
  print_operands("inputs", op.inputs, out);
  print_operands("outputs", op.outputs, out);
  if (op.in_place) out << "  in place   an output may be the very tensor that is an input\n";
  print_schema(op.schema, out);
  for (const KernelVariant* variant : variants_here(op)) {
    out << fmt::format("  variant    {}, priority {}, {}\n", variant->name, variant->priority,
                       variant_source(*variant));
    for (const TypeRule& rule : variant->types) {
      out << fmt::format("             {}: {}\n", rule.letter, joined(rule.dtypes));
    }
    if (variant->sm_min > 0) out << fmt::format("             sm_{} or later\n", variant->sm_min);
    out << fmt::format("             {} strides{}\n", variant->strided ? "any" : "contiguous",
                       variant->workspace_bytes == nullptr ? "" : ", with workspace");
  }
}

}  // namespace gpuemu::cli
