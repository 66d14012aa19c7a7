// A test replacement for libcupti.so.13: delivers three kernels, one of which never ended, in
// records of CUDA 13's length. With FAKE_CUPTI_REFUSES it refuses, as CUPTI does beside another
// profiler.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kMaxLimitReached = 12, kMultipleSubscribers = 39;
constexpr size_t kRecordBytes = 232;

using Request = void (*)(uint8_t**, size_t*, size_t*);
using Take = void (*)(void*, uint32_t, uint8_t*, size_t, size_t);
Request request = nullptr;
Take take = nullptr;
bool enabled = false;

template <typename T>
void put(uint8_t* record, size_t offset, T value) {
  std::memcpy(record + offset, &value, sizeof value);
}

/// Offsets of cupti_activity.h in CUDA 13.
void write(uint8_t* record, const char* name, uint64_t start, uint64_t end) {
  std::memset(record, 0xcd, kRecordBytes);
  put<uint32_t>(record, 0, 10);
  put<uint16_t>(record, 6, 40);
  put<uint64_t>(record, 16, start);
  put<uint64_t>(record, 24, end);
  put<uint32_t>(record, 48, 13);
  for (size_t i = 0; i < 3; ++i) {
    put<int32_t>(record, 52 + 4 * i, static_cast<int32_t>(i) + 1);
    put<int32_t>(record, 64 + 4 * i, 32 >> (2 * i));
  }
  put<int32_t>(record, 76, 1024);
  put<int32_t>(record, 80, 512);
  put<uint32_t>(record, 84, 16);
  put<const char*>(record, 104, name);
}

}  // namespace

// Names and parameters follow NVIDIA's.
// NOLINTBEGIN(readability-identifier-naming,readability-function-size)
extern "C" {

int cuptiActivityRegisterCallbacks(Request on_request, Take on_take) {
  request = on_request;
  take = on_take;
  return 0;
}
int cuptiActivityEnable(uint32_t kind) {
  if (std::getenv("FAKE_CUPTI_REFUSES") != nullptr) return kMultipleSubscribers;
  enabled = kind == 10;
  return 0;
}
int cuptiActivityDisable(uint32_t) {
  enabled = false;
  return 0;
}
int cuptiActivityFlushAll(uint32_t) {
  if (!enabled) return 0;
  uint8_t* buffer = nullptr;
  size_t bytes = 0, records = 0;
  request(&buffer, &bytes, &records);
  if (bytes < 3 * kRecordBytes) return 0;
  write(buffer, "gemm_tiled_float32", 5'000, 9'000);
  write(buffer + kRecordBytes, "never_ended", 9'000, 0);
  write(buffer + 2 * kRecordBytes, "_Z4castIfiEvPT_PT0_", 10'000, 10'500);
  take(nullptr, 0, buffer, bytes, 3 * kRecordBytes);
  return 0;
}
int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, uint8_t** record) {
  uint8_t* next = *record == nullptr ? buffer : *record + kRecordBytes;
  if (next >= buffer + valid) return kMaxLimitReached;
  *record = next;
  return 0;
}
int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* count) {
  *count = 2;
  return 0;
}
int cuptiGetTimestamp(uint64_t* ns) {
  *ns = 4'000;
  return 0;
}
int cuptiGetResultString(int, const char** text) {
  *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-function-size)
