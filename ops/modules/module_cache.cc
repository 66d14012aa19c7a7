// Loads and compiles modules on first use.
#include "ops/modules/module_cache.h"

#include "common/base/blake2.h"
#include "runtime/compile/compile.h"
#include "runtime/device/launch_check.h"

namespace gpuemu {

Result<std::unique_ptr<ModuleCache>> ModuleCache::create(Device& device, std::string folder) {
  Streams* streams = GPUEMU_TRY(device.streams());
  return std::unique_ptr<ModuleCache>(new ModuleCache(device, *streams, std::move(folder)));
}

ModuleCache::~ModuleCache() {
  // A lost device cannot unload, and its process ends soon.
  for (const auto& [hash, module] : modules_) (void)device_.unload_module(module.id).ok();
}

Result<ModuleCache::Loaded*> ModuleCache::load(const std::string& ptx, const std::string& name) {
  std::string hash = content_hash({ptx});
  const auto known = modules_.find(hash);
  if (known != modules_.end()) return &known->second;
  const ModuleId id = GPUEMU_TRY(device_.load_module(ptx, name));
  ++counts_.modules;
  return &modules_.emplace(hash, Loaded{id, hash, {}}).first->second;
}

Result<const LoadedEntry*> ModuleCache::find(Loaded& module, const std::string& entry) {
  const auto known = module.entries.find(entry);
  if (known != module.entries.end()) {
    ++counts_.hits;
    return known->second.get();
  }
  const std::vector<EntryInfo> entries = GPUEMU_TRY(device_.entries(module.id));
  auto loaded = std::make_unique<LoadedEntry>();
  loaded->info = GPUEMU_TRY(find_entry(entries, entry));
  loaded->function = GPUEMU_TRY(streams_.function(module.id, entry));
  loaded->module = module.id;
  loaded->module_hash = module.hash;
  return module.entries.emplace(entry, std::move(loaded)).first->second.get();
}

Result<const LoadedEntry*> ModuleCache::entry(const std::string& ptx, const std::string& name,
                                              const std::string& entry) {
  const std::lock_guard lock(mutex_);
  Loaded* module = GPUEMU_TRY(load(ptx, name));
  return find(*module, entry);
}

Result<const LoadedEntry*> ModuleCache::instance(const ModuleSource& source,
                                                 const std::string& expression) {
  std::string settings;
  for (const auto* list : {&source.include_dirs, &source.flags}) {
    for (const std::string& word : *list) settings += word + '\0';
    settings += '\1';
  }
  const std::string key = content_hash({source.text, "\n", settings, expression});
  const std::lock_guard lock(mutex_);
  const auto known = instances_.find(key);
  if (known != instances_.end()) {
    ++counts_.hits;
    return known->second;
  }
  const auto made = compile_source({.path = source.name,
                                    .source = source.text,
                                    .arch = fmt::format("sm_{}", device_.properties().sm),
                                    .include_dirs = source.include_dirs,
                                    .flags = source.flags,
                                    .name_expressions = {expression},
                                    .cache_folder = folder_});
  if (!made) {
    Error failure = made.error();
    // Unavailable would mean a lost device; here the compiler is missing.
    if (failure.code == ErrorCode::Unavailable) failure.code = ErrorCode::Unsupported;
    return failure;
  }
  const CompiledModule& compiled = *made;
  ++counts_.compiled;
  Loaded* module = GPUEMU_TRY(load(compiled.ptx, source.name));
  const LoadedEntry* loaded = GPUEMU_TRY(find(*module, compiled.lowered.at(expression)));
  instances_.emplace(key, loaded);
  return loaded;
}

ModuleCache::Counts ModuleCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace gpuemu
