// Writes the ops and kernels of gpuemu.toml and the built-in ops as JSON.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/report/kernels.h"
#include "cli/report/op_words.h"
#include "cli/report/project_ops.h"
#include "common/config/source_kind.h"
#include "ops/dispatch/libraries.h"

namespace gpuemu::cli {
namespace {

using Json = nlohmann::ordered_json;
using SortedJson = nlohmann::json;

/// Collects files, each once.
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

/// Whether the op is declared by its kernel's entry in [[kernels]], not by its own in [[ops]].
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

SortedJson operands_json(const std::vector<OperandSpec>& operands) {
  SortedJson list = SortedJson::array();
  for (const OperandSpec& operand : operands) {
    list.push_back({{"name", operand.name},
                    {"type", std::string(1, operand.type)},
                    {"rank_min", operand.rank_min},
                    {"rank_max", operand.rank_max}});
  }
  return list;
}

SortedJson schema_json(const AttributeSchema& schema) {
  SortedJson fields = SortedJson::array();
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const AttributeField& field = schema.fields[i];
    fields.push_back({{"name", field.name},
                      {"type", name_of(field.type)},
                      {"offset", schema.offset_of(i)},
                      {"default", field.fallback ? SortedJson(*field.fallback) : SortedJson()},
                      {"since", field.since},
                      {"meaning", field.meaning}});
  }
  return {{"schema_id", schema.id()},
          {"bytes", schema.byte_size_of(schema.version())},
          {"fields", fields}};
}

SortedJson variant_json(const KernelVariant& variant) {
  SortedJson types = SortedJson::object();
  for (const TypeRule& rule : variant.types) {
    SortedJson names = SortedJson::array();
    for (const DType dtype : rule.dtypes) names.push_back(name_of(dtype));
    types[std::string(1, rule.letter)] = names;
  }
  return {{"name", variant.name},
          {"module", variant.module},
          {"source", variant_source(variant)},
          {"entries", variant.entries},
          {"types", types},
          {"priority", variant.priority},
          {"strided", variant.strided},
          {"wide", variant.wide},
          {"sm_min", variant.sm_min},
          {"workspace", variant.workspace_bytes != nullptr}};
}

}  // namespace

std::string project_ops_json(const Config& config, const KernelHeaders& headers) {
  Json out = {{"file", config.file}, {"ops", Json::array()}, {"kernels", Json::array()}};
  for (const OpConfig& op : config.ops) out["ops"].push_back(op_json(op, config, headers));
  for (const KernelConfig& kernel : config.kernels) {
    out["kernels"].push_back(kernel_json(kernel, config, headers));
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
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
