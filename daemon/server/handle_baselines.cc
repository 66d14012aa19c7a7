// Requests about whole baselines: list, show, delete. A tag may name results, kernel metrics or
// both.
#include <map>

#include "common/protocol/wire_errors.h"
#include "daemon/server/handlers.h"
#include "daemon/storage/store.h"

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

Status add_baselines(const ListedStore& from, BaselineListReply& reply) {
  Store& store = *from.store;
  std::map<std::string, BaselineInfo> all;
  for (const std::string& tag : GPUEMU_TRY(store.list_baselines())) {
    all[tag].results = GPUEMU_TRY(store.baseline(tag)).size();
  }
  for (const std::string& tag : GPUEMU_TRY(store.list_artifact_baselines())) {
    all[tag].artifacts = GPUEMU_TRY(store.artifact_baseline(tag)).size();
  }
  for (auto& [tag, info] : all) {
    info.tag = tag;
    info.project = from.project;
    info.user = from.user;
    reply.baselines.push_back(std::move(info));
  }
  return ok_status();
}

}  // namespace

Reply handle(const ListBaselinesRequest&, Call& call) {
  const auto stores = listed_stores(call);
  if (!stores) return error_reply(stores.error());
  BaselineListReply reply;
  for (const ListedStore& one : *stores) {
    const Status added = add_baselines(one, reply);
    if (!added) return error_reply(added.error());
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
