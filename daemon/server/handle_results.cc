// Stored results, failures, and baselines of results.
#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "common/base/clock.h"
#include "common/base/service_limits.h"
#include "common/protocol/ci.gen.h"
#include "common/protocol/wire_errors.h"
#include "daemon/ci/compare_results.h"
#include "daemon/server/handlers.h"
#include "daemon/server/project.h"
#include "daemon/storage/store.h"

namespace gpuemu {
namespace {

// Limit of a comparison, as documented in the protocol.
constexpr size_t kComparedMax = 1000;

size_t bounded(uint64_t limit) {
  return static_cast<size_t>(std::min<uint64_t>(limit, kResultsListedMax));
}

using List = std::function<Result<std::vector<ValidationResult>>(Store&)>;

/// Returns the newest records of the requested projects, at most `limit`.
Reply list_newest(const Call& call, size_t limit, const List& list) {
  const auto stores = listed_stores(call);
  if (!stores) return error_reply(stores.error());
  ResultsReply reply;
  for (const auto& [project, user, store] : *stores) {
    auto listed = list(*store);
    if (!listed) return error_reply(listed.error());
    for (ValidationResult& one : *listed) {
      one.project = project;
      one.user = user;
      reply.results.push_back(std::move(one));
    }
    if (stores->size() == 1) break;
    std::ranges::stable_sort(reply.results, std::greater(), &ValidationResult::timestamp);
    if (reply.results.size() > limit) reply.results.resize(limit);
  }
  if (stores->size() > 1) bound_snapshots(reply.results);
  return reply;
}

}  // namespace

Reply handle(const GetResultRequest& request, Call& call) {
  const auto stores = listed_stores(call);
  if (!stores) return error_reply(stores.error());
  // The daemon's user gets other users' results if there is no own one with the seed.
  auto result = call.context.store.result(request.seed, request.op_name);
  for (const ListedStore& one : *stores) {
    if (result || result.error().code != ErrorCode::NotFound) break;
    auto theirs = one.store->result(request.seed, request.op_name);
    if (theirs || theirs.error().code != ErrorCode::NotFound) result = std::move(theirs);
  }
  if (!result) return error_reply(result.error());
  return ValidationResultReply{*std::move(result)};
}

Reply handle(const ListResultsRequest& request, Call& call) {
  const size_t limit = bounded(request.limit);
  return list_newest(call, limit,
                     [&](Store& store) { return store.list_results(limit, request.op_name); });
}

Reply handle(const ListFailuresRequest& request, Call& call) {
  const size_t limit = bounded(request.limit);
  return list_newest(call, limit, [&](Store& store) {
    return store.list_failures(limit, request.op_name, kSnapshotReplyBytesMax);
  });
}

Reply handle(const DeleteFailuresRequest& request, Call& call) {
  if (!request.seed && request.op_name.empty() && !request.all) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      "which failures? expected one of the members 'seed', 'op_name' and 'all'"};
  }
  const auto stores = listed_stores(call);
  if (!stores) return error_reply(stores.error());
  uint64_t deleted = 0;
  for (const ListedStore& one : *stores) {  // Deletes what `failures` lists.
    const auto of_one = one.store->delete_failures(request.seed, request.op_name);
    if (!of_one) return error_reply(of_one.error());
    deleted += *of_one;
  }
  if (deleted == 0 && !request.all) {
    return ErrorReply{
        WireErrorCode::NotFound,
        fmt::format("no failure{}{}; `gpuemu failures` lists them",
                    request.seed ? fmt::format(" with seed {}", *request.seed) : "",
                    request.op_name.empty() ? "" : fmt::format(" of op '{}'", request.op_name))};
  }
  return FailuresDeletedReply{deleted};
}

Reply handle(const StoreFailureRequest& request, Call& call) {
  if (request.op_name.empty() || request.failures.empty()) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      "a failure needs the members 'op_name' and 'failures', one is empty"};
  }
  if (!request.program_folder.starts_with('/')) {
    return ErrorReply{
        WireErrorCode::InvalidRequest,
        fmt::format("program_folder is '{}', expected an absolute path", request.program_folder)};
  }
  ValidationResult result;
  result.passed = false;
  result.seed = request.seed;
  result.op_name = request.op_name;
  result.failures = request.failures;
  result.timestamp = now_seconds();
  ReproductionInfo info;
  info.seed = request.seed;
  info.program_folder = request.program_folder;
  result.repro_info = std::move(info);
  const Status kept = call.context.store.put_result(result, true);
  return kept ? Reply(OkReply{}) : Reply(error_reply(kept.error()));
}

Reply handle(const StoreBaselineRequest& request, Call& call) {
  if (request.tag.empty()) {
    return ErrorReply{WireErrorCode::InvalidRequest, "a baseline needs a tag, got ''"};
  }
  auto results = call.context.store.list_results(std::numeric_limits<size_t>::max());
  if (!results) return error_reply(results.error());
  // The database may be shared with other projects, and contain ops that this one no longer has.
  if (const auto project = open_project(call); project && !(*project)->config().ops.empty()) {
    const Config& config = (*project)->config();
    std::erase_if(*results, [&](const ValidationResult& one) {
      return config.find_op(one.op_name) == nullptr;
    });
  }
  // A comparison only uses verdicts and differences.
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
  const size_t limit = request.same_cases ? std::numeric_limits<size_t>::max() : kComparedMax;
  const auto results = call.context.store.list_results(limit);
  if (!results) return error_reply(results.error());
  BaselineComparisonReply reply;
  reply.baseline_tag = request.tag;
  std::set<const ValidationResult*> met;
  for (const ValidationResult& current : *results) {
    const ValidationResult* old =
        request.same_cases ? same_case(*baseline, current) : matching_result(*baseline, current);
    met.insert(old);
    if (request.same_cases && old == nullptr) {
      ++reply.unmatched;
      continue;
    }
    reply.comparisons.push_back(compare_result(current, old));
    reply.has_regressions = reply.has_regressions || reply.comparisons.back().is_regression;
  }
  met.erase(nullptr);
  if (request.same_cases) reply.baseline_unmatched = baseline->size() - met.size();
  return reply;
}

}  // namespace gpuemu
