#include "runtime/emulator/ptxas_registers.h"

namespace gpuemu::emulator {

void Registers::add(ModuleId module, const std::string& ptx) {
  if (!counter_) return;
  const std::lock_guard lock(mutex_);
  modules_[module] = {ptx, std::nullopt};
}

void Registers::forget(ModuleId module) {
  const std::lock_guard lock(mutex_);
  modules_.erase(module);
}

Status Registers::check(ModuleId module, const EntryInfo& entry, const LaunchShape& shape,
                        const DeviceProperties& properties) {
  if (!counter_ || !may_lack_registers(entry, shape, properties)) return ok_status();
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(module);
  if (found == modules_.end()) return ok_status();
  auto& [ptx, counts] = found->second;
  if (!counts) counts = counter_(ptx, sm_);
  const auto count = counts->find(entry.name);
  if (count == counts->end()) return ok_status();
  return check_registers(entry.name, count->second, shape, properties);
}

}  // namespace gpuemu::emulator
