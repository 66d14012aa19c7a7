// Implements attributes of streams. They are hints about caches and about how the host waits, which
// have no effect here; they are stored, because programs read them.
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

/// CUstreamAttrID
enum StreamAttribute { kAccessPolicyWindow = 1, kSynchronizationPolicy = 3, kPriority = 8 };
using AttributeValue = std::array<std::byte, 64>;  ///< CUstreamAttrValue
using AttributeValues = std::map<int, AttributeValue>;

constexpr int kAuto = 1;  ///< CU_SYNC_POLICY_AUTO

struct AllValues {
  std::mutex mutex;
  std::map<std::pair<Context, StreamId>, AttributeValues> of;  ///< Ids of streams are not reused.
};
AllValues& all_values() {
  static auto* const kAll = new AllValues;
  return *kAll;
}

bool is_hint(int attribute) {
  return attribute == kAccessPolicyWindow || attribute == kSynchronizationPolicy;
}

/// Returns the size of an attribute in the union. Callers of CUDA 11 pass at most 32 bytes.
size_t bytes_of(int attribute) {
  constexpr size_t kWindow = 32;
  return attribute == kAccessPolicyWindow ? kWindow : sizeof(int);
}

/// Returns the value of an attribute that was never set.
AttributeValue first_value(int attribute) {
  AttributeValue value{};
  if (attribute == kSynchronizationPolicy) std::memcpy(&value, &kAuto, sizeof kAuto);
  return value;
}

}  // namespace

GPUEMU_DRIVER_API int cuStreamSetAttribute(Stream stream, int attribute, const void* value) {
  return with_place(stream, [&](Process&, const Place& place) -> int {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_hint(attribute)) {
      return unsupported_call(
          "cuStreamSetAttribute of other than cache and synchronization policy");
    }
    const std::lock_guard lock(all_values().mutex);
    AttributeValue& kept = all_values().of[{place.context, place.stream}][attribute];
    std::memcpy(&kept, value, bytes_of(attribute));
    return CUDA_SUCCESS;
  });
}
GPUEMU_PER_THREAD(cuStreamSetAttribute, cuStreamSetAttribute_ptsz)

GPUEMU_DRIVER_API int cuStreamGetAttribute(Stream stream, int attribute, void* value) {
  return with_place(stream, [&](Process&, const Place& place) -> int {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    AttributeValue told{};
    if (attribute == kPriority) {
      const int priority = place.state == nullptr ? 0 : place.state->priority;
      std::memcpy(&told, &priority, sizeof priority);
    } else if (is_hint(attribute)) {
      const std::lock_guard lock(all_values().mutex);
      const AttributeValues& known = all_values().of[{place.context, place.stream}];
      const auto set = known.find(attribute);
      told = set == known.end() ? first_value(attribute) : set->second;
    } else {
      return unsupported_call(
          "cuStreamGetAttribute of other than cache and synchronization policy");
    }
    std::memcpy(value, &told, bytes_of(attribute));
    return CUDA_SUCCESS;
  });
}
GPUEMU_PER_THREAD(cuStreamGetAttribute, cuStreamGetAttribute_ptsz)

GPUEMU_DRIVER_API int cuStreamCopyAttributes(Stream to, Stream from) {
  return with_place(to, [&](Process&, const Place& target) -> int {
    const Place source = place_of(from);
    if (source.code != CUDA_SUCCESS) return source.code;
    const std::lock_guard lock(all_values().mutex);
    const AttributeValues copied = all_values().of[{source.context, source.stream}];
    all_values().of[{target.context, target.stream}] = copied;
    return CUDA_SUCCESS;
  });
}
GPUEMU_PER_THREAD(cuStreamCopyAttributes, cuStreamCopyAttributes_ptsz)

}  // namespace gpuemu::libcuda
