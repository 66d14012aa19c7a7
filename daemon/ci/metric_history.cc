#include "daemon/ci/metric_history.h"

#include <algorithm>
#include <map>

#include "common/codec/json_codec.h"

namespace gpuemu {
namespace {

// Limits on the remembered changes of one kernel and on the baselines read: as many as a chart
// shows.
constexpr size_t kPointsMax = 60;
constexpr size_t kBaselinesMax = 32;

using Key = std::pair<std::string, std::string>;  // Kernel and architecture.
using Points = std::map<Key, std::vector<TrendPoint>>;

bool same_numbers(TrendPoint one, const TrendPoint& other) {
  one.timestamp = other.timestamp;
  one.label = other.label;
  return one == other;
}

void add(const ArtifactMetrics& metrics, TrendPoint at, Points& points) {
  for (const CompiledMetrics& made : metrics.compiled) {
    at.registers = made.registers;
    at.spill_bytes = uint64_t{made.spill_store_bytes} + made.spill_load_bytes;
    at.stack_bytes = made.stack_bytes;
    at.shared_bytes = made.shared_bytes;
    at.instructions =
        made.sass_instructions > 0 ? made.sass_instructions : metrics.instruction_count;
    points[{metrics.kernel_name, made.arch}].push_back(at);
  }
  if (!metrics.compiled.empty()) return;
  at.registers = metrics.register_count;
  at.stack_bytes = metrics.local_memory_bytes;
  at.shared_bytes = metrics.shared_memory_bytes;
  at.instructions = metrics.instruction_count;
  points[{metrics.kernel_name, ""}].push_back(at);
}

void add(const NamedArtifacts& baseline, Points& points) {
  for (const ArtifactMetrics& one : baseline.artifacts) {
    add(one, {.timestamp = one.timestamp, .label = baseline.name}, points);
  }
}

/// Returns nothing if no history was written, or if another version of gpuemu wrote it in another
/// form: it then starts afresh.
Result<Points> read_history(Store& store) {
  Points points;
  const auto text = GPUEMU_TRY(store.meta(std::string(kTrendsMeta)));
  const auto reply = text ? decode_reply(*text) : Result<Reply>(OkReply{});
  const auto* kept = reply ? std::get_if<CiRunCompleteReply>(&*reply) : nullptr;
  if (kept == nullptr) return points;
  for (const KernelTrend& one : kept->summary.trends) {
    points[{one.kernel_name, one.arch}] = one.points;
  }
  return points;
}

std::vector<KernelTrend> as_trends(const Points& points) {
  std::vector<KernelTrend> trends;
  for (const auto& [key, of_kernel] : points) trends.push_back({key.first, key.second, of_kernel});
  return trends;
}

Status remember(Store& store, Points history, const Points& now) {
  bool changed = false;
  for (const auto& [key, points] : now) {
    std::vector<TrendPoint>& kept = history[key];
    for (const TrendPoint& one : points) {
      if (!kept.empty() && same_numbers(kept.back(), one)) continue;
      kept.push_back(one);
      changed = true;
    }
    if (kept.size() > kPointsMax) {
      kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(kPointsMax));
    }
  }
  if (!changed) return ok_status();
  CiRunCompleteReply reply;
  reply.summary.trends = as_trends(history);
  return store.put_meta(std::string(kTrendsMeta), encode_reply(reply));
}

Result<Points> read_baselines(Store& store, const NamedArtifacts& given) {
  Points points;
  add(given, points);
  std::vector<std::string> tags = GPUEMU_TRY(store.list_artifact_baselines());
  if (tags.size() > kBaselinesMax) tags.resize(kBaselinesMax);
  for (const std::string& tag : tags) {
    if (tag == given.name) continue;
    auto baseline = GPUEMU_TRY(store.artifact_baseline(tag));
    add({tag, std::move(baseline)}, points);
  }
  return points;
}

}  // namespace

Result<std::vector<KernelTrend>> follow_metrics(Store& store, const NamedArtifacts& given,
                                                const std::vector<LintResult>& now,
                                                int64_t timestamp) {
  Points current;
  for (const LintResult& one : now) {
    if (one.error.empty()) add(one.metrics, {.timestamp = timestamp, .label = ""}, current);
  }
  const Points history = GPUEMU_TRY(read_history(store));
  const Points baselines = GPUEMU_TRY(read_baselines(store, given));
  std::vector<KernelTrend> trends;
  for (const auto& [key, points] : current) {
    KernelTrend trend{key.first, key.second, {}};
    for (const Points* earlier : {&baselines, &history}) {
      const auto found = earlier->find(key);
      if (found == earlier->end()) continue;
      trend.points.insert(trend.points.end(), found->second.begin(), found->second.end());
    }
    if (trend.points.empty()) continue;
    std::ranges::stable_sort(trend.points, {}, &TrendPoint::timestamp);
    trend.points.insert(trend.points.end(), points.begin(), points.end());
    trends.push_back(std::move(trend));
  }
  GPUEMU_TRY(remember(store, history, current));
  return trends;
}

}  // namespace gpuemu
