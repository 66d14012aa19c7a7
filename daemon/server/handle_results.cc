// Stored results, failures and baselines of results.
#include <algorithm>
#include <limits>

#include "daemon/ci/compare_results.h"
#include "daemon/server/handlers.h"

namespace gpuemu {
namespace {

// What one comparison looks at, as the protocol says.
constexpr size_t kComparedMax = 1000;
// What one listing may return: a reply must stay below what clients read.
constexpr size_t kListedMax = 10'000;

size_t bounded(uint64_t limit) {
  return static_cast<size_t>(std::min<uint64_t>(limit, kListedMax));
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
  sort_baseline(given);
  const auto baseline = given.empty() ? call.context.store.baseline(request.tag)
                                      : Result<std::vector<ValidationResult>>(std::move(given));
  if (!baseline) return error_reply(baseline.error());
  const auto results = call.context.store.list_results(kComparedMax);
  if (!results) return error_reply(results.error());
  BaselineComparisonReply reply;
  reply.baseline_tag = request.tag;
  for (const ValidationResult& current : *results) {
    reply.comparisons.push_back(compare_result(current, matching_result(*baseline, current)));
    reply.has_regressions = reply.has_regressions || reply.comparisons.back().is_regression;
  }
  return reply;
}

}  // namespace gpuemu
