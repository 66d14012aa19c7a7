#include "bindings/libcuda/calls/contexts.h"

#include <algorithm>

#include "bindings/libcuda/memory/memory.h"
#include "bindings/libcuda/memory/reach.h"
#include "bindings/libcuda/modules.h"

namespace gpuemu::libcuda {
namespace {

/// The initial value of each CU_LIMIT_*.
constexpr std::array<size_t, kLimits> kFirstLimits = {1024, 1 << 20, 8 << 20, 2, 2048,
                                                      64,   0,       0,       0, 0};

/// Ends the peer access that a destroyed context had enabled.
void close_peers(Process& driver, ContextState& state) {
  const std::lock_guard lock(state.peers_mutex);
  for (const auto& [peer, device] : state.peers) {
    if (device != state.device) close_peer(driver, state.device, device);
  }
  state.peers.clear();
}

}  // namespace

bool are_context_flags(unsigned flags) {
  constexpr unsigned kAll = 0xff, kSchedules = 7;
  const unsigned schedule = flags & kSchedules;
  return (flags & ~kAll) == 0 && (schedule & (schedule - 1)) == 0;
}

Context make_context(Process& driver, int device, unsigned flags, bool is_primary) {
  auto made = std::make_shared<ContextState>();
  made->device = device;
  made->flags = flags;
  made->id = driver.next_context_id.fetch_add(1);
  made->is_primary = is_primary;
  for (size_t i = 0; i < kLimits; ++i) made->limits[i] = kFirstLimits[i];
  return driver.contexts.add(std::move(made));
}

void destroy_context(Process& driver, Context context) {
  const auto state = driver.contexts.remove(context);
  if (state == nullptr) return;
  DeviceSlot& slot = *driver.devices[static_cast<size_t>(state->device)];
  (void)code_of(slot.streams->synchronize_all());
  driver.races.host_waited_for_device(state->device);
  take_fault(slot, std::nullopt);
  close_peers(driver, *state);
  const auto belongs = [&](const auto& one) { return one.context == context; };
  for (const Module one : driver.modules.which(belongs)) unload(driver, one);
  for (const Event one : driver.events.which(belongs)) {
    (void)code_of(slot.streams->free_event(driver.events.remove(one)->id));
  }
  for (const Stream one : driver.streams.which(belongs)) {
    (void)code_of(slot.streams->free_stream(driver.streams.remove(one)->id));
  }
  for (const Allocations::Shared& one : driver.allocations.all()) {
    const bool stays = one->kind == MemoryKind::FromPool || one->kind == MemoryKind::Virtual ||
                       one->kind == MemoryKind::OfGraph || one->is_variable;
    if (one->context == context && !stays) {
      release_memory(driver, one->address, "cuCtxDestroy");
    }
  }
}

}  // namespace gpuemu::libcuda
