// The texts of a kernel, one per dtype and architecture, and the entries in them that are measured.
#include "daemon/measure/measure_kernels.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "common/base/blake2.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/config/source_kind.h"
#include "daemon/kernels/prepared_kernel.h"
#include "daemon/measure/measure_entry.h"
#include "daemon/plans/execution_plan.h"
#include "judge/metrics/ptx_metrics.h"
#include "judge/metrics/without_entries.h"
#include "kernels/catalog.h"
#include "runtime/compile/compile.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

LintResult broken(const std::string& name, const std::string& source, const Error& failure) {
  LintResult result;
  result.kernel_name = name;
  result.source = source;
  result.passed = false;
  result.error = failure.message;
  result.metrics.kernel_name = name;
  return result;
}

/// An entry as a launch names it, for one dtype.
struct Wanted {
  std::string expression;  ///< For example "softmax<float>".
  const LaunchSpec* launch = nullptr;
  DType dtype = DType::Float32;
};

const OpConfig* op_of(const Config& config, const KernelConfig& kernel) {
  for (const OpConfig& op : config.ops) {
    if (std::ranges::find(op.kernels, kernel.name) != op.kernels.end()) return &op;
  }
  return nullptr;
}

std::vector<Wanted> wanted_of(const Config& config, const KernelConfig& kernel) {
  std::set<DType> dtypes;
  for (const OpConfig& op : config.ops) {
    if (std::ranges::find(op.kernels, kernel.name) == op.kernels.end()) continue;
    dtypes.insert(op.dtypes.begin(), op.dtypes.end());
  }
  if (dtypes.empty()) dtypes.insert(config.dtypes.begin(), config.dtypes.end());
  const bool flags_differ = std::ranges::any_of(config.compile_flags, [](const std::string& flag) {
    return flag.find("{dtype}") != flag.npos || flag.find("{ctype}") != flag.npos;
  });
  std::vector<Wanted> wanted;
  for (const LaunchSpec& launch : kernel.launches) {
    for (const DType dtype : dtypes) {
      Wanted one{with_dtype(launch.entry, dtype), &launch, dtype};
      const bool known = std::ranges::any_of(wanted, [&](const Wanted& other) {
        return other.expression == one.expression && (!flags_differ || other.dtype == dtype);
      });
      if (!known) wanted.push_back(std::move(one));
    }
  }
  return wanted;
}

/// One text and the names of its entries.
struct Text {
  std::string ptx, name;
  std::map<std::string, std::string> lowered;
};

CompileRequest request_of(const Config& config, const std::string& source, const std::string& arch,
                          const InspectOptions& options, const std::vector<Wanted>& wanted) {
  CompileRequest request;
  request.path = source;
  request.arch = arch;
  request.include_dirs = config.include_dirs;
  request.cache_folder = options.cache_folder;
  request.cancel = options.cancel;
  for (const Wanted& one : wanted) request.name_expressions.push_back(one.expression);
  request.with_others = !wanted.empty();
  const DType dtype = wanted.empty() ? DType::Float32 : wanted.front().dtype;
  for (const std::string& flag : config.compile_flags) {
    request.flags.push_back(with_dtype(flag, dtype));
  }
  return request;
}

Result<Text> text_of(const Config& config, const std::string& source, const std::string& arch,
                     const InspectOptions& options, const std::vector<Wanted>& wanted) {
  if (source_kind(source) == SourceKind::Builtin) {
    const BuiltinKernel* builtin = find_builtin(source.substr(kBuiltinSource.size()));
    if (builtin == nullptr) return error(ErrorCode::NotFound, "there is no {}", source);
    return Text{builtin->ptx(), std::string(builtin->file), {}};
  }
  if (!is_cuda_source(source)) {
    return Text{GPUEMU_TRY(read_file(source, kSourceBytesMax)), source, {}};
  }
  CompiledModule compiled =
      GPUEMU_TRY(compile_source(request_of(config, source, arch, options, wanted)));
  // Remove entries of other kernels that were compiled along with these: otherwise ptxas would
  // compile all of them again for each kernel of gpuemu.toml.
  std::string ptx = without_entries(std::move(compiled.ptx), compiled.others);
  if (!wanted.empty()) {
    std::set<std::string> names;
    for (const Wanted& one : wanted) {
      const auto lowered = compiled.lowered.find(one.expression);
      names.insert(lowered == compiled.lowered.end() ? one.expression : lowered->second);
    }
    ptx = only_entries(std::move(ptx), names);
  }
  return Text{std::move(ptx), source, std::move(compiled.lowered)};
}

/// The measured entries of one source, over all architectures, in the order in which their names
/// first appear.
class Measurement {
 public:
  Measurement(const Config& config, const KernelConfig* kernel, const std::string& source,
              const InspectOptions& options)
      : config_(config), kernel_(kernel), source_(source), options_(options) {}

  /// Adds the entries of one text for one architecture; all of them if `wanted` is empty.
  Status add(const Text& text, const std::string& arch, const std::vector<Wanted>& wanted) {
    auto unit = GPUEMU_TRY(make_unit(text.ptx, text.name, arch, options_.cache_folder));
    std::vector<std::pair<std::string, Wanted>> entries;  // PTX name, and the entry it stands for.
    for (const Wanted& one : wanted) {
      const auto lowered = text.lowered.find(one.expression);
      entries.emplace_back(lowered == text.lowered.end() ? one.expression : lowered->second, one);
    }
    if (wanted.empty()) {
      std::set<std::string> all;
      for (const ptx::Function& function : unit->module.functions) {
        if (function.is_entry && !function.is_extern) all.insert(function.name);
      }
      for (const auto& [name, shown] : readable_names(all)) {
        entries.emplace_back(name, Wanted{shown});
      }
    }
    if (entries.empty()) {
      return error(ErrorCode::NotFound,
                   "{} has no kernel; expected a __global__ function (a template is only compiled "
                   "for the launches that gpuemu.toml lists)",
                   text.name);
    }
    for (const auto& [name, one] : entries) {
      const ptx::Function* function = unit->module.find(name);
      if (function == nullptr || !function->is_entry) {
        return error(ErrorCode::NotFound, "{} has no kernel '{}'", text.name, name);
      }
      add_entry(unit, *function, arch, one);
    }
    return ok_status();
  }

  std::vector<LintResult> results() {
    std::vector<LintResult> all;
    for (const std::string& name : order_) {
      EntryMeasurement& entry = entries_.at(name);
      LintResult result = finish_entry(entry);
      const bool only = kernel_ != nullptr && order_.size() == 1;
      result.kernel_name = result.metrics.kernel_name = entry.name;
      if (only) result.kernel_name = result.metrics.kernel_name = kernel_->name;
      result.source = source_;
      judge_entry(config_, kernel_, entry, result);
      all.push_back(std::move(result));
    }
    return all;
  }

 private:
  void add_entry(const std::shared_ptr<const PtxUnit>& unit, const ptx::Function& function,
                 const std::string& arch, const Wanted& wanted) {
    const std::string shown = kernel_ == nullptr
                                  ? wanted.expression
                                  : fmt::format("{}:{}", kernel_->name, wanted.expression);
    const auto [at, fresh] = entries_.try_emplace(shown);
    EntryMeasurement& entry = at->second;
    if (fresh) {
      order_.push_back(shown);
      entry.name = shown;
      entry.unit = unit;
      entry.function = &function;
    }
    EntryLaunch launch;
    launch.threads = options_.threads;
    launch.dynamic_shared_bytes = options_.dynamic_shared_bytes;
    if (kernel_ != nullptr && wanted.launch != nullptr) {
      launch.spec = wanted.launch;
      launch.op = op_of(config_, *kernel_);
      launch.dtype = wanted.dtype;
    }
    add_architecture(*unit, function, arch, launch, entry);
  }

  const Config& config_;
  const KernelConfig* kernel_;
  const std::string source_;
  const InspectOptions& options_;
  std::map<std::string, EntryMeasurement> entries_;
  std::vector<std::string> order_;
};

/// Groups the dtypes that the compiler handles together, with the same flags.
std::vector<std::vector<Wanted>> groups_of(std::vector<Wanted> wanted) {
  std::map<DType, std::vector<Wanted>> by_dtype;
  for (Wanted& one : wanted) by_dtype[one.dtype].push_back(std::move(one));
  std::vector<std::vector<Wanted>> groups;
  for (auto& [dtype, group] : by_dtype) groups.push_back(std::move(group));
  if (groups.empty()) groups.emplace_back();
  return groups;
}

std::vector<LintResult> inspect_text(const Config& config, const KernelConfig* kernel,
                                     const std::string& source, const InspectOptions& options) {
  const std::string name =
      kernel != nullptr ? kernel->name : std::filesystem::path(source).filename().string();
  Measurement measurement(config, kernel, source, options);
  const auto groups =
      groups_of(kernel != nullptr ? wanted_of(config, *kernel) : std::vector<Wanted>());
  for (const std::string& arch : options.archs) {
    for (const std::vector<Wanted>& group : groups) {
      const auto text = text_of(config, source, arch, options, group);
      if (!text) return {broken(name, source, text.error())};
      const Status added = measurement.add(*text, arch, group);
      if (!added) return {broken(name, source, added.error())};
    }
  }
  return measurement.results();
}

std::vector<LintResult> inspect_object(const Config& config, const KernelConfig* kernel,
                                       const std::string& source, const InspectOptions& options) {
  auto results = measure_object(config, kernel, source, options);
  if (results) return *std::move(results);
  const std::string name =
      kernel != nullptr ? kernel->name : std::filesystem::path(source).filename().string();
  return {broken(name, source, results.error())};
}

bool is_text(const std::string& source) {
  const SourceKind kind = source_kind(source);
  return kind == SourceKind::Builtin || kind == SourceKind::Ptx || is_cuda_source(source);
}

}  // namespace

void compile_to_inspect(const Config& config, const std::vector<const KernelConfig*>& kernels,
                        const InspectOptions& options, const std::function<void(size_t)>& tell) {
  struct Together {
    CompileRequest request;
    std::vector<std::vector<std::string>> sets;
  };
  std::map<std::vector<std::string>, Together> units;  // By source, architecture and flags.
  for (const KernelConfig* kernel : kernels) {
    if (!is_cuda_source(kernel->source)) continue;
    for (const std::string& arch : options.archs) {
      for (const std::vector<Wanted>& group : groups_of(wanted_of(config, *kernel))) {
        CompileRequest request = request_of(config, kernel->source, arch, options, group);
        std::vector<std::string> unit = {request.path, arch};
        unit.insert(unit.end(), request.flags.begin(), request.flags.end());
        Together& together = units[unit];
        together.sets.push_back(std::exchange(request.name_expressions, {}));
        together.request = std::move(request);
      }
    }
  }
  size_t ready = 0;
  for (const auto& [unit, together] : units) {
    if (options.cancel != nullptr && *options.cancel) return;
    tell(ready * kernels.size() / units.size());
    ++ready;
    (void)compile_ahead(together.request, together.sets).ok();
  }
  tell(kernels.size());
}

std::vector<LintResult> inspect_kernel(const Config& config, const KernelConfig& kernel,
                                       const InspectOptions& options) {
  const SourceKind kind = source_kind(kernel.source);
  if (kind == SourceKind::None || kind == SourceKind::Python) {
    LintResult result;
    result.kernel_name = result.metrics.kernel_name = kernel.name;
    result.source = kernel.source;
    result.not_checked.push_back(kernel.source.empty()
                                     ? "everything: the kernel has no source in gpuemu.toml"
                                     : "everything: a Python source has no code to measure; give "
                                       "the PTX that it compiles to");
    return {result};
  }
  return is_text(kernel.source) ? inspect_text(config, &kernel, kernel.source, options)
                                : inspect_object(config, &kernel, kernel.source, options);
}

Result<std::string> source_key(const Config& config, const KernelConfig& kernel,
                               const InspectOptions& options) {
  if (kernel.source.empty()) return std::string("no source");
  std::string all = kernel.source + "\n";
  if (!is_text(kernel.source)) {
    all += GPUEMU_TRY(read_file(kernel.source, kSourceBytesMax));
    return content_hash({all});
  }
  for (const std::string& arch : options.archs) {
    for (const std::vector<Wanted>& group : groups_of(wanted_of(config, kernel))) {
      all += arch + "\n" + GPUEMU_TRY(text_of(config, kernel.source, arch, options, group)).ptx;
    }
  }
  return content_hash({all});
}

std::vector<LintResult> inspect_file(const Config& config, const std::string& path,
                                     const InspectOptions& options) {
  return is_text(path) ? inspect_text(config, nullptr, path, options)
                       : inspect_object(config, nullptr, path, options);
}

}  // namespace gpuemu
