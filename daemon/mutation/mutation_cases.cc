#include "daemon/mutation/mutation_cases.h"

#include <algorithm>

#include "daemon/plans/execution_plan.h"

namespace gpuemu {
namespace {

constexpr int64_t kElementsMax = int64_t{1}
                                 << 14;       // Limit for further cases: many small ones show more.
constexpr uint64_t kFirstNumber = 1'000'000;  // Far from those of the configuration.
constexpr int64_t kSmallSizes = 4;
constexpr size_t kSmallCasesMax = 64;

int64_t elements_of(const CasePlan& plan) {
  int64_t count = 0;
  for (const auto* tensors : {&plan.inputs, &plan.outputs}) {
    for (const CaseTensor& tensor : *tensors) count += element_count(tensor.shape);
  }
  return count;
}

uint64_t iteration_of(const CaseSource& source, uint64_t number) {
  const auto& dtypes = source.op.dtypes;
  const auto index =
      static_cast<uint64_t>(std::ranges::find(dtypes, source.dtype) - dtypes.begin());
  return number * std::max<uint64_t>(1, dtypes.size()) + index;
}

Status add_supported(const CaseSource& source, CasePlan plan, std::vector<CasePlan>& to) {
  if (!GPUEMU_TRY(supports_case(source.kernel, scope_of(source.op, plan)))) return ok_status();
  plan.kernel = source.kernel.name;
  to.push_back(std::move(plan));
  return ok_status();
}

/// Adds cases with small whole numbers, at the least sizes of all dims in every combination, up to
/// a limit.
Status add_small_cases(const CaseSource& source, std::vector<CasePlan>& to) {
  CaseOptions options{.dtypes = {source.dtype},
                      .strategies = {Strategy::SmallInt, Strategy::Degenerate}};
  const CasePlan first =
      GPUEMU_TRY(plan_case(source.op, source.seed, iteration_of(source, kFirstNumber), options));
  std::vector<std::map<std::string, int64_t>> all{first.dims};
  for (const DimSpec& dim : source.op.dims) {
    std::vector<int64_t> sizes = dim.values;
    std::ranges::sort(sizes);
    if (!dim.is_set && !sizes.empty()) {
      const int64_t least = sizes.front(), most = sizes.back();
      sizes.clear();
      for (int64_t size = least; size <= std::min(most, least + kSmallSizes - 1); ++size) {
        sizes.push_back(size);
      }
    }
    if (sizes.size() > kSmallSizes) sizes.resize(kSmallSizes);
    std::vector<std::map<std::string, int64_t>> extended;
    for (const auto& dims : all) {
      for (const int64_t size : sizes) {
        extended.push_back(dims);
        extended.back()[dim.name] = size;
      }
    }
    if (!extended.empty() && extended.size() <= kSmallCasesMax) all = std::move(extended);
  }
  for (const auto& dims : all) {
    CasePlan plan = GPUEMU_TRY(with_dims(source.op, first, dims));
    GPUEMU_TRY(add_supported(source, std::move(plan), to));
  }
  return ok_status();
}

void smallest_first(std::vector<CasePlan>& plans) {
  std::ranges::stable_sort(plans, {}, elements_of);
}

}  // namespace

Result<std::vector<CasePlan>> configured_cases(const Config& config, const CaseSource& source,
                                               uint64_t count) {
  const CaseOptions options{
      .dtypes = {source.dtype}, .strategies = config.strategies, .constants = source.constants};
  std::vector<CasePlan> plans;
  for (uint64_t number = 0; number < count; ++number) {
    CasePlan plan =
        GPUEMU_TRY(plan_case(source.op, source.seed, iteration_of(source, number), options));
    GPUEMU_TRY(add_supported(source, std::move(plan), plans));
  }
  if (plans.empty()) {
    return error(ErrorCode::InvalidArgument, "kernel '{}' supports none of the {} cases of '{}'",
                 source.kernel.name, count, source.op.name);
  }
  smallest_first(plans);
  return plans;
}

Result<std::vector<CasePlan>> every_kind_of_case(const CaseSource& source) {
  std::vector<CasePlan> plans;
  uint64_t number = kFirstNumber;
  for (const StrategyInfo& value : strategy_table()) {
    if (value.kind != StrategyKind::Values) continue;
    for (const StrategyInfo& shape : strategy_table()) {
      if (shape.kind != StrategyKind::Sizes) continue;
      const CaseOptions options{.dtypes = {source.dtype},
                                .strategies = {value.strategy, shape.strategy},
                                .elements_max = kElementsMax,
                                .constants = source.constants};
      CasePlan plan =
          GPUEMU_TRY(plan_case(source.op, source.seed, iteration_of(source, ++number), options));
      // A strategy that the op or dtype does not permit is replaced by another.
      if (plan.value_strategy != value.strategy || plan.shape_strategy != shape.strategy) continue;
      GPUEMU_TRY(add_supported(source, std::move(plan), plans));
    }
  }
  GPUEMU_TRY(add_small_cases(source, plans));
  smallest_first(plans);
  return plans;
}

}  // namespace gpuemu
