#include "judge/relations/known_properties.h"

#include <algorithm>

#include "common/config/names.h"

namespace gpuemu {
namespace {

/// What a kind of op implies. Only names that leave no doubt about the axis and the formula.
struct KindRow {
  std::string_view kind;
  std::string_view implied;  ///< Separated by blanks.
};
constexpr KindRow kKinds[] = {
    {"relu", "permutation_equivariant scale_equivariant idempotent non_negative"},
    {"gelu", "permutation_equivariant"},
    {"silu", "permutation_equivariant"},
    {"sigmoid", "permutation_equivariant non_negative"},
    {"tanh", "permutation_equivariant odd"},
    {"softmax", "row_independent shift_invariant sums_to_one non_negative"},
    {"layernorm", "row_independent"},
    {"rmsnorm", "row_independent"},
    {"matmul", "row_independent additive"},
    {"transpose", "count_preserved"},
    {"vector_add", "permutation_equivariant"},
    {"copy", "permutation_equivariant idempotent"},
};

bool same(const InvariantSpec& a, const InvariantSpec& b) {
  return a.name == b.name && a.numbers == b.numbers && a.strings == b.strings;
}

std::string_view kind_of(const OpConfig& op, const KernelConfig& kernel) {
  constexpr std::string_view kBuiltin = "builtin:";
  const std::string_view source = kernel.source;
  const std::string_view name =
      source.starts_with(kBuiltin) ? source.substr(kBuiltin.size()) : std::string_view(op.name);
  for (const KindRow& row : kKinds) {
    if (row.kind == name) return row.kind;
  }
  return "";
}

std::vector<InvariantSpec> implied_by_kind(const OpConfig& op, const KernelConfig& kernel) {
  std::vector<InvariantSpec> implied;
  for (const KindRow& row : kKinds) {
    if (row.kind != kind_of(op, kernel)) continue;
    for (std::string& name : split_words(row.implied)) {
      // Along rows of one axis there is nothing but the row.
      if (name == "row_independent" && op.outputs.front().shape.size() < 2) continue;
      implied.push_back({.name = std::move(name), .numbers = {}, .strings = {}});
    }
  }
  return implied;
}

std::vector<InvariantSpec> collect(const OpConfig& op, const KernelConfig& kernel, bool relations) {
  std::vector<InvariantSpec> all;
  const auto add = [&](const InvariantSpec& spec) {
    const bool known = std::ranges::any_of(all, [&](const auto& one) { return same(one, spec); });
    if (is_relation(spec.name) == relations && !known) all.push_back(spec);
  };
  for (const InvariantSpec& spec : op.invariants) add(spec);
  for (const InvariantSpec& spec : kernel.invariants) add(spec);
  if (!op.reference.empty()) return all;
  std::vector<InvariantSpec> implied = implied_by_kind(op, kernel);
  implied.push_back({.name = "reads_inputs", .numbers = {}, .strings = {}});
  for (const InvariantSpec& spec : implied) {
    const bool off = std::ranges::count(op.invariants_off, spec.name) > 0;
    const bool declared =
        std::ranges::any_of(all, [&](const InvariantSpec& one) { return one.name == spec.name; });
    if (!off && !declared) add(spec);
  }
  return all;
}

}  // namespace

bool is_rarely_conclusive(const std::string& invariant) {
  return invariant == "unbiased" || invariant == "written_once";
}

std::vector<InvariantSpec> relations_of(const OpConfig& op, const KernelConfig& kernel) {
  return collect(op, kernel, true);
}

std::vector<InvariantSpec> invariants_of(const OpConfig& op, const KernelConfig& kernel) {
  return collect(op, kernel, false);
}

}  // namespace gpuemu
