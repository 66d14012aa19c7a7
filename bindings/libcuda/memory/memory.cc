#include "bindings/libcuda/memory/memory.h"

#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bindings/libcuda/memory/ranges.h"
#include "bindings/libcuda/memory/reach.h"
#include "common/base/text.h"

namespace gpuemu::libcuda {
namespace {

uint64_t pages_of(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return (std::max<uint64_t>(bytes, 1) + page - 1) / page * page;
}

const char* word_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Device:
    case MemoryKind::FromPool:
    case MemoryKind::OfGraph:
      return "allocation";
    case MemoryKind::Array:
      return "array";
    case MemoryKind::Virtual:
      return "virtual memory";
    case MemoryKind::Pinned:
      return "pinned memory";
    case MemoryKind::Registered:
      return "registered memory";
    case MemoryKind::Managed:
      return "managed memory";
  }
  return "";
}

Allocation describe(Process& driver, const Place& place, MemoryKind kind,
                    std::shared_ptr<const CallSite> site) {
  Allocation made;
  made.kind = kind;
  made.context = place.context;
  made.device = place.device;
  made.number = driver.allocations.next_number();
  made.name = fmt::format("{} {}", word_of(kind), made.number);
  made.made = std::move(site);
  return made;
}

/// Reserves the range: nobody can access it, and the system does not allocate it.
void no_pages_at(uint64_t address, uint64_t bytes) {
  void* const kept = mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (kept == MAP_FAILED) (void)mprotect(reinterpret_cast<void*>(address), bytes, PROT_NONE);
}

void give_back(Process& driver, const Allocation& one) {
  DeviceSlot& slot = *driver.devices[static_cast<size_t>(one.device)];
  const bool is_adopted = one.kind == MemoryKind::Virtual || one.kind == MemoryKind::OfGraph;
  if (!is_host(one.kind) && !is_adopted) {
    (void)code_of(slot.device->free(one.address));
    if (one.pool_state != nullptr) one.pool_state->used -= one.bytes;
    // A free in stream order does not make the host wait, although the emulator waits.
    if (one.kind != MemoryKind::FromPool) driver.races.host_waited_for_device(one.device);
    driver.races.forget_memory(one.address, one.bytes);
    return;
  }
  if (is_host(one.kind)) {
    release_everywhere(driver, one);
    if (one.pool_state != nullptr) one.pool_state->used -= one.bytes;
  } else {
    (void)code_of(slot.streams->release_memory(one.address, one.bytes));
  }
  if (one.kind != MemoryKind::OfGraph) driver.races.host_waited_for_device(one.device);
  driver.races.forget_memory(one.address, one.bytes);
  if (one.kind == MemoryKind::OfGraph) {
    slot.graph_bytes -= one.bytes;
    return no_pages_at(one.address, pages_of(one.bytes));
  }
  if (one.kind == MemoryKind::Registered || one.kind == MemoryKind::Virtual) return;
  // The addresses are not reused for a while, so that an access after the free is found.
  const uint64_t bytes = pages_of(one.bytes);
  no_pages_at(one.address, bytes);
  driver.allocations.keep_pages(one.address, bytes);
}

/// Marks the allocation that starts there as freed and closes it for peers. Returns nullptr if none
/// starts there.
Allocations::Shared take_away(Process& driver, uint64_t address,
                              std::shared_ptr<const CallSite> freed) {
  const auto lock = lock_reach(driver);
  const auto gone = driver.allocations.remove(address, std::move(freed));
  if (gone != nullptr) end_ranges_of(driver, *gone);
  if (gone != nullptr && !is_host(gone->kind)) release_everywhere(driver, *gone);
  return gone;
}

}  // namespace

int allocate_memory(const Place& place, uint64_t bytes, MemoryKind kind, const char* call,
                    Address* address, Pool pool) {
  if (place.code != CUDA_SUCCESS) return place.code;
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Process& driver = *process();
  if (kind != MemoryKind::FromPool) {
    if (const int code = refuse_unsafe(driver); code != CUDA_SUCCESS) return code;
  }
  Allocation made = describe(driver, place, kind, call_site(call));
  made.pool = pool;
  made.pool_state = driver.pools.find(pool);
  const auto at = place.slot->device->allocate(bytes, made.name);
  if (!at) return code_of(at.error());
  made.address = *at;
  made.bytes = bytes;
  *address = made.address;
  if (made.pool_state != nullptr) made.pool_state->took(bytes);
  const auto lock = lock_reach(driver);
  share_with_peers(driver, made);
  driver.allocations.add(std::move(made));
  return CUDA_SUCCESS;
}

int allocate_host(const Place& place, uint64_t bytes, MemoryKind kind, unsigned flags,
                  const char* call, void** memory, Pool pool) {
  if (place.code != CUDA_SUCCESS) return place.code;
  if (memory == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Process& driver = *process();
  if (pool == nullptr) {
    if (const int code = refuse_unsafe(driver); code != CUDA_SUCCESS) return code;
  }
  void* const at =
      mmap(nullptr, pages_of(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation made = describe(driver, place, kind, call_site(call));
  made.address = reinterpret_cast<uint64_t>(at);
  made.bytes = bytes;
  made.flags = flags;
  made.pool = pool;
  made.pool_state = driver.pools.find(pool);
  const Status adopted = adopt_everywhere(driver, made.address, bytes, made.name);
  if (!adopted) {
    munmap(at, pages_of(bytes));
    return code_of(adopted);
  }
  *memory = at;
  if (made.pool_state != nullptr) made.pool_state->took(bytes);
  driver.allocations.add(std::move(made));
  driver.races.follow_host();
  return CUDA_SUCCESS;
}

int adopt_virtual(const Place& place, uint64_t address, uint64_t bytes, const char* call) {
  return adopt_memory(place, MemoryKind::Virtual, address, bytes, call_site(call));
}

int adopt_memory(const Place& place, MemoryKind kind, uint64_t address, uint64_t bytes,
                 std::shared_ptr<const CallSite> site) {
  Process& driver = *process();
  Allocation made = describe(driver, place, kind, std::move(site));
  made.address = address;
  made.bytes = bytes;
  const Status adopted = place.slot->streams->adopt_memory(address, bytes, made.name);
  if (!adopted) return code_of(adopted);
  driver.allocations.add(std::move(made));
  return CUDA_SUCCESS;
}

FreedBy freed_by(const Allocation& one) {
  const MemoryKind kind = one.kind;
  if (one.pool_state != nullptr) return FreedBy::Free;
  if (kind == MemoryKind::Registered) return FreedBy::Unregister;
  if (kind == MemoryKind::Virtual) return FreedBy::Unmap;
  return kind == MemoryKind::Pinned ? FreedBy::FreeHost : FreedBy::Free;
}

namespace {

/// Returns the function that frees the memory, in the interface that the program uses.
const char* freeing_call(FreedBy by, const char* call) {
  const bool is_runtime = std::string_view(call).starts_with("cuda");
  switch (by) {
    case FreedBy::FreeHost:
      return is_runtime ? "cudaFreeHost" : "cuMemFreeHost";
    case FreedBy::Unregister:
      return is_runtime ? "cudaHostUnregister" : "cuMemHostUnregister";
    case FreedBy::Unmap:
      return "cuMemUnmap";
    case FreedBy::Free:
      break;
  }
  return is_runtime ? "cudaFree" : "cuMemFree";
}

}  // namespace

int free_memory(Process& driver, uint64_t address, FreedBy by, const char* call) {
  // Freeing null is no error, as with free().
  if (address == 0 && by == FreedBy::Free) return CUDA_SUCCESS;
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const auto wrong = driver.allocations.at(address);
      wrong != nullptr && (wrong->is_variable || freed_by(*wrong) != by)) {
    const char* const name = called(call);
    driver.recorder.host_finding(
        kRunInvalidFree,
        wrong->is_variable
            ? fmt::format("{} of {:#x}, which is the variable '{}': nothing frees it", name,
                          address, wrong->name)
            : fmt::format("{} of {:#x}, which is '{}': only {} frees it", name, address,
                          wrong->name, freeing_call(freed_by(*wrong), name)),
        call, wrong.get(), 0);
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto freed = driver.allocations.freed_holding(address);
  const auto site = call_site(call);
  const auto gone = take_away(driver, address, site);
  if (gone != nullptr) {
    give_back(driver, *gone);
    return take_fault(*driver.devices[static_cast<size_t>(gone->device)], std::nullopt);
  }
  const auto inside = driver.allocations.holding(address);
  const Allocation* const what = freed != nullptr ? freed.get() : inside.get();
  std::string message =
      fmt::format("{} of {:#x}, which is not in any allocation", called(call), address);
  if (what != nullptr) {
    message = fmt::format("{} of {:#x}, which {}", called(call), address,
                          freed != nullptr && freed->address == address
                              ? fmt::format("is freed already: '{}'", what->name)
                              : fmt::format("lies in the middle of '{}'", what->name));
  }
  const auto offset = what == nullptr ? int64_t{0} : static_cast<int64_t>(address - what->address);
  driver.recorder.host_finding(kRunInvalidFree, message, call, what, offset);
  return CUDA_ERROR_INVALID_VALUE;
}

void release_memory(Process& driver, uint64_t address, const char* call) {
  const auto gone = take_away(driver, address, call_site(call));
  if (gone != nullptr) give_back(driver, *gone);
}

namespace {

/// Records that the call accesses freed memory.
void tell_freed(Process& driver, const Allocation& freed, uint64_t address, uint64_t bytes,
                const char* call) {
  const uint64_t offset = address - freed.address;
  driver.recorder.host_finding(
      kRunUseAfterFree,
      fmt::format("{} of {} at byte offset {} of '{}', which was freed", called(call),
                  counted(bytes, "byte"), offset, freed.name),
      call, &freed, static_cast<int64_t>(offset));
}

}  // namespace

bool check_host_range(Process& driver, uint64_t address, uint64_t bytes, const char* call) {
  if (bytes == 0 || !driver.allocations.keeps_pages()) return true;
  const auto freed = driver.allocations.freed_holding(address);
  if (freed == nullptr || !driver.allocations.keeps_page(address)) return true;
  tell_freed(driver, *freed, address, bytes, call);
  return false;
}

bool check_device_range(Process& driver, uint64_t address, uint64_t bytes, const char* call) {
  if (bytes == 0) return true;
  if (const auto inside = driver.allocations.holding(address)) {
    const uint64_t offset = address - inside->address;
    if (bytes <= inside->bytes - offset) return true;
    driver.recorder.host_finding(
        "OutOfBounds",
        fmt::format("{} of {} at byte offset {} of '{}', which has {}", called(call),
                    counted(bytes, "byte"), offset, inside->name, counted(inside->bytes, "byte")),
        call, inside.get(), static_cast<int64_t>(offset));
    return false;
  }
  if (const auto freed = driver.allocations.freed_holding(address)) {
    tell_freed(driver, *freed, address, bytes, call);
    return false;
  }
  return true;
}

}  // namespace gpuemu::libcuda
