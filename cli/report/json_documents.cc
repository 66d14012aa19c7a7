// Writes the JSON documents that differ from the daemon's replies: CI summaries, baselines,
// comparisons with a baseline, and problems in gpuemu.toml.
#include <nlohmann/json.hpp>

#include "cli/report/ci.h"
#include "cli/report/config_json.h"
#include "cli/report/diff.h"
#include "cli/report/seed_text.h"
#include "common/codec/json_codec.h"

namespace gpuemu::cli {
namespace {

using SortedJson = nlohmann::json;

/// Converts a reply to a JSON object. Parsing cannot fail: our own codec wrote the text.
SortedJson document_of(const Reply& reply) { return SortedJson::parse(encode_reply(reply)); }

SortedJson list_of(const std::vector<ConfigProblem>& problems) {
  SortedJson list = SortedJson::array();
  for (const ConfigProblem& problem : problems) {
    // If only the start is known, mark one character.
    const bool has_end =
        std::pair(problem.end_line, problem.end_column) > std::pair(problem.line, problem.column);
    const uint32_t next = problem.line > 0 ? problem.column + 1 : 0;
    list.push_back({{"file", problem.file},
                    {"line", problem.line},
                    {"column", problem.column},
                    {"end_line", has_end ? problem.end_line : problem.line},
                    {"end_column", has_end ? problem.end_column : next},
                    {"key", problem.key},
                    {"message", problem.message}});
  }
  return list;
}

}  // namespace

std::string ci_json(const CiRunSummary& summary) {
  auto json = nlohmann::ordered_json::parse(encode_reply(CiRunCompleteReply{summary}));
  json.erase("type");
  return with_seed_texts(
             json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
         "\n";
}

std::string comparison_json(const Comparison& comparison) {
  SortedJson document = {{"baseline_tag", comparison.tag},
                         {"has_regressions", comparison.has_regressions()},
                         {"diffs", SortedJson::array()}};
  if (comparison.artifacts) {
    const SortedJson artifacts = document_of(ArtifactDiffsReply{*comparison.artifacts});
    document["diffs"] = artifacts["diffs"];
    if (artifacts.contains("missing")) document["missing"] = artifacts["missing"];
  }
  if (comparison.results) {
    const SortedJson results = document_of(*comparison.results);
    for (const char* member : {"comparisons", "unmatched", "baseline_unmatched"}) {
      if (results.contains(member)) document[member] = results[member];
    }
  }
  return document.dump();
}

std::string baseline_file_text(const BaselineReply& baseline) {
  return document_of(baseline).dump(1, ' ', false, SortedJson::error_handler_t::replace) + "\n";
}

Result<BaselineReply> read_baseline_file(const std::string& text, const std::string& file) {
  const SortedJson document = SortedJson::parse(text, nullptr, false);
  const char* expected = "a file that `gpuemu baseline save TAG --file` wrote";
  if (!document.is_object() || document.value("type", SortedJson()) != "Baseline") {
    return error(ErrorCode::InvalidArgument, "{} is not a baseline; expected {}", file, expected);
  }
  const auto version = document.find("schema_version");
  if (version == document.end() || *version != kBaselineSchemaVersion) {
    return error(ErrorCode::InvalidArgument,
                 "{} has schema version {}, this gpuemu reads {}; save it again with this version",
                 file, version == document.end() ? "none" : version->dump(),
                 kBaselineSchemaVersion);
  }
  const auto reply = decode_reply(text);
  if (!reply) return reply.error().with_context(file);
  return std::get<BaselineReply>(*reply);
}

std::string problems_json(const ConfigResult& loaded) {
  const SortedJson both = {{"problems", list_of(loaded.problems)},
                           {"warnings", list_of(loaded.warnings)}};
  return both.dump(2, ' ', false, SortedJson::error_handler_t::replace);
}

}  // namespace gpuemu::cli
