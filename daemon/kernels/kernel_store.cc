// Compiles a kernel's source for a dtype and finds its entries.
#include "daemon/kernels/kernel_store.h"

#include <algorithm>
#include <set>

#include "common/base/blake2.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/config/config.h"
#include "common/config/source_kind.h"
#include "judge/metrics/branch_constants.h"
#include "kernels/catalog.h"
#include "runtime/compile/compile.h"
#include "runtime/compile/source_text/unset_constants.h"
#include "runtime/device/launch_check.h"
#include "runtime/ptx/parse.h"
#include "runtime/ptx/variables.h"

namespace gpuemu {

std::string with_dtype(std::string text, DType dtype) {
  const std::pair<std::string_view, std::string_view> rules[] = {{"{dtype}", name_of(dtype)},
                                                                 {"{ctype}", cuda_type_of(dtype)}};
  for (const auto& [from, to] : rules) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, from.size(), to);
      at += to.size();
    }
  }
  return text;
}

namespace {

Result<PreparedKernel> from_builtin(const KernelConfig& kernel) {
  const std::string wanted = kernel.source.substr(kBuiltinSource.size());
  const BuiltinKernel* builtin = find_builtin(wanted);
  if (builtin == nullptr) {
    std::string known;
    for (const BuiltinKernel& one : builtin_kernels()) {
      known += (known.empty() ? "" : ", ") + std::string(one.name);
    }
    return error(ErrorCode::NotFound, "kernel '{}': no built-in kernel '{}'; there are: {}",
                 kernel.name, wanted, known);
  }
  return PreparedKernel{
      .key = {}, .name = std::string(builtin->file), .ptx = builtin->ptx(), .entries = {}};
}

/// Returns the number of threads along x of each launch's blocks; 0 where it depends on the case.
std::vector<uint32_t> blocks_of(const KernelConfig& kernel) {
  std::vector<uint32_t> blocks;
  for (const LaunchSpec& launch : kernel.launches) {
    const auto threads = launch.block.empty() ? Result<int64_t>(0) : launch.block[0].evaluate({});
    const bool fits = threads && *threads > 0 && *threads <= kThreadsPerBlockMax;
    blocks.push_back(fits ? static_cast<uint32_t>(*threads) : 0);
  }
  return blocks;
}

/// Returns "model::bias" for "_ZN5model4biasE", "w" for "_ZL1w"; other names unchanged.
std::string unmangled(const std::string& name) {
  std::string out;
  size_t at = name.find_first_of("123456789");
  if (!name.starts_with("_Z") || at == std::string::npos) return name;
  while (at < name.size() && name[at] >= '1' && name[at] <= '9') {
    size_t size = 0;
    for (; at < name.size() && name[at] >= '0' && name[at] <= '9'; ++at) {
      size = size * 10 + static_cast<size_t>(name[at] - '0');
    }
    out += (out.empty() ? "" : "::") + name.substr(at, size);
    at += size;
  }
  return out;
}

/// Finds the variables that `symbols` names, and the constants that nothing sets.
Status find_variables(const KernelConfig& kernel, const ptx::Module& module,
                      PreparedKernel& prepared) {
  std::set<std::string> unset;
  if (source_kind(kernel.source) == SourceKind::Cuda) {
    unset = unset_constants(module, GPUEMU_TRY(read_file(kernel.source, kSourceBytesMax)));
  }
  for (size_t i = 0; i < kernel.symbols.size(); ++i) {
    const auto found = ptx::find_variable(module, kernel.symbols[i].name);
    if (!found) {
      return found.error().with_context("kernel '" + kernel.name + "', symbols");
    }
    const ptx::Variable& variable = **found;
    prepared.variables.push_back({variable.name, kernel.symbols[i].name, static_cast<int>(i),
                                  variable.bytes, variable.init, unset.contains(variable.name)});
    unset.erase(variable.name);
  }
  for (const std::string& name : unset) {
    const ptx::Variable& variable = **ptx::find_variable(module, name);
    prepared.variables.push_back({name, unmangled(name), -1, variable.bytes, {}, true});
  }
  return ok_status();
}

/// Returns every entry of the text. Reports errors that a device would report, before a case is
/// spent on them. Stores the warnings of the text and the sizes that its launched entries mention.
Result<std::vector<EntryInfo>> entries_of(const KernelConfig& kernel, PreparedKernel& prepared) {
  const ptx::Module module = GPUEMU_TRY(ptx::parse(prepared.ptx, prepared.name));
  for (const std::string& warning : module.warnings) {
    prepared.warnings.push_back(prepared.name + ": " + warning);
  }
  prepared.constants = constants_in(module, prepared.entries, blocks_of(kernel));
  GPUEMU_TRY(find_variables(kernel, module, prepared));
  std::vector<EntryInfo> entries;
  for (const ptx::Function& function : module.functions) {
    if (function.is_entry) entries.push_back({.name = function.name, .params = {}});
  }
  return entries;
}

/// Rejects text that is no PTX or has no kernel before names are looked up in it.
Status check_ptx(const KernelConfig& kernel) {
  const std::string text = GPUEMU_TRY(read_file(kernel.source, kSourceBytesMax));
  const ptx::Module module = GPUEMU_TRY(ptx::parse(text, kernel.source));
  if (std::ranges::any_of(module.functions, &ptx::Function::is_entry)) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "kernel '{}': {} has no .entry; expected PTX text with at least one kernel",
               kernel.name, kernel.source);
}

bool is_cuda(const KernelConfig& kernel) { return source_kind(kernel.source) == SourceKind::Cuda; }

std::vector<std::string> entries_wanted(const KernelConfig& kernel, DType dtype) {
  std::vector<std::string> wanted;
  for (const LaunchSpec& launch : kernel.launches) {
    wanted.push_back(with_dtype(launch.entry, dtype));
  }
  return wanted;
}

/// Returns the key of all requests that one compilation can serve.
std::vector<std::string> unit_of(const CompileRequest& request) {
  std::vector<std::string> unit = {request.path};
  unit.insert(unit.end(), request.flags.begin(), request.flags.end());
  return unit;
}

bool has_template(const std::vector<std::string>& entries) {
  return std::ranges::any_of(
      entries, [](const std::string& entry) { return entry.find('<') != entry.npos; });
}

}  // namespace

KernelStore::KernelStore(const Config& config, std::string cache_folder, std::string arch)
    : config_(config), cache_folder_(std::move(cache_folder)), arch_(std::move(arch)) {}

CompileRequest KernelStore::request_for(const KernelConfig& kernel, DType dtype) const {
  CompileRequest request{.path = kernel.source,
                         .source = {},
                         .arch = arch_,
                         .include_dirs = config_.include_dirs,
                         .flags = {},
                         .name_expressions = entries_wanted(kernel, dtype),
                         .cache_folder = cache_folder_};
  request.with_others = true;
  request.cancel = cancel_;
  for (const std::string& flag : config_.compile_flags) {
    request.flags.push_back(with_dtype(flag, dtype));
  }
  return request;
}

Result<std::shared_ptr<const PreparedKernel>> KernelStore::make(const KernelConfig& kernel,
                                                                DType dtype) {
  const std::vector<std::string> wanted = entries_wanted(kernel, dtype);
  auto prepared = std::make_shared<PreparedKernel>();
  const SourceKind kind = source_kind(kernel.source);
  if (kind == SourceKind::None || kernel.launches.empty()) {
    return error(ErrorCode::InvalidArgument,
                 "kernel '{}' needs a source and at least one of `launches` to be run",
                 kernel.name);
  }
  if (kind == SourceKind::Builtin) {
    *prepared = GPUEMU_TRY(from_builtin(kernel));
    prepared->entries = wanted;
  } else if (kind == SourceKind::MachineCode) {
    return error(
        ErrorCode::Unsupported,
        "kernel '{}': {} holds machine code, which only `gpuemu lint` reads; give the .cu or .ptx "
        "that it was made of",
        kernel.name, kernel.source);
  } else {
    const CompileRequest request = request_for(kernel, dtype);
    if (kind == SourceKind::Ptx) GPUEMU_TRY(check_ptx(kernel));
    const auto broken = broken_.find(unit_of(request));
    if (broken != broken_.end()) return broken->second;
    auto made = compile_source(request);
    if (!made && made.error().code == ErrorCode::Compile && !has_template(wanted)) {
      broken_.emplace(unit_of(request), made.error());
    }
    if (!made && made.error().code == ErrorCode::NotFound) {
      return made.error().with_context(kernel.source);
    }
    CompiledModule compiled = GPUEMU_TRY(std::move(made));
    prepared->ptx = std::move(compiled.ptx);
    prepared->name = kernel.source;
    for (const std::string& warning : compiled.warnings) {
      prepared->compiler_warnings.push_back(fmt::format("{}: {}", kernel.source, warning));
    }
    for (const std::string& name : wanted) {
      const auto lowered = compiled.lowered.find(name);
      prepared->entries.push_back(lowered == compiled.lowered.end() ? name : lowered->second);
    }
  }
  const std::vector<EntryInfo> entries = GPUEMU_TRY(entries_of(kernel, *prepared));
  for (const std::string& entry : prepared->entries) {
    const auto found = find_entry(entries, entry);
    if (!found) return found.error().with_context("kernel '" + kernel.name + "'");
  }
  prepared->key = content_hash({prepared->ptx});
  return std::shared_ptr<const PreparedKernel>(std::move(prepared));
}

Result<std::shared_ptr<const PreparedKernel>> KernelStore::prepare(const KernelConfig& kernel,
                                                                   DType dtype) {
  const std::lock_guard lock(mutex_);
  const auto key = std::make_pair(kernel.name, dtype);
  const auto known = made_.find(key);
  if (known != made_.end()) return known->second;
  compile_with_others(kernel, dtype);
  auto made = make(kernel, dtype);
  if (!made && made.error().code == ErrorCode::Cancelled) return made;
  return made_.emplace(key, std::move(made)).first->second;
}

void KernelStore::compile_ahead_of(const std::vector<Wanted>& wanted, const CompileRequest& first) {
  std::vector<std::vector<std::string>> sets;
  for (const auto& [kernel, dtype] : wanted) sets.push_back(entries_wanted(*kernel, dtype));
  const Status done = compile_ahead(first, sets);
  // All other errors are reported when a kernel is prepared.
  if (!done && done.error().code == ErrorCode::Compile) {
    broken_.emplace(unit_of(first), done.error());
  }
}

/// Returns the kernels of the same source with the same flags that ops of the configuration launch.
std::vector<KernelStore::Wanted> KernelStore::sharing(const CompileRequest& request) const {
  std::vector<Wanted> all;
  for (const OpConfig& op : config_.ops) {
    if (op.mode != ExecutionMode::Kernel) continue;
    for (const std::string& name : op.kernels) {
      const KernelConfig* kernel = config_.find_kernel(name);
      if (kernel == nullptr || kernel->source != request.path) continue;
      for (const DType dtype : op.dtypes) {
        if (unit_of(request_for(*kernel, dtype)) == unit_of(request)) {
          all.emplace_back(kernel, dtype);
        }
      }
    }
  }
  return all;
}

/// Compiles the kernel together with the others of its source, which the caller usually needs next.
void KernelStore::compile_with_others(const KernelConfig& kernel, DType dtype) {
  const CompileRequest request = request_for(kernel, dtype);
  if (!is_cuda(kernel) || !has_template(request.name_expressions)) return;
  if (asked_.insert(unit_of(request)).second) compile_ahead_of(sharing(request), request);
}

void KernelStore::prepare_all(const std::vector<Wanted>& wanted,
                              const std::function<void(size_t)>& tell) {
  std::map<std::vector<std::string>, std::vector<Wanted>> units;
  for (const Wanted& one : wanted) {
    units[unit_of(request_for(*one.first, one.second))].push_back(one);
  }
  size_t ready = 0;
  for (const auto& [unit, kernels] : units) {
    tell(ready);
    if (cancel_ != nullptr && *cancel_) break;
    if (is_cuda(*kernels.front().first)) {
      const std::lock_guard lock(mutex_);
      CompileRequest request = request_for(*kernels.front().first, kernels.front().second);
      request.name_expressions.clear();
      asked_.insert(unit);
      compile_ahead_of(kernels, request);
    }
    for (const auto& [kernel, dtype] : kernels) {
      tell(ready++);
      // prepare() reports the error to whoever needs the kernel.
      (void)prepare(*kernel, dtype).ok();
    }
  }
  tell(wanted.size());
}

}  // namespace gpuemu
