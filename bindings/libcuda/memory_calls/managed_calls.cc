// Implements prefetches of managed memory and advice about it. Neither has an effect here: host and
// device share the memory. Advice is stored, because programs read it.
#include <algorithm>
#include <cstring>

#include "bindings/libcuda/memory/transfer.h"

namespace gpuemu::libcuda {
namespace {

/// CUmem_advise
enum Advice {
  kSetReadMostly = 1,
  kUnsetReadMostly,
  kSetPreferred,
  kUnsetPreferred,
  kSetAccessedBy,
  kUnsetAccessedBy,
};
/// CUmem_range_attribute
enum RangeAttribute {
  kReadMostly = 1,
  kPreferred,
  kAccessedBy,
  kLastPrefetch,
  kPreferredType,
  kPreferredId,
  kLastPrefetchType,
  kLastPrefetchId,
};
/// CUmemLocationType; CU_DEVICE_CPU and CU_DEVICE_INVALID.
constexpr int kNowhere = 0, kOnDevice = 1, kOnHost = 2, kOnHostNode = 3, kOnThisNode = 4;
constexpr int kHostId = -1, kNoId = -2;

/// The latest advice for a range. For accesses there is one for each device.
struct Said {
  uint64_t begin = 0, end = 0;
  uint64_t allocation = 0;  ///< Its number, because the address may be reused.
  RangeAttribute attribute = kReadMostly;
  Location location{};
  bool is_set = true;
};

/// All advice, the oldest first.
struct AllSaid {
  std::mutex mutex;
  std::vector<Said> said;
};
AllSaid& all_said() {
  static auto* const kAll = new AllSaid;
  return *kAll;
}

bool is_about(const Said& one, RangeAttribute attribute, const Location& location) {
  if (one.attribute != attribute) return false;
  return attribute != kAccessedBy ||
         (one.location.type == location.type && one.location.id == location.id);
}

void say(Said made) {
  const std::lock_guard lock(all_said().mutex);
  auto& said = all_said().said;
  std::erase_if(said, [&](const Said& one) {
    return is_about(one, made.attribute, made.location) && one.begin >= made.begin &&
           one.end <= made.end;
  });
  said.push_back(made);
}

/// Returns the latest advice for the whole range; null if there is none, or if its parts differ.
const Said* last_said(const AllSaid& all, const Said& range) {
  for (auto one = all.said.rbegin(); one != all.said.rend(); ++one) {
    const bool overlaps = one->begin < range.end && range.begin < one->end;
    if (!overlaps || one->allocation != range.allocation ||
        !is_about(*one, range.attribute, range.location)) {
      continue;
    }
    const bool covers = one->begin <= range.begin && range.end <= one->end;
    return covers && one->is_set ? &*one : nullptr;
  }
  return nullptr;
}

/// Finds the managed allocation of a range; CUDA_ERROR_INVALID_VALUE when it is not inside one.
int find_range(Process& driver, Address address, size_t bytes, Said& range) {
  const auto what = driver.allocations.holding(address);
  const bool fits = what != nullptr && what->kind == MemoryKind::Managed && bytes != 0 &&
                    bytes <= what->bytes - (address - what->address);
  if (!fits) return CUDA_ERROR_INVALID_VALUE;
  range.begin = address;
  range.end = address + bytes;
  range.allocation = what->number;
  return CUDA_SUCCESS;
}

int check_location(Process& driver, const Location& where) {
  if (where.type == kOnDevice) {
    return driver.device(where.id) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
  }
  const bool is_host =
      where.type == kOnHost || where.type == kOnHostNode || where.type == kOnThisNode;
  return is_host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Location location_of(int device) {
  return device == kHostId ? Location{kOnHost, 0} : Location{kOnDevice, device};
}

int prefetch(Address address, size_t bytes, const Location& where, Stream stream,
             const char* call = __builtin_FUNCTION()) {
  return with_place(
      stream,
      [&](Process& driver, const Place& place) -> int {
        Said range;
        if (const int code = check_location(driver, where); code != CUDA_SUCCESS) return code;
        if (const int code = find_range(driver, address, bytes, range); code != CUDA_SUCCESS) {
          return code;
        }
        if (is_captured(place)) return refuse_capture(driver, place);
        range.attribute = kLastPrefetch;
        range.location = where;
        say(range);
        return CUDA_SUCCESS;
      },
      call);
}

int advise(Address address, size_t bytes, int advice, const Location& where,
           const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    if (advice < kSetReadMostly || advice > kUnsetAccessedBy) return CUDA_ERROR_INVALID_VALUE;
    Said made;
    if (const int code = find_range(driver, address, bytes, made); code != CUDA_SUCCESS) {
      return code;
    }
    const bool is_of_place = advice >= kSetPreferred && advice != kUnsetPreferred;
    if (is_of_place) {
      if (const int code = check_location(driver, where); code != CUDA_SUCCESS) return code;
      made.location = where;
    }
    made.attribute = static_cast<RangeAttribute>((advice + 1) / 2);
    made.is_set = advice % 2 == 1;
    say(made);
    return CUDA_SUCCESS;
  });
}

/// Returns the device in the form of the older attributes.
int device_of(const Said* said) {
  if (said == nullptr) return kNoId;
  return said->location.type == kOnDevice ? said->location.id : kHostId;
}

/// Returns the devices that were advised to access the range, and fills the rest of the list.
int tell_accessors(Process& driver, Said range, int* told, size_t count) {
  const AllSaid& all = all_said();
  size_t next = 0;
  const auto add = [&](const Location& where, int id) {
    range.location = where;
    if (next < count && last_said(all, range) != nullptr) told[next++] = id;
  };
  for (int i = 0; i < static_cast<int>(driver.devices.size()); ++i) add({kOnDevice, i}, i);
  add({kOnHost, 0}, kHostId);
  std::fill(told + next, told + count, kNoId);
  return CUDA_SUCCESS;
}

int range_attribute(Process& driver, void* data, size_t bytes, int attribute, Said range) {
  constexpr size_t kInt = sizeof(int);
  if (data == nullptr || attribute < kReadMostly || attribute > kLastPrefetchId) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::lock_guard lock(all_said().mutex);
  auto* const told = static_cast<int*>(data);
  range.attribute = static_cast<RangeAttribute>(attribute);
  if (attribute == kAccessedBy) {
    if (bytes == 0 || bytes % kInt != 0) return CUDA_ERROR_INVALID_VALUE;
    return tell_accessors(driver, range, told, bytes / kInt);
  }
  if (bytes != kInt) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == kPreferredType || attribute == kPreferredId) range.attribute = kPreferred;
  if (attribute == kLastPrefetchType || attribute == kLastPrefetchId) {
    range.attribute = kLastPrefetch;
  }
  const Said* const said = last_said(all_said(), range);
  if (attribute == kReadMostly) {
    *told = said != nullptr ? 1 : 0;
  } else if (attribute == kPreferredType || attribute == kLastPrefetchType) {
    *told = said == nullptr ? kNowhere : said->location.type;
  } else if (attribute == kPreferredId || attribute == kLastPrefetchId) {
    *told = said == nullptr ? kNoId : said->location.id;
  } else {
    *told = device_of(said);
  }
  return CUDA_SUCCESS;
}

}  // namespace

/// Has no effect: the host and all streams may use managed memory here, whatever it is attached to.
GPUEMU_DRIVER_API int cuStreamAttachMemAsync(Stream stream, Address address, size_t bytes,
                                             unsigned flags) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    constexpr unsigned kGlobal = 1, kHost = 2, kSingle = 4;
    const bool is_known = flags == kGlobal || flags == kHost || flags == kSingle;
    const bool has_stream = place.state != nullptr || place.stream == kPerThreadStream;
    if (!is_known || (flags == kSingle && !has_stream)) return CUDA_ERROR_INVALID_VALUE;
    const auto what = driver.allocations.at(address);
    const bool fits = what != nullptr && what->kind == MemoryKind::Managed &&
                      (bytes == 0 || bytes == what->bytes);
    if (!fits) return CUDA_ERROR_INVALID_VALUE;
    return is_captured(place) ? refuse_capture(driver, place) : static_cast<int>(CUDA_SUCCESS);
  });
}
GPUEMU_PER_THREAD(cuStreamAttachMemAsync, cuStreamAttachMemAsync_ptsz)

GPUEMU_DRIVER_API int cuMemPrefetchAsync(Address address, size_t bytes, int device, Stream stream) {
  return prefetch(address, bytes, location_of(device), stream);
}
GPUEMU_PER_THREAD(cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz)

GPUEMU_DRIVER_API int cuMemPrefetchAsync_v2(Address address, size_t bytes, Location location,
                                            unsigned flags, Stream stream) {
  if (flags != 0) return wrong_arguments(CUDA_ERROR_INVALID_VALUE);
  return prefetch(address, bytes, location, stream);
}
GPUEMU_PER_THREAD(cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz)

GPUEMU_DRIVER_API int cuMemAdvise(Address address, size_t bytes, int advice, int device) {
  return advise(address, bytes, advice, location_of(device));
}

GPUEMU_DRIVER_API int cuMemAdvise_v2(Address address, size_t bytes, int advice, Location location) {
  return advise(address, bytes, advice, location);
}

GPUEMU_DRIVER_API int cuMemRangeGetAttribute(void* data, size_t data_bytes, int attribute,
                                             Address address, size_t bytes) {
  return driver_call([&](Process& driver) -> int {
    Said range;
    const int code = find_range(driver, address, bytes, range);
    return code == CUDA_SUCCESS ? range_attribute(driver, data, data_bytes, attribute, range)
                                : code;
  });
}

GPUEMU_DRIVER_API int cuMemRangeGetAttributes(void** data, size_t* data_bytes, int* attributes,
                                              size_t count, Address address, size_t bytes) {
  return driver_call([&](Process& driver) -> int {
    Said range;
    if (data == nullptr || data_bytes == nullptr || attributes == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    int code = find_range(driver, address, bytes, range);
    for (size_t i = 0; i < count && code == CUDA_SUCCESS; ++i) {
      code = range_attribute(driver, data[i], data_bytes[i], attributes[i], range);
    }
    return code;
  });
}

}  // namespace gpuemu::libcuda
