// Writes the JSON documents that differ from the daemon's replies: CI summaries, baselines,
// comparisons with a baseline, problems in gpuemu.toml, coverage, and the ops of a project and of
// gpuemu.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/report/ci.h"
#include "cli/report/config_json.h"
#include "cli/report/coverage_json.h"
#include "cli/report/diff.h"
#include "cli/report/kernels.h"
#include "cli/report/op_words.h"
#include "cli/report/project_ops.h"
#include "cli/report/seed_text.h"
#include "common/codec/json_codec.h"
#include "common/config/source_kind.h"
#include "ops/dispatch/libraries.h"
#include "ops/dispatch/operand_json.h"

namespace gpuemu::cli {
namespace {

using Json = nlohmann::ordered_json;
using SortedJson = nlohmann::json;

std::string indented(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

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

/// A list of files, each once.
class FileList {
 public:
  void add(const char* role, const std::string& path) {
    const bool is_file = !path.empty() && source_kind(path) != SourceKind::Builtin;
    const bool known =
        std::ranges::any_of(files_, [&](const Json& file) { return file["path"] == path; });
    if (is_file && !known) files_.push_back({{"role", role}, {"path", path}});
  }
  void add_kernel(const KernelConfig& kernel, const KernelHeaders& headers) {
    add("kernel", kernel.source);
    const auto found = headers.find(kernel.name);
    if (found == headers.end()) return;
    for (const std::string& header : found->second) add("header", header);
  }
  Json take() { return std::move(files_); }

 private:
  Json files_ = Json::array();
};

template <typename Entry>
void add_place(const Entry& entry, Json& out) {
  out["file"] = entry.file;
  out["line"] = entry.line;
  out["column"] = entry.column;
  out["end_line"] = entry.end_line;
}

Json dims_json(const OpConfig& op) {
  Json list = Json::array();
  for (const DerivedDim& dim : op.derived_dims) {
    list.push_back({{"name", dim.name}, {"value", dim.value.text()}});
  }
  for (const DimSpec& dim : op.dims) {
    Json one = {{"name", dim.name}};
    if (dim.is_set) {
      one["values"] = dim.values;
    } else {
      one["lowest"] = dim.values.front();
      one["highest"] = dim.values.back();
    }
    list.push_back(std::move(one));
  }
  return list;
}

Json tensors_json(const std::vector<TensorSpec>& tensors) {
  Json list = Json::array();
  for (const TensorSpec& tensor : tensors) {
    Json shape = Json::array();
    for (const Expression& size : tensor.shape) shape.push_back(size.text());
    list.push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", std::move(shape)}});
  }
  return list;
}

/// Returns whether the op is declared by its kernel's entry in [[kernels]], not by its own in
/// [[ops]].
bool is_of_kernels_entry(const OpConfig& op, const Config& config) {
  const KernelConfig* kernel = config.find_kernel(op.name);
  return kernel != nullptr && kernel->line == op.line && kernel->file == op.file;
}

Json op_json(const OpConfig& op, const Config& config, const KernelHeaders& headers) {
  Json out = {{"name", op.name},
              {"section", is_of_kernels_entry(op, config) ? "kernels" : "ops"},
              {"execution_mode", mode_name(op.mode)},
              {"dtypes", dtype_names(op.dtypes)},
              {"variants", op.kernels},
              {"dims", dims_json(op)},
              {"inputs", tensors_json(op.inputs)},
              {"outputs", tensors_json(op.outputs)}};
  add_place(op, out);
  FileList files;
  for (const std::string& name : op.kernels) {
    if (const KernelConfig* kernel = config.find_kernel(name)) files.add_kernel(*kernel, headers);
  }
  files.add("reference", op.reference);
  files.add("op_script", op.op_script);
  out["files"] = files.take();
  return out;
}

Json kernel_json(const KernelConfig& kernel, const Config& config, const KernelHeaders& headers) {
  Json entries = Json::array();
  for (const LaunchSpec& launch : kernel.launches) entries.push_back(launch.entry);
  Json out = {{"name", kernel.name},
              {"source", kernel.source},
              {"entries", std::move(entries)},
              {"ops", ops_of_kernel(kernel, config)}};
  add_place(kernel, out);
  FileList files;
  files.add_kernel(kernel, headers);
  files.add("reference", kernel.reference);
  out["files"] = files.take();
  return out;
}

SortedJson schema_json(const AttributeSchema& schema) {
  SortedJson fields = SortedJson::array();
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    SortedJson field = attribute_json(schema.fields[i]);
    field["offset"] = schema.offset_of(i);
    fields.push_back(std::move(field));
  }
  return {{"schema_id", schema.id()},
          {"bytes", schema.byte_size_of(schema.version())},
          {"fields", fields}};
}

SortedJson variant_json(const KernelVariant& variant) {
  return {{"name", variant.name},
          {"module", variant.module},
          {"source", variant_source(variant)},
          {"entries", variant.entries},
          {"types", types_json(variant)},
          {"priority", variant.priority},
          {"strided", variant.strided},
          {"wide", variant.wide},
          {"sm_min", variant.sm_min},
          {"workspace", variant.workspace_bytes != nullptr}};
}

}  // namespace

std::string ci_json(const CiRunSummary& summary) {
  auto json = Json::parse(encode_reply(CiRunCompleteReply{summary}));
  json.erase("type");
  return with_seed_texts(indented(json)) + "\n";
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

std::string codecov_json(const std::vector<CodecovFile>& files, const std::string& summary) {
  Json coverage = Json::object();
  for (const CodecovFile& file : files) {
    Json& counts = coverage[file.name] = Json::object();
    for (const auto& [number, line] : file.lines) {
      Json& count = counts[std::to_string(number)];
      if (line.branches.empty()) {
        count = line.hits;
      } else {
        count = line.branches;
      }
    }
  }
  Json document = {{"coverage", coverage}};
  if (!summary.empty()) document["messages"] = {{"gpuemu_summary", summary}};
  return indented(document) + "\n";
}

std::string op_coverage_json(const OpCoverage& coverage, double percent) {
  return indented({{"covered", coverage.covered},
                   {"uncovered", coverage.uncovered},
                   {"configured_total", coverage.covered.size() + coverage.uncovered.size()},
                   {"percent", percent}}) +
         "\n";
}

std::string project_ops_json(const Config& config, const KernelHeaders& headers) {
  Json out = {{"file", config.file}, {"ops", Json::array()}, {"kernels", Json::array()}};
  for (const OpConfig& op : config.ops) out["ops"].push_back(op_json(op, config, headers));
  for (const KernelConfig& kernel : config.kernels) {
    out["kernels"].push_back(kernel_json(kernel, config, headers));
  }
  return indented(out);
}

std::string ops_json(std::span<const OpKind* const> ops) {
  SortedJson list = SortedJson::array();
  for (const OpKind* op : ops) {
    SortedJson variants = SortedJson::array();
    for (const KernelVariant* variant : variants_here(*op)) {
      variants.push_back(variant_json(*variant));
    }
    list.push_back({{"name", op->name},
                    {"summary", op->summary},
                    {"inputs", operands_json(op->inputs)},
                    {"outputs", operands_json(op->outputs)},
                    {"in_place", op->in_place},
                    {"attributes", schema_json(op->schema)},
                    {"variants", variants}});
  }
  return SortedJson{{"ops", list}}.dump();
}

}  // namespace gpuemu::cli
