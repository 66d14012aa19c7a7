// Implements virtual memory: reserved address ranges, and memory mapped into them.
//
// Memory is an unnamed file, so that it can be mapped at several addresses. Adjacent accessible
// memory is one allocation, even if it consists of several mappings.
#include <algorithm>
#include <map>

#include <sys/mman.h>
#include <unistd.h>

#include "bindings/libcuda/memory/memory.h"
#include "bindings/libcuda/memory/transfer.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

constexpr uint64_t kGranularity = uint64_t{2} << 20;
constexpr int kDeviceLocation = 1;
constexpr int kNoAccess = 0, kReadWrite = 3;

struct Physical {
  explicit Physical(int memory_file) : file(memory_file) {}
  ~Physical() { close(file); }
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  const int file;
  uint64_t handle = 0, bytes = 0;
  AllocationProperties properties{};
  unsigned users = 1;  ///< Handles that the program has not released.
};

struct Mapping {
  uint64_t bytes = 0;
  std::shared_ptr<Physical> memory;
  bool is_accessible = false;
};

struct Reservation {
  uint64_t bytes = 0;
  Context context = nullptr;
  std::map<uint64_t, Mapping> mappings;  ///< By address.
  std::map<uint64_t, uint64_t> pieces;   ///< Current allocations: bytes by address.
};

/// The virtual memory of the process.
struct VirtualMemory {
  std::mutex mutex;  ///< Guards the members below.
  std::map<uint64_t, Reservation> reservations;
  std::map<uint64_t, std::shared_ptr<Physical>> memory;  ///< By handle.
};
VirtualMemory& virtual_memory() {
  static auto* const kAll = new VirtualMemory;
  return *kAll;
}

/// Runs the body of a driver function that concerns virtual memory.
template <typename Work>
int with_memory(const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const std::lock_guard lock(virtual_memory().mutex);
    return work(driver, virtual_memory());
  });
}

/// Finds the reservation that contains the range; null if there is none.
std::pair<const uint64_t, Reservation>* find_reservation(VirtualMemory& all, uint64_t address,
                                                         uint64_t bytes) {
  auto next = all.reservations.upper_bound(address);
  if (next == all.reservations.begin()) return nullptr;
  auto& found = *std::prev(next);
  const uint64_t offset = address - found.first;
  return offset < found.second.bytes && bytes <= found.second.bytes - offset ? &found : nullptr;
}

/// Returns the mappings of the range; empty if it does not consist of whole mappings.
std::vector<std::pair<const uint64_t, Mapping>*> mappings_of(Reservation& reservation,
                                                             uint64_t address, uint64_t bytes) {
  std::vector<std::pair<const uint64_t, Mapping>*> found;
  uint64_t at = address;
  while (at < address + bytes) {
    const auto one = reservation.mappings.find(at);
    if (one == reservation.mappings.end()) return {};
    found.push_back(&*one);
    at += one->second.bytes;
  }
  if (at != address + bytes) found.clear();
  return found;
}

int check_properties(Process& driver, const AllocationProperties* properties) {
  constexpr int kPinned = 1, kFileDescriptor = 1;
  if (properties == nullptr || properties->type != kPinned) return CUDA_ERROR_INVALID_VALUE;
  // Memory with an exportable handle is ordinary memory; only the export is rejected.
  if ((properties->handle_types & ~kFileDescriptor) != 0) {
    return unsupported_call("cuMemCreate with handles other than file descriptors");
  }
  if (properties->location.type != kDeviceLocation) {
    return unsupported_call("cuMemCreate of memory of the host");
  }
  return driver.device(properties->location.id) == nullptr ? CUDA_ERROR_INVALID_DEVICE
                                                           : CUDA_SUCCESS;
}

/// Returns the accessible pieces of the reservation, each as large as possible.
std::map<uint64_t, uint64_t> accessible_pieces(const Reservation& reservation) {
  std::map<uint64_t, uint64_t> pieces;
  for (const auto& [address, mapping] : reservation.mappings) {
    if (!mapping.is_accessible) continue;
    const auto last = pieces.empty() ? pieces.end() : std::prev(pieces.end());
    if (last != pieces.end() && last->first + last->second == address) {
      last->second += mapping.bytes;
    } else {
      pieces[address] = mapping.bytes;
    }
  }
  return pieces;
}

/// Updates the allocations to what is accessible now.
int renew_pieces(Process& driver, Reservation& reservation, const char* call) {
  const auto pieces = accessible_pieces(reservation);
  const auto is_in = [](const auto& all, const auto& piece) {
    const auto found = all.find(piece.first);
    return found != all.end() && found->second == piece.second;
  };
  for (const auto& piece : reservation.pieces) {
    if (!is_in(pieces, piece)) release_memory(driver, piece.first, call);
  }
  const auto before = std::exchange(reservation.pieces, pieces);
  for (const auto& piece : pieces) {
    if (is_in(before, piece)) continue;
    const Mapping& first = reservation.mappings.at(piece.first);
    Place place;
    place.context = reservation.context;
    place.device = first.memory->properties.location.id;
    place.slot = driver.device(place.device);
    if (const int code = adopt_virtual(place, piece.first, piece.second, call); code != 0) {
      return code;
    }
  }
  return CUDA_SUCCESS;
}

int protect(uint64_t address, uint64_t bytes, int access) {
  const int protection = access == kReadWrite ? PROT_READ | PROT_WRITE : PROT_NONE;
  return mprotect(reinterpret_cast<void*>(address), bytes, protection) == 0 ? CUDA_SUCCESS
                                                                            : CUDA_ERROR_UNKNOWN;
}

}  // namespace

// NOLINTBEGIN(google-runtime-int): types are those of the driver's interface.
GPUEMU_DRIVER_API int cuMemGetAllocationGranularity(size_t* bytes,
                                                    const AllocationProperties* properties, int) {
  return with_memory([&](Process& driver, VirtualMemory&) -> int {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const int code = check_properties(driver, properties);
    if (code == CUDA_SUCCESS) *bytes = kGranularity;
    return code;
  });
}

GPUEMU_DRIVER_API int cuMemAddressReserve(Address* address, size_t bytes, size_t alignment, Address,
                                          unsigned long long flags) {
  return with_memory([&](Process&, VirtualMemory& all) -> int {
    constexpr uint64_t kBytesMax = uint64_t{1} << 46;
    const bool is_aligned = (alignment & (alignment - 1)) == 0 && alignment <= kBytesMax;
    if (address == nullptr || bytes == 0 || bytes % kGranularity != 0 || !is_aligned ||
        flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes > kBytesMax) return CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t aligned = std::max<uint64_t>(alignment, kGranularity);
    void* const room = mmap(nullptr, bytes + aligned, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    const auto begin = reinterpret_cast<uint64_t>(room);
    const uint64_t at = (begin + aligned - 1) / aligned * aligned;
    if (at > begin) munmap(room, at - begin);
    munmap(reinterpret_cast<void*>(at + bytes), begin + aligned - at);
    Reservation made;
    made.bytes = bytes;
    made.context = current_context();
    all.reservations[at] = std::move(made);
    *address = at;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemAddressFree(Address address, size_t bytes) {
  return with_memory([&](Process&, VirtualMemory& all) -> int {
    const auto found = all.reservations.find(address);
    if (found == all.reservations.end() || found->second.bytes != bytes ||
        !found->second.mappings.empty()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    munmap(reinterpret_cast<void*>(address), bytes);
    all.reservations.erase(found);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemCreate(uint64_t* handle, size_t bytes,
                                  const AllocationProperties* properties,
                                  unsigned long long flags) {
  return with_memory([&](Process& driver, VirtualMemory& all) -> int {
    if (handle == nullptr || bytes == 0 || bytes % kGranularity != 0 || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (const int code = check_properties(driver, properties); code != CUDA_SUCCESS) return code;
    const int device = properties->location.id;
    uint64_t used = 0;
    for (const auto& [number, one] : all.memory) {
      if (one->properties.location.id == device) used += one->bytes;
    }
    const auto memory = driver.device(device)->device->memory();
    if (!memory) return code_of(memory.error());
    if (used > memory->free_bytes || bytes > memory->free_bytes - used) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const int file = memfd_create("gpuemu", MFD_CLOEXEC);
    if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    auto made = std::make_shared<Physical>(file);
    if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
    made->handle = next_handle();
    made->bytes = bytes;
    made->properties = *properties;
    *handle = made->handle;
    all.memory[made->handle] = std::move(made);
    return CUDA_SUCCESS;
  });
}

/// Mappings keep the memory alive.
GPUEMU_DRIVER_API int cuMemRelease(uint64_t handle) {
  return with_memory([&](Process&, VirtualMemory& all) -> int {
    const auto found = all.memory.find(handle);
    if (found == all.memory.end()) return CUDA_ERROR_INVALID_VALUE;
    if (--found->second->users == 0) all.memory.erase(found);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemMap(Address address, size_t bytes, size_t offset, uint64_t handle,
                               unsigned long long flags) {
  return with_memory([&](Process&, VirtualMemory& all) -> int {
    auto* const reservation = find_reservation(all, address, bytes);
    const auto memory = all.memory.find(handle);
    const bool fits = reservation != nullptr && memory != all.memory.end() && bytes != 0 &&
                      bytes % kGranularity == 0 && address % kGranularity == 0 && offset == 0 &&
                      bytes <= memory->second->bytes && flags == 0;
    if (!fits) return CUDA_ERROR_INVALID_VALUE;
    auto& mappings = reservation->second.mappings;
    const auto next = mappings.lower_bound(address);
    if (next != mappings.end() && next->first < address + bytes) return CUDA_ERROR_INVALID_VALUE;
    if (next != mappings.begin() &&
        std::prev(next)->first + std::prev(next)->second.bytes > address) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    void* const at = mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
                          MAP_SHARED | MAP_FIXED, memory->second->file, 0);
    if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    mappings[address] = {bytes, memory->second, false};
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemUnmap(Address address, size_t bytes) {
  return with_memory([&](Process& driver, VirtualMemory& all) -> int {
    auto* const reservation = find_reservation(all, address, bytes);
    if (reservation == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto gone = mappings_of(reservation->second, address, bytes);
    if (gone.empty()) return CUDA_ERROR_INVALID_VALUE;
    for (auto* const one : gone) one->second.is_accessible = false;
    const int code = renew_pieces(driver, reservation->second, "cuMemUnmap");
    mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    reservation->second.mappings.erase(reservation->second.mappings.find(address),
                                       reservation->second.mappings.lower_bound(address + bytes));
    return code;
  });
}

GPUEMU_DRIVER_API int cuMemSetAccess(Address address, size_t bytes, const AccessDescription* all,
                                     size_t count) {
  return with_memory([&](Process& driver, VirtualMemory& memory) -> int {
    auto* const reservation = find_reservation(memory, address, bytes);
    if (reservation == nullptr || all == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto mappings = mappings_of(reservation->second, address, bytes);
    if (mappings.empty()) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      const Location& location = all[i].location;
      if (all[i].flags != kNoAccess && all[i].flags != kReadWrite) {
        return unsupported_call("cuMemSetAccess for reading alone");
      }
      for (const auto* const one : mappings) {
        const int device = one->second.memory->properties.location.id;
        if (location.type != kDeviceLocation || location.id != device) {
          return unsupported_call("cuMemSetAccess for another device than that of the memory");
        }
      }
    }
    const int access = all[count - 1].flags;
    if (access == kReadWrite) {
      if (const int code = protect(address, bytes, access); code != CUDA_SUCCESS) return code;
    }
    for (auto* const one : mappings) one->second.is_accessible = access == kReadWrite;
    const int code = renew_pieces(driver, reservation->second, "cuMemSetAccess");
    // Only now nothing uses it.
    return code == CUDA_SUCCESS && access == kNoAccess ? protect(address, bytes, access) : code;
  });
}

GPUEMU_DRIVER_API int cuMemGetAccess(unsigned long long* flags, const Location* location,
                                     Address address) {
  return with_memory([&](Process&, VirtualMemory& all) -> int {
    auto* const reservation = find_reservation(all, address, 1);
    if (flags == nullptr || location == nullptr || reservation == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto next = reservation->second.mappings.upper_bound(address);
    if (next == reservation->second.mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
    const auto& [begin, mapping] = *std::prev(next);
    if (address - begin >= mapping.bytes) return CUDA_ERROR_INVALID_VALUE;
    const bool is_device =
        location->type == kDeviceLocation && location->id == mapping.memory->properties.location.id;
    *flags = is_device && mapping.is_accessible ? kReadWrite : kNoAccess;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemRetainAllocationHandle(uint64_t* handle, void* at) {
  return with_memory([&](Process&, VirtualMemory& all) -> int {
    const auto address = reinterpret_cast<uint64_t>(at);
    auto* const reservation = find_reservation(all, address, 1);
    if (handle == nullptr || reservation == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto next = reservation->second.mappings.upper_bound(address);
    if (next == reservation->second.mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
    const auto& [begin, mapping] = *std::prev(next);
    if (address - begin >= mapping.bytes) return CUDA_ERROR_INVALID_VALUE;
    const auto [known, is_new] = all.memory.emplace(mapping.memory->handle, mapping.memory);
    mapping.memory->users = is_new ? 1 : mapping.memory->users + 1;
    *handle = known->first;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemGetAllocationPropertiesFromHandle(AllocationProperties* properties,
                                                             uint64_t handle) {
  return with_memory([&](Process&, VirtualMemory& all) -> int {
    const auto found = all.memory.find(handle);
    if (properties == nullptr || found == all.memory.end()) return CUDA_ERROR_INVALID_VALUE;
    *properties = found->second->properties;
    return CUDA_SUCCESS;
  });
}
// NOLINTEND(google-runtime-int)

}  // namespace gpuemu::libcuda
