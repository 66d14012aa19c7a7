// Compiling a kernel's source for a dtype and finding its entries.
#include "daemon/engine/kernel_store.h"

#include <algorithm>

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

}  // namespace

KernelStore::KernelStore(const Config& config, std::string cache_folder, std::string arch)
    : config_(config), cache_folder_(std::move(cache_folder)), arch_(std::move(arch)) {}

Result<std::shared_ptr<const PreparedKernel>> KernelStore::make(const KernelConfig& kernel,
                                                                DType dtype) const {
  std::vector<std::string> wanted;
  for (const LaunchSpec& launch : kernel.launches) {
    wanted.push_back(with_dtype(launch.entry, dtype));
  }
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
    CompileRequest request{.path = kernel.source,
                           .source = {},
                           .arch = arch_,
                           .include_dirs = config_.include_dirs,
                           .flags = {},
                           .name_expressions = wanted,
                           .cache_folder = cache_folder_};
    for (const std::string& flag : config_.compile_flags) {
      request.flags.push_back(with_dtype(flag, dtype));
    }
    if (kernel.source.ends_with(".ptx")) GPUEMU_TRY(check_ptx(kernel));
    CompiledModule compiled = GPUEMU_TRY(compile_source(request));
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
