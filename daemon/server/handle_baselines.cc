// Baselines as a whole: which there are, what one holds, and its end. A tag may name results,
// metrics of kernels or both.
#include <map>

#include "daemon/server/handlers.h"

namespace gpuemu {
namespace {

bool is_missing(const Error& failure) { return failure.code == ErrorCode::NotFound; }

ErrorReply no_such_baseline(const std::string& tag, Store& store) {
  std::string known;
  std::map<std::string, bool> tags;
  if (const auto of_results = store.list_baselines()) {
    for (const std::string& one : *of_results) tags[one] = true;
  }
  if (const auto of_artifacts = store.list_artifact_baselines()) {
    for (const std::string& one : *of_artifacts) tags[one] = true;
  }
  for (const auto& [one, ignored] : tags) known += (known.empty() ? "" : ", ") + one;
  return {WireErrorCode::BaselineNotFound,
          fmt::format("no baseline '{}'; there are: {}", tag,
                      known.empty() ? "none; `gpuemu baseline save` makes one" : known)};
}

}  // namespace

Reply handle(const ListBaselinesRequest&, Call& call) {
  Store& store = call.context.store;
  const auto of_results = store.list_baselines();
  if (!of_results) return error_reply(of_results.error());
  const auto of_artifacts = store.list_artifact_baselines();
  if (!of_artifacts) return error_reply(of_artifacts.error());
  std::map<std::string, BaselineInfo> all;
  for (const std::string& tag : *of_results) {
    const auto held = store.baseline(tag);
    if (!held) return error_reply(held.error());
    all[tag].results = held->size();
  }
  for (const std::string& tag : *of_artifacts) {
    const auto held = store.artifact_baseline(tag);
    if (!held) return error_reply(held.error());
    all[tag].artifacts = held->size();
  }
  BaselineListReply reply;
  for (auto& [tag, info] : all) {
    info.tag = tag;
    reply.baselines.push_back(info);
  }
  return reply;
}

Reply handle(const GetBaselineRequest& request, Call& call) {
  auto results = call.context.store.baseline(request.tag);
  auto artifacts = call.context.store.artifact_baseline(request.tag);
  if (!results && !is_missing(results.error())) return error_reply(results.error());
  if (!artifacts && !is_missing(artifacts.error())) return error_reply(artifacts.error());
  if (!results && !artifacts) return no_such_baseline(request.tag, call.context.store);
  BaselineReply reply;
  reply.tag = request.tag;
  if (results) reply.results = *std::move(results);
  if (artifacts) reply.artifacts = *std::move(artifacts);
  return reply;
}

Reply handle(const DeleteBaselineRequest& request, Call& call) {
  const Status results = call.context.store.delete_baseline(request.tag);
  if (!results && !is_missing(results.error())) return error_reply(results.error());
  const Status artifacts = call.context.store.delete_artifact_baseline(request.tag);
  if (!artifacts && !is_missing(artifacts.error())) return error_reply(artifacts.error());
  if (!results && !artifacts) return no_such_baseline(request.tag, call.context.store);
  return OkReply{};
}

}  // namespace gpuemu
