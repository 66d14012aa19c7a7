// Compiling a kernel's source for a dtype and finding its entries.
#include "daemon/engine/kernel_store.h"

#include <algorithm>
#include <set>

#include "common/base/blake2.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "daemon/engine/harvest.h"
#include "kernels/catalog.h"
#include "runtime/compile/compile.h"
#include "runtime/device/launch_check.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

constexpr std::string_view kBuiltin = "builtin:";

Result<PreparedKernel> from_builtin(const KernelConfig& kernel) {
  const std::string wanted = kernel.source.substr(kBuiltin.size());
  const BuiltinKernel* builtin = find_builtin(wanted);
  if (builtin == nullptr) {
    std::string known;
    for (const BuiltinKernel& one : builtin_kernels()) {
      known += (known.empty() ? "" : ", ") + std::string(one.name);
    }
    return error(ErrorCode::NotFound, "kernel '{}': no built-in kernel '{}'; there are: {}",
                 kernel.name, wanted, known);
  }
  return PreparedKernel{.key = {},
                        .name = std::string(builtin->file),
                        .ptx = std::string(builtin->ptx),
                        .entries = {}};
}

/// Every entry of the text; what a device will say, said before a case is spent on it. Warnings of
/// the text and the sizes that its launched entries speak of are kept.
Result<std::vector<EntryInfo>> entries_of(PreparedKernel& prepared) {
  const ptx::Module module = GPUEMU_TRY(ptx::parse(prepared.ptx, prepared.name));
  for (const std::string& warning : module.warnings)
    prepared.warnings.push_back(prepared.name + ": " + warning);
  prepared.constants = sizes_in(module, prepared.entries);
  std::vector<EntryInfo> entries;
  for (const ptx::Function& function : module.functions) {
    if (function.is_entry) entries.push_back({.name = function.name, .params = {}});
  }
  return entries;
}

/// Text that is no PTX or has no kernel is named before names are looked up in it.
Status check_ptx(const KernelConfig& kernel) {
  const std::string text = GPUEMU_TRY(read_file(kernel.source, kSourceBytesMax));
  const ptx::Module module = GPUEMU_TRY(ptx::parse(text, kernel.source));
  if (std::ranges::any_of(module.functions, &ptx::Function::is_entry)) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "kernel '{}': {} has no .entry; expected PTX text with at least one kernel",
               kernel.name, kernel.source);
}

std::vector<std::string> entry_names(const KernelConfig& kernel, DType dtype) {
  std::vector<std::string> names;
  for (const LaunchSpec& launch : kernel.launches) names.push_back(with_dtype(launch.entry, dtype));
  return names;
}

/// The kernel and those of the same source that ops of this dtype launch.
std::vector<const KernelConfig*> sharing_source(const Config& config, const KernelConfig& kernel,
                                                DType dtype) {
  std::vector<const KernelConfig*> sharing = {&kernel};
  for (const OpConfig& op : config.ops) {
    if (std::ranges::find(op.dtypes, dtype) == op.dtypes.end()) continue;
    for (const std::string& name : op.kernels) {
      const KernelConfig* const other = config.find_kernel(name);
      if (other != nullptr && other->source == kernel.source) sharing.push_back(other);
    }
  }
  return sharing;
}

/// Each once and in order: whichever kernel comes first, the compiler is asked the same.
std::vector<std::string> names_of(const std::vector<const KernelConfig*>& kernels, DType dtype) {
  std::set<std::string> names;
  for (const KernelConfig* kernel : kernels) {
    for (std::string& name : entry_names(*kernel, dtype)) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

/// A module that holds fewer entries than all kernels of its source want was made for one of them,
/// because the compiler refused the whole; so it would again.
bool was_made_apart(const Result<std::shared_ptr<const PreparedKernel>>& made,
                    const std::vector<std::string>& all) {
  if (!made) return true;
  constexpr std::string_view kEntry = ".entry ";
  size_t entries = 0;
  for (size_t at = 0; (at = (*made)->ptx.find(kEntry, at)) != std::string::npos; ++at) ++entries;
  return entries < all.size();
}

/// Templates of one source are instantiated by one run of the compiler. What is wrong with one of
/// them is told of its own kernel alone.
Result<CompiledModule> compile(CompileRequest request, const std::vector<std::string>& own,
                               const std::vector<std::string>& together) {
  request.name_expressions = together;
  auto compiled = compile_source(request);
  if (compiled || together == own) return compiled;
  request.name_expressions = own;
  return compile_source(request);
}

}  // namespace

KernelStore::KernelStore(const Config& config, std::string cache_folder, std::string arch)
    : config_(config), cache_folder_(std::move(cache_folder)), arch_(std::move(arch)) {}

Result<std::shared_ptr<const PreparedKernel>> KernelStore::make(const KernelConfig& kernel,
                                                                DType dtype) const {
  const std::vector<std::string> wanted = entry_names(kernel, dtype);
  auto prepared = std::make_shared<PreparedKernel>();
  if (kernel.source.empty() || kernel.launches.empty()) {
    return error(ErrorCode::InvalidArgument,
                 "kernel '{}' needs a source and at least one of `launches` to be run",
                 kernel.name);
  }
  if (kernel.source.starts_with(kBuiltin)) {
    *prepared = GPUEMU_TRY(from_builtin(kernel));
    prepared->entries = wanted;
  } else if (kernel.source.ends_with(".cubin") || kernel.source.ends_with(".fatbin")) {
    return error(ErrorCode::Unsupported,
                 "kernel '{}': {} holds machine code; give its .cu or .ptx instead", kernel.name,
                 kernel.source);
  } else {
    if (kernel.source.ends_with(".ptx")) GPUEMU_TRY(check_ptx(kernel));
    CompileRequest request{.path = kernel.source,
                           .source = {},
                           .arch = arch_,
                           .include_dirs = config_.include_dirs,
                           .flags = {},
                           .name_expressions = {},
                           .cache_folder = cache_folder_};
    for (const std::string& flag : config_.compile_flags) {
      request.flags.push_back(with_dtype(flag, dtype));
    }
    const std::vector<const KernelConfig*> sharing = sharing_source(config_, kernel, dtype);
    const std::vector<std::string> own = names_of({&kernel}, dtype);
    const std::vector<std::string> all = names_of(sharing, dtype);
    const bool apart = std::ranges::any_of(sharing, [&](const KernelConfig* other) {
      const auto known = made_.find({other->name, dtype});
      return known != made_.end() && was_made_apart(known->second, all);
    });
    CompiledModule compiled = GPUEMU_TRY(compile(request, own, apart ? own : all));
    prepared->name = kernel.source;
    prepared->ptx = std::move(compiled.ptx);
    for (const std::string& name : wanted) {
      const auto lowered = compiled.lowered.find(name);
      prepared->entries.push_back(lowered == compiled.lowered.end() ? name : lowered->second);
    }
  }
  const std::vector<EntryInfo> entries = GPUEMU_TRY(entries_of(*prepared));
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
  return made_.emplace(key, make(kernel, dtype)).first->second;
}

}  // namespace gpuemu
