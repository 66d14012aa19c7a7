#include "daemon/ci/verdict_cache.h"

#include "common/codec/json_codec.h"

namespace gpuemu {
namespace {

std::string op_name(const std::string& name, DType dtype) {
  return fmt::format("{}{}:{}", kOpVerdictMeta, name_of(dtype), name);
}
std::string kernel_name(const std::string& name) { return std::string(kKernelVerdictMeta) + name; }

/// Begins the line of a file that the reference read; its hash and its path follow.
constexpr std::string_view kRead = "read ";

/// Returns the text after the lines of files, if all files still have the recorded content.
std::optional<std::string> behind_reads(std::string_view text) {
  while (text.starts_with(kRead)) {
    const size_t hash = kRead.size(), space = text.find(' ', hash), end = text.find('\n');
    if (end == text.npos || space > end) return std::nullopt;
    const std::string path(text.substr(space + 1, end - space - 1));
    if (hash_of_file(path) != text.substr(hash, space - hash)) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return std::string(text);
}

/// Formats an entry: a line with the key, then a reply as JSON, which the codec of the records
/// reads back.
std::string entry(const std::string& key, const Reply& reply) {
  return key + "\n" + encode_reply(reply);
}

}  // namespace

std::optional<std::string> VerdictCache::text(const std::string& name, const std::string& key) {
  const auto kept = store_.meta(name);
  if (!kept || !*kept || !(*kept)->starts_with(key + "\n")) return std::nullopt;
  return (*kept)->substr(key.size() + 1);
}

std::optional<KeptVerdict> VerdictCache::op(const std::string& name, DType dtype,
                                            const std::string& key) {
  const auto kept = text(op_name(name, dtype), key);
  const auto json = kept ? behind_reads(*kept) : std::nullopt;
  if (!json) return std::nullopt;
  auto reply = decode_reply(*json);
  auto* run = reply ? std::get_if<CiRunCompleteReply>(&*reply) : nullptr;
  if (run == nullptr || run->summary.ops.size() != 1) return std::nullopt;
  KeptVerdict verdict{run->summary.ops.front(), std::move(run->summary.validation_results),
                      std::move(run->summary.notes)};
  // An earlier version stored only the counts, which is too little for a report.
  if (verdict.op.cases > 0 && verdict.results.empty()) return std::nullopt;
  verdict.op.cached = true;
  return verdict;
}

Status VerdictCache::keep(const KeptVerdict& verdict, const std::string& key,
                          const std::vector<FileContent>& reads) {
  const CiOp& op = verdict.op;
  CiRunCompleteReply one;
  one.summary.ops = {op};
  one.summary.validation_results = verdict.results;
  one.summary.notes = verdict.notes;
  std::string lines;
  for (const FileContent& read : reads) {
    lines += fmt::format("{}{} {}\n", kRead, read.hash, read.path);
  }
  return store_.put_meta(op_name(op.op_name, op.dtype),
                         key + "\n" + lines + encode_reply(Reply(one)));
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
