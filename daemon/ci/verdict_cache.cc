#include "daemon/ci/verdict_cache.h"

#include "common/protocol/json_codec.h"

namespace gpuemu {
namespace {

std::string op_name(const std::string& name, DType dtype) {
  return fmt::format("ci:op:{}:{}", name_of(dtype), name);
}
std::string kernel_name(const std::string& name) { return "ci:kernel:" + name; }

/// The key's line, then a reply as JSON: the records' own codec reads it back.
std::string entry(const std::string& key, const Reply& reply) {
  return key + "\n" + encode_reply(reply);
}

}  // namespace

std::optional<std::string> VerdictCache::text(const std::string& name, const std::string& key) {
  const auto kept = store_.meta(name);
  if (!kept || !*kept || !(*kept)->starts_with(key + "\n")) return std::nullopt;
  return (*kept)->substr(key.size() + 1);
}

std::optional<CiOp> VerdictCache::op(const std::string& name, DType dtype, const std::string& key) {
  const auto json = text(op_name(name, dtype), key);
  if (!json) return std::nullopt;
  const auto reply = decode_reply(*json);
  const auto* run = reply ? std::get_if<CiRunCompleteReply>(&*reply) : nullptr;
  if (run == nullptr || run->summary.ops.size() != 1) return std::nullopt;
  CiOp op = run->summary.ops.front();
  op.cached = true;
  return op;
}

Status VerdictCache::keep(const CiOp& op, const std::string& key) {
  CiRunCompleteReply one;
  one.summary.ops = {op};
  return store_.put_meta(op_name(op.op_name, op.dtype), entry(key, one));
}

std::optional<std::vector<LintResult>> VerdictCache::kernel(const std::string& name,
                                                            const std::string& key) {
  const auto json = text(kernel_name(name), key);
  if (!json) return std::nullopt;
  const auto reply = decode_reply(*json);
  const auto* results = reply ? std::get_if<LintResultsReply>(&*reply) : nullptr;
  if (results == nullptr) return std::nullopt;
  return results->results;
}

Status VerdictCache::keep(const std::string& name, const std::vector<LintResult>& results,
                          const std::string& key) {
  return store_.put_meta(kernel_name(name), entry(key, LintResultsReply{results, {}}));
}

}  // namespace gpuemu
