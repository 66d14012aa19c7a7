#include "judge/relations/relation_checker.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "common/base/enum_count.h"
#include "common/numeric/element.h"
#include "judge/relations/relation_check.h"

namespace gpuemu {
namespace {

struct Row {
  InvariantKind kind;
  RelationResult (*check)(const RelationCheck&);
};

constexpr Row kRows[] = {
    {InvariantKind::ReadsInputs, relate_reads_inputs},
    {InvariantKind::ScaleEquivariant, relate_scale},
    {InvariantKind::ShiftInvariant, relate_shift},
    {InvariantKind::PermutationEquivariant, relate_permutation},
    {InvariantKind::PermutationInvariant, relate_permutation},
    {InvariantKind::RowIndependent, relate_independence},
    {InvariantKind::PadInvariant, relate_padding},
    {InvariantKind::Additive, relate_additive},
    {InvariantKind::Linear, relate_linear},
    {InvariantKind::Idempotent, relate_idempotent},
    {InvariantKind::Odd, relate_mirror},
    {InvariantKind::Even, relate_mirror},
    {InvariantKind::TransposeDual, relate_transpose_dual},
    {InvariantKind::Causal, relate_independence},
    {InvariantKind::InPlaceEqual, relate_in_place},
    {InvariantKind::ConfigInvariant, relate_launch},
    {InvariantKind::InverseOf, relate_inverse},
    {InvariantKind::Concat, relate_concat},
    {InvariantKind::Deterministic, relate_deterministic},
    {InvariantKind::Huge, relate_index_width},
};

/// In the order of the enumeration, after the invariants of one output.
constexpr auto kFirst = static_cast<size_t>(kRows[0].kind);
constexpr bool rows_follow_the_enumeration() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].kind) != kFirst + i) return false;
  }
  return kFirst + std::size(kRows) == enum_count<InvariantKind>();
}
static_assert(rows_follow_the_enumeration());

bool has_elements(const CasePlan& plan) {
  const auto full = [](const CaseTensor& tensor) { return element_count(tensor.shape) > 0; };
  return std::ranges::all_of(plan.inputs, full) && std::ranges::all_of(plan.outputs, full);
}

}  // namespace

Result<RelationVerdict> RelationChecker::check(const InvariantSpec& spec) {
  GPUEMU_CHECK(is_relation(spec.kind));
  const Row& row = kRows[static_cast<size_t>(spec.kind) - kFirst];
  if (!has_elements(of_.plan)) return RelationVerdict{};
  auto verdict = row.check(RelationCheck(*this, spec));
  if (!verdict && verdict.error().code == ErrorCode::Unsupported) return RelationVerdict{};
  return verdict;
}

Result<NamedTensors> RelationChecker::run(const NamedTensors& inputs) const {
  DerivedCase derived{
      .plan = of_.plan, .inputs = inputs, .in_place_input = {}, .in_place_output = {}};
  return of_.run(derived);
}

Result<const DerivedRun*> RelationChecker::tame(uint64_t draw) {
  const auto known = tame_.find(draw);
  if (known != tame_.end()) return &known->second;
  DerivedRun made{tame_inputs(of_.op, of_.plan, of_.inputs, draw), {}};
  made.outputs = GPUEMU_TRY(run(made.inputs));
  return &tame_.emplace(draw, std::move(made)).first->second;
}

std::string describe_relation(const InvariantSpec& spec) {
  std::string parameters;
  for (const auto& [name, value] : spec.strings) parameters += fmt::format(", {} {}", name, value);
  for (const auto& [name, value] : spec.numbers) parameters += fmt::format(", {} {}", name, value);
  if (parameters.empty()) return std::string(name_of(spec.kind));
  return fmt::format("{} ({})", name_of(spec.kind), parameters.substr(2));
}

double RelationCheck::number(const char* name, double otherwise) const {
  const auto found = spec_.numbers.find(name);
  return found == spec_.numbers.end() ? otherwise : found->second;
}

std::string RelationCheck::text(const char* name) const {
  const auto found = spec_.strings.find(name);
  return found == spec_.strings.end() ? "" : found->second;
}

const CaseTensor* RelationCheck::input(bool any) const {
  const std::string name = text("input");
  for (const CaseTensor& tensor : plan().inputs) {
    if (name.empty() ? any || is_float(tensor.dtype) : tensor.name == name) return &tensor;
  }
  return nullptr;
}

bool RelationCheck::exact(bool otherwise) const {
  return op().deterministic && number("exact", otherwise ? 1 : 0) != 0;
}

Result<DerivedRun> RelationCheck::base(bool exact) const {
  if (exact) return DerivedRun{checker_.of().inputs, checker_.of().outputs};
  return *GPUEMU_TRY(checker_.tame(0));
}

RelationVerdict RelationCheck::agree(const NamedTensors& got, const NamedTensors& expected,
                                     const Demand& demand) const {
  RelationVerdict verdict{.checked = true, .finding = {}};
  for (const auto& [name, tensor] : expected) {
    const auto found = got.find(name);
    if (found == got.end()) continue;
    Agreement agreement{.output = name, .got = found->second, .expected = tensor};
    if (const auto free = demand.free.find(name); free != demand.free.end()) {
      agreement.free = free->second;
    }
    if (const auto slack = demand.slack.find(name); slack != demand.slack.end()) {
      agreement.slack = slack->second;
    }
    agreement.policy = demand.exact ? exact_policy() : checker_.of().policy;
    if (!demand.exact) agreement.policy.nan_policy = checker_.of().op.nan_policy_of(name);
    if (!demand.exact) {
      agreement.policy.tolerance = checker_.of().tolerance_of(name, tensor.dtype);
      agreement.policy.widen = demand.widen;
    }
    agreement.inputs = demand.inputs;
    if (!plan().inputs.empty()) agreement.reference_input = plan().inputs.front().name;
    auto finding = find_disagreement(agreement);
    if (!finding) continue;
    finding->message = fmt::format("relation {}: with {}, {}", describe_relation(spec_),
                                   demand.change, finding->message);
    verdict.finding = std::move(finding);
    break;
  }
  return verdict;
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.count()));
  widen_to_double(tensor.dtype, tensor.data, values);
  return values;
}

Tensor with_values(const Tensor& like, const std::vector<double>& values) {
  Tensor made = like;
  narrow_from_double(made.dtype, values, made.data);
  return made;
}

NamedTensors sum_of(const NamedTensors& a, const NamedTensors& b, RelationCheck::Demand& demand) {
  NamedTensors sums;
  for (const auto& [name, tensor] : a) {
    if (!is_float(tensor.dtype)) continue;
    std::vector<double> values = values_of(tensor), slack(values.size());
    const std::vector<double> more = values_of(b.at(name));
    const double step = float_limits(tensor.dtype).ulp_of_one;
    for (size_t i = 0; i < values.size(); ++i) {
      slack[i] = demand.exact ? 0 : 2 * step * (std::fabs(values[i]) + std::fabs(more[i]));
      values[i] += more[i];
    }
    sums[name] = with_values(tensor, values);
    demand.slack[name] = std::move(slack);
  }
  return sums;
}

}  // namespace gpuemu
