// Metrics of compiled kernels and their baselines, for existing clients.
#include <algorithm>
#include <functional>

#include "common/base/text.h"
#include "common/protocol/wire_errors.h"
#include "daemon/server/config_watch.h"
#include "daemon/server/handlers.h"
#include "daemon/storage/store.h"
#include "judge/metrics/compare.h"
#include "judge/metrics/plain_metrics.h"
#include "judge/metrics/policy.h"

namespace gpuemu {
namespace {

/// Converts the store's errors; `missing` is the code if an artifact or a baseline of artifacts is
/// missing.
ErrorReply reply_of(const Error& failure, WireErrorCode missing) {
  ErrorReply reply = error_reply(failure);
  if (failure.code == ErrorCode::NotFound) reply.code = missing;
  return reply;
}

LintResult lint_plain(const ArtifactMetrics& metrics, const std::string& name,
                      const ArtifactLimits& limits) {
  LintResult result;
  result.kernel_name = name;
  result.metrics = metrics;
  result.metrics.kernel_name = name;
  result.timestamp = result.metrics.timestamp = now_seconds();
  judge_plain(limits, result);
  return result;
}

/// Returns the kernels that a text is judged as: the named one, else all configured ones, else its
/// own.
std::vector<std::string> names_for(const LintKernelRequest& request, const Config& config,
                                   const std::string& detected) {
  if (request.kernel_name) return {*request.kernel_name};
  std::vector<std::string> names;
  for (const KernelConfig& kernel : config.kernels) names.push_back(kernel.name);
  if (names.empty()) names.push_back(detected);
  return names;
}

/// Returns the stored metrics of the kernels with these names; of all if there are none.
Result<std::vector<ArtifactMetrics>> stored_artifacts(Store& store,
                                                      const std::vector<std::string>& kernels) {
  auto artifacts = GPUEMU_TRY(store.list_artifacts());
  if (kernels.empty()) return artifacts;
  std::erase_if(artifacts, [&](const ArtifactMetrics& one) {
    return std::ranges::find(kernels, one.kernel_name) == kernels.end();
  });
  return artifacts;
}

/// Returns the last microsecond of a time in seconds; a time in microseconds unchanged.
uint64_t end_of(int64_t time) {
  constexpr uint64_t kMicroseconds = 1'000'000;
  constexpr uint64_t kSecondsMax = 10'000'000'000;  // The year 2286.
  const auto number = static_cast<uint64_t>(std::max<int64_t>(time, 0));
  return number > kSecondsMax ? number : number * kMicroseconds + kMicroseconds - 1;
}

/// Refuses an empty tag, which could not be distinguished from a missing one.
std::optional<ErrorReply> refused_tag(const std::string& tag) {
  if (!tag.empty()) return std::nullopt;
  return ErrorReply{WireErrorCode::InvalidRequest, "a baseline needs a tag, got ''"};
}

}  // namespace

Reply handle(const LintKernelRequest& request, Call& call) {
  const auto config = call.context.config.current();
  if (!config) return config_error(config.error());
  if (!looks_like_ptx(request.ptx_content)) {
    return ErrorReply{WireErrorCode::PtxParseError,
                      fmt::format("this is not PTX: {} without any of .version, .target, "
                                  ".entry, .func and .reg: send the text that `nvcc -ptx` writes",
                                  counted(request.ptx_content.size(), "byte"))};
  }
  const ArtifactMetrics metrics = plain_metrics(request.ptx_content);
  LintResultsReply reply;
  for (const std::string& name : names_for(request, **config, metrics.kernel_name)) {
    const KernelConfig* kernel = (*config)->find_kernel(name);
    reply.results.push_back(lint_plain(metrics, name, (*config)->limits_for(kernel, "")));
    const Status stored = call.context.store.put_artifact(reply.results.back().metrics);
    if (!stored) return error_reply(stored.error());
  }
  return reply;
}

Reply handle(const StoreArtifactRequest& request, Call& call) {
  if (request.metrics.kernel_name.empty()) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      "member 'metrics.kernel_name': expected the name of a kernel, got ''"};
  }
  const Status stored = call.context.store.put_artifact(request.metrics);
  if (!stored) return error_reply(stored.error());
  return OkReply{};
}

Reply handle(const StoreArtifactBaselineRequest& request, Call& call) {
  if (auto refused = refused_tag(request.tag)) return *std::move(refused);
  const auto artifacts = stored_artifacts(call.context.store, request.kernels);
  if (!artifacts) return error_reply(artifacts.error());
  const Status stored = call.context.store.put_artifact_baseline(request.tag, *artifacts);
  if (!stored) return error_reply(stored.error());
  return OkReply{};
}

Reply handle(const DiffArtifactBaselineRequest& request, Call& call) {
  const auto config = call.context.config.current();
  if (!config) return config_error(config.error());
  std::vector<ArtifactMetrics> before = request.baseline;
  if (before.empty()) {
    auto stored = call.context.store.artifact_baseline(request.tag);
    if (!stored) return reply_of(stored.error(), WireErrorCode::BaselineNotFound);
    before = *std::move(stored);
  }
  const auto now = stored_artifacts(call.context.store, request.kernels);
  if (!now) return error_reply(now.error());
  ArtifactDiffsReply reply{compare_all(before, *now, (*config)->warn_threshold)};
  reply.summary.baseline_tag = request.tag;
  return reply;
}

Reply handle(const GetArtifactRequest& request, Call& call) {
  std::optional<uint64_t> time;
  if (request.timestamp) time = end_of(*request.timestamp);
  auto metrics = call.context.store.artifact_at(request.kernel_name, time);
  if (!metrics) return reply_of(metrics.error(), WireErrorCode::ArtifactNotFound);
  return ArtifactMetricsResultReply{*std::move(metrics)};
}

Reply handle(const ListArtifactsRequest& request, Call& call) {
  const auto stores = listed_stores(call);
  if (!stores) return error_reply(stores.error());
  ArtifactListReply reply;
  for (const auto& [project, user, store] : *stores) {
    auto artifacts =
        request.history ? store->artifact_history(request.kernel_name) : store->list_artifacts();
    if (!artifacts) return error_reply(artifacts.error());
    for (ArtifactMetrics& one : *artifacts) {
      if (!request.kernel_name.empty() && one.kernel_name != request.kernel_name) continue;
      one.project = project;
      one.user = user;
      reply.artifacts.push_back(std::move(one));
    }
  }
  if (request.history) {
    std::ranges::stable_sort(reply.artifacts, std::ranges::greater(), &ArtifactMetrics::timestamp);
  }
  if (request.limit && reply.artifacts.size() > *request.limit) {
    reply.artifacts.resize(*request.limit);
  }
  return reply;
}

}  // namespace gpuemu
