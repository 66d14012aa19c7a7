// Entries of gpuemu.toml as text and as JSON.
#include "cli/report/project_ops.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/report/text.h"
#include "common/config/source_kind.h"

namespace gpuemu::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of_mode(ExecutionMode mode) {
  switch (mode) {
    case ExecutionMode::ClientSide:
      return "client_side";
    case ExecutionMode::ScriptBased:
      return "script_based";
    case ExecutionMode::Kernel:
      return "kernel";
  }
  GPUEMU_UNREACHABLE();
}

std::vector<std::string> names_of(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.emplace_back(name_of(dtype));
  return names;
}

/// Appends each file once.
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

/// An op without an entry of its own stands in its kernel's.
bool is_of_kernels_entry(const OpConfig& op, const Config& config) {
  const KernelConfig* kernel = config.find_kernel(op.name);
  return kernel != nullptr && kernel->line == op.line && kernel->file == op.file;
}

Json op_json(const OpConfig& op, const Config& config, const KernelHeaders& headers) {
  Json out = {{"name", op.name},
              {"section", is_of_kernels_entry(op, config) ? "kernels" : "ops"},
              {"execution_mode", name_of_mode(op.mode)},
              {"dtypes", names_of(op.dtypes)},
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

std::vector<std::string> ops_of(const KernelConfig& kernel, const Config& config) {
  std::vector<std::string> names;
  for (const OpConfig& op : config.ops) {
    if (std::ranges::find(op.kernels, kernel.name) != op.kernels.end()) names.push_back(op.name);
  }
  return names;
}

Json kernel_json(const KernelConfig& kernel, const Config& config, const KernelHeaders& headers) {
  Json entries = Json::array();
  for (const LaunchSpec& launch : kernel.launches) entries.push_back(launch.entry);
  Json out = {{"name", kernel.name},
              {"source", kernel.source},
              {"entries", std::move(entries)},
              {"ops", ops_of(kernel, config)}};
  add_place(kernel, out);
  FileList files;
  files.add_kernel(kernel, headers);
  files.add("reference", kernel.reference);
  out["files"] = files.take();
  return out;
}

}  // namespace

void print_project_ops(const Config& config, std::ostream& out) {
  for (const OpConfig& op : config.ops) {
    out << fmt::format("{} {} {}", one_line(op.name), fmt::join(names_of(op.dtypes), ","),
                       name_of_mode(op.mode));
    for (const std::string& name : op.kernels) out << ' ' << one_line(name);
    out << fmt::format(" ({}:{})\n", op.file, op.line);
  }
  for (const KernelConfig& kernel : config.kernels) {
    if (!ops_of(kernel, config).empty()) continue;
    out << fmt::format("{} kernel of no op ({}:{})\n", one_line(kernel.name), kernel.file,
                       kernel.line);
  }
}

std::string project_ops_json(const Config& config, const KernelHeaders& headers) {
  Json out = {{"file", config.file}, {"ops", Json::array()}, {"kernels", Json::array()}};
  for (const OpConfig& op : config.ops) out["ops"].push_back(op_json(op, config, headers));
  for (const KernelConfig& kernel : config.kernels) {
    out["kernels"].push_back(kernel_json(kernel, config, headers));
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gpuemu::cli
