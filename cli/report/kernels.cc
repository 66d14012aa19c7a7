// Declarations of ops as text and as JSON.
#include "cli/report/kernels.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "kernels/catalog.h"
#include "ops/dispatch/libraries.h"

namespace gpuemu::cli {
namespace {

using SortedJson = nlohmann::json;

std::string joined(const std::vector<DType>& dtypes) {
  std::string text;
  for (const DType dtype : dtypes) text += (text.empty() ? "" : ", ") + std::string(name_of(dtype));
  return text;
}

/// The dtypes that any variant computes for the first letter, in the order of their numbers.
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

std::string source_of(const KernelVariant& variant) {
  if (!variant.library.empty()) return "lib" + variant.library + " of this machine";
  const BuiltinKernel* module = find_builtin(variant.module);
  return module == nullptr ? variant.module : std::string(module->file);
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

SortedJson operands_json(const std::vector<OperandSpec>& operands) {
  SortedJson list = SortedJson::array();
  for (const OperandSpec& operand : operands) {
    list.push_back({{"name", operand.name},
                    {"type", std::string(1, operand.type)},
                    {"rank_min", operand.rank_min},
                    {"rank_max", operand.rank_max}});
  }
  return list;
}

SortedJson schema_json(const AttributeSchema& schema) {
  SortedJson fields = SortedJson::array();
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const AttributeField& field = schema.fields[i];
    fields.push_back({{"name", field.name},
                      {"type", name_of(field.type)},
                      {"offset", schema.offset_of(i)},
                      {"default", field.fallback ? SortedJson(*field.fallback) : SortedJson()},
                      {"since", field.since},
                      {"meaning", field.meaning}});
  }
  return {{"schema_id", schema.id()},
          {"bytes", schema.byte_size_of(schema.version())},
          {"fields", fields}};
}

SortedJson variant_json(const KernelVariant& variant) {
  SortedJson types = SortedJson::object();
  for (const TypeRule& rule : variant.types) {
    SortedJson names = SortedJson::array();
    for (const DType dtype : rule.dtypes) names.push_back(name_of(dtype));
    types[std::string(1, rule.letter)] = names;
  }
  return {{"name", variant.name},
          {"module", variant.module},
          {"source", source_of(variant)},
          {"entries", variant.entries},
          {"types", types},
          {"priority", variant.priority},
          {"strided", variant.strided},
          {"wide", variant.wide},
          {"sm_min", variant.sm_min},
          {"workspace", variant.workspace_bytes != nullptr}};
}

}  // namespace

void print_ops(std::span<const OpKind* const> ops, std::ostream& out) {
  for (const OpKind* op : ops) {
    const size_t variants = variants_here(*op).size();
    out << fmt::format("{:<14} {}; {} variant{}; {}\n", op->name, joined(dtypes_of(*op)), variants,
                       variants == 1 ? "" : "s", op->summary);
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
                       source_of(*variant));
    for (const TypeRule& rule : variant->types) {
      out << fmt::format("             {}: {}\n", rule.letter, joined(rule.dtypes));
    }
    if (variant->sm_min > 0) out << fmt::format("             sm_{} or later\n", variant->sm_min);
    out << fmt::format("             {} strides{}\n", variant->strided ? "any" : "contiguous",
                       variant->workspace_bytes == nullptr ? "" : ", with workspace");
  }
}

std::string ops_json(std::span<const OpKind* const> ops) {
  SortedJson list = SortedJson::array();
  for (const OpKind* op : ops) {
    SortedJson variants = SortedJson::array();
    for (const KernelVariant* variant : variants_here(*op)) {
      variants.push_back(variant_json(*variant));
    }
    list.push_back({{"name", op->name},
                    {"summary", op->summary},
                    {"inputs", operands_json(op->inputs)},
                    {"outputs", operands_json(op->outputs)},
                    {"in_place", op->in_place},
                    {"attributes", schema_json(op->schema)},
                    {"variants", variants}});
  }
  return SortedJson{{"ops", list}}.dump();
}

}  // namespace gpuemu::cli
