#include "cli/commands/baselines.h"

#include <filesystem>
#include <ostream>
#include <set>

#include "cli/commands/options.h"
#include "cli/report/diff.h"
#include "cli/session/job.h"
#include "common/base/clock.h"
#include "common/base/files.h"

namespace gpuemu::cli {
namespace {

/// A baseline file has the numbers of kernels and cases; this is enough for thousands.
constexpr size_t kBaselineBytesMax = size_t{256} << 20;

/// Returns whether the name is a kernel of the project: "softmax:entry<float>" is an entry of
/// kernel softmax.
bool is_of_project(const std::string& name, const Config& config) {
  return config.find_kernel(name.substr(0, name.find(':'))) != nullptr;
}

/// Returns the names of all measured kernels; nothing if listing them failed, which has been
/// reported.
std::optional<KernelNames> stored_names(Session& session) {
  const auto reply = session.ask_for(ListArtifactsRequest{});
  if (!reply) return std::nullopt;
  KernelNames names;
  for (const ArtifactMetrics& one : reply->artifacts) {
    names.push_back(one.kernel_name);
  }
  return names;
}

}  // namespace

std::optional<LintResultsReply> inspect(const InspectRequest& request, Session& session) {
  auto result = finish_job<LintResultsReply>(session, request, "lint");
  if (!result) return std::nullopt;
  session.exit_code = result->ended_with(session.exit_code);
  return std::move(result->reply);
}

std::optional<KernelNames> measure_project(const Config& config, Session& session) {
  KernelNames names;
  if (config.kernels.empty()) return names;
  InspectRequest request;
  request.stream = true;
  const auto reply = inspect(request, session);
  if (!reply || session.exit_code != ExitCode::Ok) return std::nullopt;
  for (const LintResult& result : reply->results) {
    names.push_back(result.metrics.kernel_name);
    if (result.error.empty()) continue;
    session.fail(error(ErrorCode::Compile, "{}: {}", result.kernel_name, result.error));
    return std::nullopt;
  }
  return names;
}

std::optional<KernelNames> measured_before(const Config& config, Session& session) {
  const auto stored = stored_names(session);
  if (!stored) return std::nullopt;
  KernelNames names;
  for (const KernelConfig& kernel : config.kernels) names.push_back(kernel.name);
  for (const std::string& one : *stored) {
    if (one.find(':') != std::string::npos && is_of_project(one, config)) names.push_back(one);
  }
  return config.kernels.empty() ? KernelNames{} : names;
}

std::optional<KernelNames> linted_before(const Config& config, Session& session) {
  const auto stored = stored_names(session);
  if (!stored) return std::nullopt;
  KernelNames names;
  for (const std::string& one : *stored) {
    if (!config.kernels.empty() && !is_of_project(one, config)) names.push_back(one);
  }
  return names;
}

void add_linted(const Config& config, const BaselineReply& baseline, KernelNames& names) {
  if (names.empty()) return;  // An empty list means all.
  for (const ArtifactMetrics& one : baseline.artifacts) {
    if (!is_of_project(one.kernel_name, config)) names.push_back(one.kernel_name);
  }
}

std::optional<BaselineReply> find_baseline(const std::string& tag, const std::string& file,
                                           Session& session) {
  const Status ready = session.ensure_daemon();
  if (!ready) {
    session.fail(ready.error());
    return std::nullopt;
  }
  if (!file.empty()) {
    const auto path = std::filesystem::path(session.working_folder) / file;
    const auto text = read_file(path, kBaselineBytesMax);
    if (!text) {
      session.fail(Error{ErrorCode::InvalidArgument, text.error().message});
      return std::nullopt;
    }
    auto baseline = read_baseline_file(*text, path.string());
    if (!baseline) {
      session.fail(baseline.error());
      return std::nullopt;
    }
    return *std::move(baseline);
  }
  return session.ask_for(GetBaselineRequest{tag});
}

std::optional<BaselineReply> in_force(const std::string& since, Session& session) {
  const auto time = parse_time(since, now_seconds());
  if (!time) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "--since '{}': expected how long ago, as in 36h or 30d, or a time, as in "
                       "2026-11-01 or 2026-11-01T12:00",
                       since));
    return std::nullopt;
  }
  const Status ready = session.ensure_daemon();
  if (!ready) {
    session.fail(ready.error());
    return std::nullopt;
  }
  const auto stored = session.ask_for(ListArtifactsRequest{true, "", std::nullopt});
  if (!stored) return std::nullopt;
  BaselineReply baseline;
  baseline.tag = "since " + time_of(*time);
  std::set<std::string> found;
  for (const ArtifactMetrics& one : stored->artifacts) {  // Newest first.
    if (one.timestamp > *time || !found.insert(one.kernel_name).second) continue;
    baseline.artifacts.push_back(one);
  }
  if (!baseline.artifacts.empty()) return baseline;
  const std::string oldest =
      stored->artifacts.empty()
          ? "none are stored"
          : "the oldest are of " + time_of(stored->artifacts.back().timestamp);
  session.fail(error(ErrorCode::InvalidArgument,
                     "no metrics were in force on {} (UTC): {}; `gpuemu artifacts --history` lists "
                     "them",
                     time_of(*time), oldest));
  return std::nullopt;
}

}  // namespace gpuemu::cli
