// The sizes of a campaign's cases: constants of the kernels, limits, large cases.
#include <algorithm>
#include <set>

#include "daemon/campaign/campaign.h"
#include "daemon/case/case_report.h"
#include "daemon/kernels/kernel_store.h"
#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool.h"
#include "judge/cases/case_tensors.h"
#include "judge/cases/large_sizes.h"

namespace gpuemu {

/// Runs a large case. Unsupported if it is left out.
Result<CaseReport> Campaign::run_large(const OpConfig& op, const CasePlan& plan,
                                       const CaseSettings& settings, const LaneClaim& claim) {
  const auto alone = large_.alone();
  large_.wait_for_usual(plan);
  auto why = large_.too_long(plan);
  if (!why) {
    auto lease = slots_.acquire(claim);
    if (!lease) return lease.error();
    lease->count_memory(device_bytes(op, plan));
    auto outcome = run_on_slot(op, plan, **lease, settings, claim);
    if (outcome) why = large_.no_verdict(plan, *outcome, config_.case_timeout_ms);
    if (!outcome || !why) return outcome;
  }
  large_.leave_out(plan, *why);
  return error(ErrorCode::Unsupported, "{}", *why);
}

LargeSizes Campaign::large_sizes_of(const OpConfig& op, DType dtype) const {
  return large_sizes(op, dtype, size_limits(config_, op, backend_), [&](const CasePlan& plan) {
    const auto kernel = variants_.first(op, plan);
    return !kernel || *kernel != nullptr;
  });
}

CaseOptions Campaign::case_options(const OpConfig& op, DType dtype,
                                   const std::vector<Strategy>& strategies) {
  CaseOptions options;
  options.dtypes = {dtype};
  options.strategies = strategies.empty() ? config_.strategies : strategies;
  options.constants = constants_of(op, dtype);
  options.large = large_sizes_of(op, dtype);
  options.elements_max = std::min(options.elements_max, options.large.limits.elements);
  return options;
}

std::vector<std::string> Campaign::sizes_not_run(const OpConfig& op, DType dtype) const {
  std::vector<std::string> said;
  if (op.mode != ExecutionMode::Kernel) return said;
  for (const std::string& text : large_sizes_of(op, dtype).not_run) {
    said.push_back("declared sizes that no case has: " + text);
  }
  for (std::string& text : sizes_left_out(op, dtype)) said.push_back(std::move(text));
  return said;
}

std::vector<std::string> Campaign::sizes_left_out(const OpConfig& op, DType dtype) const {
  std::vector<std::string> said;
  for (const std::string& text : large_.left_out(op.name, dtype)) {
    said.push_back("declared sizes that were not run: " + text);
  }
  return said;
}

namespace {

/// Returns the scopes to evaluate an argument in without knowing the case: none for a plain number,
/// one per value of an attr otherwise.
std::vector<Scope> scopes_of(const Expression& value, const OpConfig& op) {
  const std::vector<std::string> names = value.names();
  if (names.empty()) return {Scope{}};
  const auto attr = std::ranges::find(op.attrs, names.front(), &AttrSpec::name);
  if (names.size() > 1 || attr == op.attrs.end() || !value.stride_uses().empty()) return {};
  std::vector<Scope> scopes;
  for (const double number : attr->values) {
    Scope& scope = scopes.emplace_back();
    if (is_float(attr->dtype)) {
      scope.reals[attr->name] = number;
    } else {
      scope.integers[attr->name] = static_cast<int64_t>(number);
    }
  }
  return scopes;
}

/// Adds the value that an argument passes; for a structure, the values of its members.
void add_argument(const LaunchSpec::Arg& arg, const OpConfig& op, std::set<double>& floats,
                  std::set<int64_t>& integers) {
  for (const LaunchSpec::Arg& member : arg.members) add_argument(member, op, floats, integers);
  if (!arg.value) return;
  for (const Scope& scope : scopes_of(*arg.value, op)) {
    if (is_float(arg.dtype)) {
      const auto number = arg.value->evaluate_real(scope);
      if (!number) continue;
      floats.insert(arg.dtype == DType::Float64 ? *number : static_cast<float>(*number));
    } else if (const auto number = arg.value->evaluate(scope)) {
      integers.insert(*number);
    }
  }
}

/// Adds the numbers that launches pass: kernels compare values with these as they do with constants
/// in their code.
void add_arguments(const OpConfig& op, const KernelConfig& kernel, std::set<double>& floats,
                   std::set<int64_t>& integers) {
  for (const LaunchSpec& launch : kernel.launches) {
    for (const LaunchSpec::Arg& arg : launch.args) add_argument(arg, op, floats, integers);
  }
}

}  // namespace

Constants Campaign::constants_of(const OpConfig& op, DType dtype) {
  std::set<int64_t> all, singled, integers;
  std::set<double> floats;
  std::vector<std::vector<int64_t>> classes;
  for (const std::string& name : op.kernels) {
    const KernelConfig* kernel = config_.find_kernel(name);
    if (op.mode != ExecutionMode::Kernel || kernel == nullptr) continue;
    const auto prepared = kernels_.prepare(*kernel, dtype);
    if (!prepared) continue;
    const Constants& found = (*prepared)->constants;
    all.insert(found.all.begin(), found.all.end());
    singled.insert(found.singled.begin(), found.singled.end());
    floats.insert(found.floats.begin(), found.floats.end());
    integers.insert(found.integers.begin(), found.integers.end());
    add_arguments(op, *kernel, floats, integers);
    for (const std::vector<int64_t>& sizes : found.classes) {
      if (std::ranges::find(classes, sizes) == classes.end()) classes.push_back(sizes);
    }
  }
  return {{all.begin(), all.end()},
          {singled.begin(), singled.end()},
          {floats.begin(), floats.end()},
          {integers.begin(), integers.end()},
          std::move(classes)};
}

}  // namespace gpuemu
