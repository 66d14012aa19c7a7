#include "bindings/libcuda/memory/reach.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

/// Bytes copied between two devices at a time.
constexpr uint64_t kPieceBytes = uint64_t{16} << 20;

Device& device_at(Process& driver, int number) {
  return *driver.devices[static_cast<size_t>(number)]->device;
}

bool is_of_peer(const Allocation& one, int peer) {
  return one.device == peer && (one.kind == MemoryKind::Device || one.kind == MemoryKind::FromPool);
}

uint32_t bit_of(int device) { return uint32_t{1} << device; }

/// Returns true if the kernels of a device may use the memory of another one.
bool may_use(Process& driver, int device, const Allocation& one) {
  if (device == one.device || !is_of_peer(one, one.device)) return false;
  const DeviceSlot& slot = *driver.devices[static_cast<size_t>(device)];
  if (slot.peers.contains(one.device)) return true;
  return one.pool_state != nullptr && (one.pool_state->peers & bit_of(device)) != 0;
}

/// Waits for the stream, and returns the fault of an earlier kernel.
int wait_for_stream(Process& driver, const Place& place) {
  const Status waited = place.slot->streams->synchronize(place.stream);
  if (!waited && waited.error().code != ErrorCode::Launch) return code_of(waited);
  driver.races.host_waited_for(line_of(place));
  return take_fault(*place.slot, place.stream);
}

/// Lets the kernels of the slot use the allocation. They may write it, which the allocation's
/// device does not see, so from now on all of its bytes count as defined.
Status adopt_of_peer(Process& driver, const DeviceSlot& slot, const Allocation& one) {
  if (driver.settings.checks.has(DeviceCheck::Init)) {
    say_once("memory of peers",
             "kernels of several devices may use the same memory (peer access): UninitializedRead "
             "does not look at that memory");
  }
  GPUEMU_TRY(slot.streams->adopt_memory(one.address, one.bytes, one.name));
  const std::span<const std::byte> itself(bytes_at(one.address), one.bytes);
  return device_at(driver, one.device).upload(one.address, itself);
}

}  // namespace

int device_of(Process& driver, const Place& place, const End& end) {
  if (end.of_host || driver.devices.size() == 1) return place.device;
  if (const auto known = driver.allocations.holding(end.address)) {
    return is_host(known->kind) && !known->is_variable ? place.device : known->device;
  }
  // It may be a variable of a module.
  if (place.slot->device->download({}, end.address)) return place.device;
  for (size_t i = 0; i < driver.devices.size(); ++i) {
    if (driver.devices[i]->device->download({}, end.address)) return static_cast<int>(i);
  }
  return place.device;
}

int copy_across(Process& driver, const Place& place, End to, End from, uint64_t bytes,
                const Transfer& transfer) {
  if (place.is_of_graph) return unsupported_call("a copy between devices in a graph");
  if (const int code = wait_for_stream(driver, place); code != CUDA_SUCCESS) return code;
  const int target = device_of(driver, place, to), source = device_of(driver, place, from);
  if (from.of_host) {
    return code_of(device_at(driver, target).upload(to.address, {bytes_at(from.address), bytes}));
  }
  if (to.of_host) {
    const Status done =
        device_at(driver, source).download({bytes_at(to.address), bytes}, from.address);
    Place owner = place;
    owner.device = source;
    owner.slot = driver.devices[static_cast<size_t>(source)].get();
    if (done) host_gets(driver, owner, from.address, bytes, transfer.call);
    return code_of(done);
  }
  std::vector<std::byte> between(std::min(bytes, kPieceBytes));
  for (uint64_t at = 0; at < bytes; at += kPieceBytes) {
    const std::span piece(between.data(), std::min(bytes - at, kPieceBytes));
    Status done = device_at(driver, source).download(piece, from.address + at);
    if (done) done = device_at(driver, target).upload(to.address + at, piece);
    if (!done) return code_of(done);
  }
  return CUDA_SUCCESS;
}

int fill_across(Process& driver, const Place& place, int device, uint64_t address, unsigned value,
                unsigned bytes, uint64_t count) {
  if (place.is_of_graph) return unsupported_call("a memset of another device in a graph");
  if (const int code = wait_for_stream(driver, place); code != CUDA_SUCCESS) return code;
  if (bytes == 1) {
    return code_of(device_at(driver, device).fill(address, static_cast<std::byte>(value), count));
  }
  std::vector<std::byte> pattern(count * bytes);
  for (uint64_t i = 0; i < count; ++i) std::memcpy(&pattern[i * bytes], &value, bytes);
  return code_of(device_at(driver, device).upload(address, pattern));
}

std::unique_lock<std::mutex> lock_reach(Process& driver) {
  if (driver.devices.size() == 1) return {};
  return std::unique_lock(driver.reach);
}

Status adopt_everywhere(Process& driver, uint64_t address, uint64_t bytes,
                        const std::string& name) {
  for (size_t i = 0; i < driver.devices.size(); ++i) {
    const Status adopted = driver.devices[i]->streams->adopt_memory(address, bytes, name);
    if (adopted) continue;
    while (i-- > 0) (void)code_of(driver.devices[i]->streams->release_memory(address, bytes));
    return adopted;
  }
  return ok_status();
}

void release_everywhere(Process& driver, const Allocation& one) {
  for (size_t i = 0; i < driver.devices.size(); ++i) {
    if (!is_host(one.kind) && !may_use(driver, static_cast<int>(i), one)) continue;
    (void)code_of(driver.devices[i]->streams->release_memory(one.address, one.bytes));
  }
}

namespace {

/// Closes the allocations for which `concerns` returns true and that the device cannot access
/// otherwise.
template <typename Concerns>
void release_all(Process& driver, int device, const Concerns& concerns) {
  Streams& streams = *driver.devices[static_cast<size_t>(device)]->streams;
  for (const Allocations::Shared& one : driver.allocations.all()) {
    if (!concerns(*one) || may_use(driver, device, *one)) continue;
    (void)code_of(streams.release_memory(one->address, one->bytes));
  }
}

/// Opens all such allocations, or none and returns an error.
template <typename Concerns>
int adopt_all(Process& driver, int device, const Concerns& concerns) {
  for (const Allocations::Shared& one : driver.allocations.all()) {
    if (!concerns(*one) || may_use(driver, device, *one)) continue;
    const Status adopted =
        adopt_of_peer(driver, *driver.devices[static_cast<size_t>(device)], *one);
    if (adopted) continue;
    release_all(driver, device, concerns);
    return code_of(adopted);
  }
  return CUDA_SUCCESS;
}

}  // namespace

int open_peer(Process& driver, int device, int peer) {
  const auto lock = lock_reach(driver);
  std::multiset<int>& peers = driver.devices[static_cast<size_t>(device)]->peers;
  if (!peers.contains(peer)) {
    const int code =
        adopt_all(driver, device, [&](const Allocation& one) { return is_of_peer(one, peer); });
    if (code != CUDA_SUCCESS) return code;
  }
  peers.insert(peer);
  return CUDA_SUCCESS;
}

void close_peer(Process& driver, int device, int peer) {
  const auto lock = lock_reach(driver);
  std::multiset<int>& peers = driver.devices[static_cast<size_t>(device)]->peers;
  const auto one_of_them = peers.find(peer);
  if (one_of_them == peers.end()) return;
  peers.erase(one_of_them);
  if (peers.contains(peer)) return;  // Another context still uses it.
  release_all(driver, device, [&](const Allocation& one) { return is_of_peer(one, peer); });
}

int open_pool(Process& driver, Pool pool, PoolState& state, int device) {
  const auto lock = lock_reach(driver);
  if ((state.peers & bit_of(device)) != 0) return CUDA_SUCCESS;
  const int code =
      adopt_all(driver, device, [&](const Allocation& one) { return one.pool == pool; });
  if (code == CUDA_SUCCESS) state.peers |= bit_of(device);
  return code;
}

void close_pool(Process& driver, Pool pool, PoolState& state, int device) {
  const auto lock = lock_reach(driver);
  if ((state.peers.fetch_and(~bit_of(device)) & bit_of(device)) == 0) return;
  release_all(driver, device, [&](const Allocation& one) { return one.pool == pool; });
}

void share_with_peers(Process& driver, const Allocation& made) {
  for (size_t i = 0; i < driver.devices.size(); ++i) {
    if (!may_use(driver, static_cast<int>(i), made)) continue;
    (void)code_of(adopt_of_peer(driver, *driver.devices[i], made));
  }
}

}  // namespace gpuemu::libcuda
