#include "daemon/schedule/extra_slots.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/ranges.h>

#include "daemon/schedule/slot_pool_options.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {

ExtraSlots::ExtraSlots(const SlotPoolOptions& own, std::vector<std::string> backends)
    : own_(std::make_unique<const SlotPoolOptions>(own)), backends_(std::move(backends)) {}

ExtraSlots::~ExtraSlots() = default;

const std::string& ExtraSlots::own_backend() const { return own_->worker.backend; }

std::string ExtraSlots::other_backend() const {
  for (const DeviceTraits& one : computing_backends()) {
    const bool there = std::ranges::find(backends_, one.backend) != backends_.end();
    if (there && own_backend() != one.backend) return std::string(one.backend);
  }
  return "";
}

Result<SlotPool*> ExtraSlots::get(const SlotVariant& variant) {
  if (std::ranges::find(backends_, variant.backend) == backends_.end()) {
    return error(ErrorCode::Unavailable, "no device of backend '{}' on this machine; there are: {}",
                 variant.backend, fmt::join(backends_, ", "));
  }
  const std::lock_guard lock(mutex_);
  if (ended_) return error(ErrorCode::Unavailable, "the daemon is shutting down");
  std::unique_ptr<SlotPool>& pool = pools_[variant];
  if (pool != nullptr) return pool.get();
  SlotPoolOptions options = *own_;
  options.worker.backend = variant.backend;
  if (!variant.contraction.empty()) options.worker.contraction = variant.contraction;
  options.worker.contraction_seed = variant.contraction_seed;
  // A case that needs a second opinion keeps its own lane meanwhile.
  if (variant.within_case || variant.backend != own_backend()) options.gate = nullptr;
  // Cases on a GPU are few and run one after the other; the emulator may use every core.
  options.devices = 1;
  options.slots_per_worker = 1;
  options.places_per_slot = 1;
  options.count =
      device_traits(variant.backend).is_gpu ? 1 : std::max(1U, std::thread::hardware_concurrency());
  pool = GPUEMU_TRY(SlotPool::create(options));
  return pool.get();
}

std::vector<const SlotPool*> ExtraSlots::pools() const {
  const std::lock_guard lock(mutex_);
  std::vector<const SlotPool*> made;
  for (const auto& [variant, pool] : pools_) {
    if (pool != nullptr) made.push_back(pool.get());
  }
  return made;
}

void ExtraSlots::shutdown() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  for (const auto& [variant, pool] : pools_) {
    if (pool != nullptr) pool->shutdown();
  }
}

}  // namespace gpuemu
