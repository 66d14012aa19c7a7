// Stored results, failures and baselines of results.
#include <algorithm>
#include <cmath>
#include <limits>

#include "daemon/server/handlers.h"

namespace gpuemu {
namespace {

// What one comparison looks at, as the protocol says.
constexpr size_t kComparedMax = 1000;
// What one listing may return: a reply must stay below what clients read.
constexpr size_t kListedMax = 10'000;
// A difference counts as grown above this factor and this much.
constexpr double kGrowth = 1.1;
constexpr double kSlack = 1e-10;
constexpr double kSmallest = 1e-15;

size_t bounded(uint64_t limit) {
  return static_cast<size_t>(std::min<uint64_t>(limit, kListedMax));
}

/// The result of the same op and seed, else the first of the same op. `baseline` is in order of
/// (op, seed), as the store gives it.
const ValidationResult* matching(const std::vector<ValidationResult>& baseline,
                                 const ValidationResult& current) {
  const auto key = [](const ValidationResult& one) {
    return std::pair(std::string_view(one.op_name), one.seed);
  };
  const auto of_op = [&](auto at) {
    return at != baseline.end() && at->op_name == current.op_name;
  };
  const auto same = std::ranges::lower_bound(baseline, key(current), {}, key);
  if (of_op(same) && same->seed == current.seed) return &*same;
  const auto first = std::ranges::lower_bound(
      baseline, std::pair(std::string_view(current.op_name), uint64_t{0}), {}, key);
  return of_op(first) ? &*first : nullptr;
}

BaselineComparison compare(const ValidationResult& current, const ValidationResult* old) {
  BaselineComparison comparison;
  comparison.op_name = current.op_name;
  comparison.seed = current.seed;
  comparison.current_max_diff = current.max_diff;
  comparison.current_passed = current.passed;
  if (old == nullptr) return comparison;
  comparison.baseline_max_diff = old->max_diff;
  comparison.baseline_passed = old->passed;
  comparison.relative_change =
      (current.max_diff - old->max_diff) / std::max(old->max_diff, kSmallest);
  const bool within = current.max_diff <= kGrowth * old->max_diff + kSlack;
  comparison.is_regression = !within || (old->passed && !current.passed);
  return comparison;
}

Reply results_reply(Result<std::vector<ValidationResult>> listed) {
  if (!listed) return error_reply(listed.error());
  bound_snapshots(*listed);
  return ResultsReply{*std::move(listed)};
}

}  // namespace

Reply handle(const GetResultRequest& request, Call& call) {
  auto result = call.context.store.result(request.seed, request.op_name);
  if (!result) return error_reply(result.error());
  return ValidationResultReply{*std::move(result)};
}

Reply handle(const ListResultsRequest& request, Call& call) {
  return results_reply(call.context.store.list_results(bounded(request.limit), request.op_name));
}

Reply handle(const ListFailuresRequest& request, Call& call) {
  return results_reply(call.context.store.list_failures(bounded(request.limit), request.op_name));
}

Reply handle(const StoreBaselineRequest& request, Call& call) {
  if (request.tag.empty()) {
    return ErrorReply{WireErrorCode::InvalidRequest, "a baseline needs a tag, got ''"};
  }
  auto results = call.context.store.list_results(std::numeric_limits<size_t>::max());
  if (!results) return error_reply(results.error());
  // A comparison looks at verdicts and differences only.
  for (ValidationResult& result : *results) result.repro_info.reset();
  const Status stored = call.context.store.put_baseline(request.tag, *results);
  if (!stored) return error_reply(stored.error());
  return OkReply{};
}

Reply handle(const CompareBaselineRequest& request, Call& call) {
  auto given = request.baseline;
  std::ranges::sort(given, {}, [](const ValidationResult& one) {
    return std::pair(std::string_view(one.op_name), one.seed);
  });
  const auto baseline = given.empty() ? call.context.store.baseline(request.tag)
                                      : Result<std::vector<ValidationResult>>(std::move(given));
  if (!baseline) return error_reply(baseline.error());
  const auto results = call.context.store.list_results(kComparedMax);
  if (!results) return error_reply(results.error());
  BaselineComparisonReply reply;
  reply.baseline_tag = request.tag;
  for (const ValidationResult& current : *results) {
    reply.comparisons.push_back(compare(current, matching(*baseline, current)));
    reply.has_regressions = reply.has_regressions || reply.comparisons.back().is_regression;
  }
  return reply;
}

}  // namespace gpuemu
