// The part of CUPTI's Activity API in use: functions of its ABI, and the beginning of a kernel's
// record, which is the same from CUDA 9 (CUpti_ActivityKernel4) to CUDA 13
// (CUpti_ActivityKernel10); newer versions append. No header of the toolkit is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuemu::cupti {

inline constexpr int kSuccess = 0;
/// CUpti_ActivityKind: kernels, without serialising concurrent ones.
inline constexpr uint32_t kConcurrentKernel = 10;
inline constexpr uint32_t kFlushWhatIsDone = 0;
/// Alignment of records in bytes.
inline constexpr size_t kRecordAlignment = 8;

struct alignas(kRecordAlignment) Activity {
  uint32_t kind = 0;
};

struct alignas(kRecordAlignment) KernelActivity {
  uint32_t kind = 0;
  uint8_t cache_config = 0, shared_config = 0;
  uint16_t registers = 0;
  uint32_t cache_requested = 0, cache_executed = 0;
  uint64_t start = 0, end = 0, completed = 0;  ///< Nanoseconds; 0 if unknown.
  uint32_t device = 0, context = 0, stream = 0;
  int32_t grid[3] = {}, block[3] = {};
  int32_t static_shared = 0, dynamic_shared = 0;
  uint32_t local_per_thread = 0, local_total = 0;
  uint32_t correlation = 0;
  int64_t grid_id = 0;
  const char* name = nullptr;
};
static_assert(offsetof(KernelActivity, registers) == 6 && offsetof(KernelActivity, start) == 16 &&
              offsetof(KernelActivity, stream) == 48 && offsetof(KernelActivity, grid) == 52 &&
              offsetof(KernelActivity, local_per_thread) == 84 &&
              offsetof(KernelActivity, name) == 104);

using RequestBuffer = void (*)(uint8_t** buffer, size_t* bytes, size_t* records_max);
using TakeBuffer = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                            size_t valid_bytes);

struct Api {
  int (*register_callbacks)(RequestBuffer, TakeBuffer) = nullptr;
  int (*enable)(uint32_t kind) = nullptr;
  int (*disable)(uint32_t kind) = nullptr;
  int (*flush)(uint32_t flag) = nullptr;
  int (*next_record)(uint8_t* buffer, size_t valid_bytes, Activity** record) = nullptr;
  int (*dropped)(void* context, uint32_t stream, size_t* count) = nullptr;
  int (*timestamp)(uint64_t* ns) = nullptr;
  int (*text_of)(int code, const char** text) = nullptr;
};

}  // namespace gpuemu::cupti
