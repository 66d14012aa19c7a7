#include "bindings/libcuda/modules.h"

#include <algorithm>
#include <cstring>

namespace gpuemu::libcuda {
namespace {

/// The shared memory that a block may use unless cuFuncSetAttribute raises the limit.
constexpr int kSharedBytes = 49152;

Function add_function(Process& driver, DeviceSlot& slot, const ModuleState& module, Module handle,
                      const EntryInfo& info) {
  auto made = std::make_shared<FunctionState>();
  made->module = handle;
  made->context = module.context;
  made->device = module.device;
  made->info = info;
  made->has_managed = !module.managed.empty();
  made->dynamic_shared_max = std::max(0, kSharedBytes - static_cast<int>(info.static_shared_bytes));
  const auto id = slot.streams->function(module.id, info.name);
  made->id = id.ok() ? *id : FunctionId{0};
  return driver.functions.add(std::move(made));
}

/// Makes managed variables known as memory that the host uses without a call.
int add_managed(Process& driver, const Place& place, ModuleState& module) {
  Device& device = *place.slot->device;
  const auto names = device.managed_variables(module.id);
  if (!names) return code_of(names.error());
  for (const std::string& name : *names) {
    const auto found = device.variable(module.id, name);
    if (!found) return code_of(found.error());
    if (found->bytes == 0) continue;
    Allocation made;
    made.address = found->address;
    made.bytes = found->bytes;
    made.kind = MemoryKind::Managed;
    made.context = place.context;
    made.device = place.device;
    made.is_variable = true;
    made.number = driver.allocations.next_number();
    made.name = name;
    driver.allocations.add(std::move(made));
    module.managed.push_back(found->address);
  }
  if (!module.managed.empty()) driver.races.follow_host();
  return CUDA_SUCCESS;
}

}  // namespace

void write_log(const Logs& logs, const std::string& text) {
  if (logs.error == nullptr || logs.error_bytes == 0) return;
  const size_t length = std::min(text.size(), logs.error_bytes - 1);
  std::memcpy(logs.error, text.data(), length);
  logs.error[length] = '\0';
}

Logs logs_of(unsigned count, const int* options, void* const* values) {
  Logs logs;
  for (unsigned i = 0; options != nullptr && values != nullptr && i < count; ++i) {
    if (options[i] == kJitErrorLog) logs.error = static_cast<char*>(values[i]);
    if (options[i] == kJitErrorLogBytes) logs.error_bytes = reinterpret_cast<uintptr_t>(values[i]);
  }
  return logs;
}

int load(Process& driver, const Image& image, const Logs& logs, Library library, Module* module) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Place place = current_place();
  if (place.code != CUDA_SUCCESS) return place.code;
  DeviceSlot& slot = *place.slot;
  std::string problem = image.problem;
  int code = image.code;
  if (code == CUDA_SUCCESS) code = check_target(image.ptx, slot.device->properties().sm, problem);
  if (code != CUDA_SUCCESS) {
    write_log(logs, problem);
    say_once(problem, problem);
    return code;
  }
  auto made = std::make_shared<ModuleState>();
  const auto loaded = slot.device->load_module(image.ptx, "ptx");
  if (!loaded) {
    write_log(logs, loaded.error().message);
    if (logs.error == nullptr) say_once(loaded.error().message, loaded.error().message);
    return code_of(loaded.error());
  }
  made->context = place.context;
  made->device = place.device;
  made->id = *loaded;
  made->library = library;
  made->code = driver.forms.keep(image.ptx);
  code = add_managed(driver, place, *made);
  if (code != CUDA_SUCCESS) {
    for (const uint64_t address : made->managed) {
      (void)driver.allocations.remove(address, call_site("cuModuleLoad"));
    }
    (void)slot.device->unload_module(made->id);
    return code;
  }
  *module = driver.modules.add(made);
  auto entries = slot.device->entries(made->id);
  if (!entries) return code_of(entries.error());
  for (const EntryInfo& info : *entries) {
    made->functions.push_back(add_function(driver, slot, *made, *module, info));
  }
  return CUDA_SUCCESS;
}

void unload(Process& driver, Module module) {
  const auto state = driver.modules.remove(module);
  if (state == nullptr) return;
  for (const Function one : state->functions) driver.functions.remove(one);
  DeviceSlot& slot = *driver.devices[static_cast<size_t>(state->device)];
  // Another thread can allocate the memory of a variable as soon as the module is gone, so the
  // variables are forgotten first, when no kernel uses them.
  std::vector<Allocations::Shared> variables;
  if (!state->managed.empty()) (void)code_of(slot.streams->synchronize_all());
  for (const uint64_t address : state->managed) {
    const auto variable = driver.allocations.remove(address, call_site("cuModuleUnload"));
    if (variable != nullptr) variables.push_back(variable);
  }
  (void)code_of(slot.device->unload_module(state->id));
  driver.races.host_waited_for_device(state->device);
  for (const auto& one : variables) driver.races.forget_memory(one->address, one->bytes);
}

Function function_named(Process& driver, const ModuleState& module, const std::string& name) {
  for (const Function one : module.functions) {
    const auto state = driver.functions.find(one);
    if (state != nullptr && state->info.name == name) return one;
  }
  return nullptr;
}

int module_of(Process& driver, Library library, Module* module) {
  const auto state = driver.libraries.find(library);
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const Place place = current_place();
  if (place.code != CUDA_SUCCESS) return place.code;
  const std::lock_guard lock(state->mutex);
  const auto known = state->loaded.find(place.context);
  if (known != state->loaded.end()) {
    *module = known->second;
    return CUDA_SUCCESS;
  }
  const int code = load(driver, {CUDA_SUCCESS, state->ptx, {}}, {}, library, module);
  if (code == CUDA_SUCCESS) state->loaded[place.context] = *module;
  return code;
}

Resolved resolve(Process& driver, Function function) {
  if (auto found = driver.functions.find(function)) return {CUDA_SUCCESS, std::move(found)};
  const auto kernel = driver.kernels.find(reinterpret_cast<Kernel>(function));
  if (kernel == nullptr) return {CUDA_ERROR_INVALID_HANDLE, nullptr};
  Module module = nullptr;
  const int code = module_of(driver, kernel->library, &module);
  if (code != CUDA_SUCCESS) return {code, nullptr};
  const auto state = driver.modules.find(module);
  const Function named = state == nullptr ? nullptr : function_named(driver, *state, kernel->name);
  auto found = driver.functions.find(named);
  if (found == nullptr) return {CUDA_ERROR_NOT_FOUND, nullptr};
  found->kernel = reinterpret_cast<Kernel>(function);
  return {CUDA_SUCCESS, std::move(found)};
}

bool function_attribute(const FunctionState& function, int attribute, int& value) {
  const EntryInfo& info = function.info;
  const uint32_t most = std::max(1u, info.max_block[0]) * std::max(1u, info.max_block[1]) *
                        std::max(1u, info.max_block[2]);
  const uint32_t required = info.required_block[0] * std::max(1u, info.required_block[1]) *
                            std::max(1u, info.required_block[2]);
  constexpr uint32_t kThreadsMax = 1024;
  const int sm = process()->devices[static_cast<size_t>(function.device)]->device->properties().sm;
  const int values[] = {static_cast<int>(required != 0            ? required
                                         : info.max_block[0] != 0 ? std::min(most, kThreadsMax)
                                                                  : kThreadsMax),
                        static_cast<int>(info.static_shared_bytes),
                        static_cast<int>(info.constant_bytes),
                        std::max(info.local_bytes, 0),
                        std::max(info.registers, 0),
                        sm,
                        sm,
                        0,
                        function.dynamic_shared_max,
                        function.carveout,
                        info.needs_cluster ? 1 : function.cluster_must_be_set.load(),
                        static_cast<int>(info.cluster[0]),
                        static_cast<int>(info.cluster[1]),
                        static_cast<int>(info.cluster[2]),
                        function.non_portable_cluster,
                        function.cluster_policy};
  if (attribute < 0 || static_cast<size_t>(attribute) >= std::size(values)) return false;
  value = values[attribute];
  return true;
}

int set_function_attribute(Process& driver, FunctionState& function, int attribute, int value) {
  constexpr int kDynamicShared = 8, kCarveout = 9, kClusterMustBeSet = 10, kNonPortable = 14,
                kClusterPolicy = 15, kCarveoutMax = 100;
  const DeviceProperties& device =
      driver.devices[static_cast<size_t>(function.device)]->device->properties();
  switch (attribute) {
    case kDynamicShared:
      if (value < 0 || static_cast<uint64_t>(value) + function.info.static_shared_bytes >
                           device.shared_bytes_per_block_max) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      function.dynamic_shared_max = value;
      return CUDA_SUCCESS;
    case kCarveout:
      if (value < -1 || value > kCarveoutMax) return CUDA_ERROR_INVALID_VALUE;
      function.carveout = value;
      return CUDA_SUCCESS;
    case kClusterMustBeSet:
      function.cluster_must_be_set = value;
      return CUDA_SUCCESS;
    case kNonPortable:
      function.non_portable_cluster = value;
      return CUDA_SUCCESS;
    case kClusterPolicy:
      function.cluster_policy = value;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace gpuemu::libcuda
