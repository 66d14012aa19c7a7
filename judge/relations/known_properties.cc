#include "judge/relations/known_properties.h"

#include <algorithm>
#include <array>
#include <optional>

#include "common/config/source_kind.h"

namespace gpuemu {
namespace {

/// The properties that a kind of op implies. Contains only names that are unambiguous about axis
/// and formula.
struct KindRow {
  std::string_view kind;
  std::array<std::optional<InvariantKind>, 4> implied;
};
constexpr KindRow kKinds[] = {
    {"relu",
     {InvariantKind::PermutationEquivariant, InvariantKind::ScaleEquivariant,
      InvariantKind::Idempotent, InvariantKind::NonNegative}},
    {"gelu", {InvariantKind::PermutationEquivariant}},
    {"silu", {InvariantKind::PermutationEquivariant}},
    {"sigmoid", {InvariantKind::PermutationEquivariant, InvariantKind::NonNegative}},
    {"tanh", {InvariantKind::PermutationEquivariant, InvariantKind::Odd}},
    {"softmax",
     {InvariantKind::RowIndependent, InvariantKind::ShiftInvariant, InvariantKind::SumsToOne,
      InvariantKind::NonNegative}},
    {"layernorm", {InvariantKind::RowIndependent}},
    {"rmsnorm", {InvariantKind::RowIndependent}},
    {"matmul", {InvariantKind::RowIndependent, InvariantKind::Additive}},
    {"transpose", {InvariantKind::CountPreserved}},
    {"vector_add", {InvariantKind::PermutationEquivariant}},
    {"copy", {InvariantKind::PermutationEquivariant, InvariantKind::Idempotent}},
};

bool same(const InvariantSpec& a, const InvariantSpec& b) {
  return a.kind == b.kind && a.numbers == b.numbers && a.strings == b.strings;
}

std::string_view kind_of(const OpConfig& op, const KernelConfig& kernel) {
  const bool is_builtin = source_kind(kernel.source) == SourceKind::Builtin;
  const std::string_view source = kernel.source;
  const std::string_view name =
      is_builtin ? source.substr(kBuiltinSource.size()) : std::string_view(op.name);
  for (const KindRow& row : kKinds) {
    if (row.kind == name) return row.kind;
  }
  return "";
}

/// Returns whether a tensor has two axes of the same size, such as a square matrix: exchanging
/// slices along it would exchange both rows and columns.
bool has_square(const OpConfig& op) {
  const auto is_square = [](const TensorSpec& tensor) {
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      for (size_t j = i + 1; j < tensor.shape.size(); ++j) {
        if (tensor.shape[i].text() == tensor.shape[j].text()) return true;
      }
    }
    return false;
  };
  return std::ranges::any_of(op.inputs, is_square) || std::ranges::any_of(op.outputs, is_square);
}

std::vector<InvariantSpec> implied_by_kind(const OpConfig& op, const KernelConfig& kernel) {
  std::vector<InvariantSpec> implied;
  for (const KindRow& row : kKinds) {
    if (row.kind != kind_of(op, kernel)) continue;
    for (const auto& implied_one : row.implied) {
      // With a single axis there is only one row.
      const bool needs_rows = implied_one == InvariantKind::RowIndependent;
      if (!implied_one || (needs_rows && op.outputs.front().shape.size() < 2)) continue;
      const bool along_axis = needs_rows || implied_one == InvariantKind::Additive;
      if (along_axis && has_square(op)) continue;
      implied.push_back({.kind = *implied_one, .numbers = {}, .strings = {}});
    }
  }
  return implied;
}

std::vector<InvariantSpec> collect(const OpConfig& op, const KernelConfig& kernel, bool relations) {
  std::vector<InvariantSpec> all;
  const auto add = [&](const InvariantSpec& spec) {
    const bool known = std::ranges::any_of(all, [&](const auto& one) { return same(one, spec); });
    if (is_relation(spec.kind) == relations && !known) all.push_back(spec);
  };
  for (const InvariantSpec& spec : op.invariants) add(spec);
  for (const InvariantSpec& spec : kernel.invariants) add(spec);
  if (!op.reference.empty()) return all;
  std::vector<InvariantSpec> implied = implied_by_kind(op, kernel);
  implied.push_back({.kind = InvariantKind::ReadsInputs, .numbers = {}, .strings = {}});
  for (const InvariantSpec& spec : implied) {
    const bool off = std::ranges::count(op.invariants_off, spec.kind) > 0;
    const bool declared =
        std::ranges::any_of(all, [&](const InvariantSpec& one) { return one.kind == spec.kind; });
    if (!off && !declared) add(spec);
  }
  return all;
}

}  // namespace

bool sees_values(std::string_view name) {
  constexpr InvariantKind kBlind[] = {InvariantKind::ShapePreserved, InvariantKind::ReadsInputs,
                                      InvariantKind::WrittenOnce};
  return std::ranges::none_of(kBlind, [&](InvariantKind kind) { return name_of(kind) == name; });
}

bool is_rarely_conclusive(InvariantKind invariant) {
  return invariant == InvariantKind::Unbiased || invariant == InvariantKind::WrittenOnce;
}

std::vector<InvariantSpec> relations_of(const OpConfig& op, const KernelConfig& kernel) {
  return collect(op, kernel, true);
}

std::vector<InvariantSpec> invariants_of(const OpConfig& op, const KernelConfig& kernel) {
  return collect(op, kernel, false);
}

}  // namespace gpuemu
