// What a gpuemu_context is, and how errors cross into C.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "ops/capi/op_call.h"
#include "ops/dispatch/dispatcher.h"
#include "ops/memory/pool.h"
#include "ops/profile/profiler.h"
#include "runtime/device/current.h"
#include "runtime/device/stream.h"

/// Any thread.
struct gpuemu_context {
  /// A context that was destroyed stays as this alone, so that its use is an error and no crash.
  std::atomic<bool> is_live = true;
  std::unique_ptr<gpuemu::Device> device;
  gpuemu::Streams* streams = nullptr;
  /// Null on a device that checks bounds: it would check those of the segments.
  std::unique_ptr<gpuemu::Pool> pool = nullptr;
  gpuemu::OpRegistry registry;
  std::unique_ptr<gpuemu::Dispatcher> dispatcher;
  std::atomic<bool> is_profiling = false;                ///< Spares ranges the lock.
  std::shared_mutex mutex;                               ///< Guards what follows.
  std::shared_ptr<gpuemu::Profiler> profiler = nullptr;  ///< A range may outlive its being here.
  struct Allocation {
    uint64_t bytes = 0;
    bool is_async = false, is_pools = false;
  };
  std::map<uint64_t, Allocation> allocations = {};  ///< By address.

  gpuemu::StreamId stream_of(gpuemu_stream stream) const {
    return stream == 0 ? gpuemu::current_stream(*device) : stream;
  }
  /// InvalidArgument when the bytes leave the allocation that they begin in, or, on a device that
  /// has no other memory, begin in none.
  gpuemu::Status check_range(const char* what, uint64_t address, uint64_t bytes);
};

namespace gpuemu::opcall {

/// The code; the message is kept for gpuemu_last_error.
gpuemu_code answer(const Error& failure);
inline gpuemu_code answer(const Status& status) {
  return status ? GPUEMU_OK : answer(status.error());
}
/// The value into `to`, unless it failed.
template <typename T, typename U>
gpuemu_code answer(const Result<T>& result, U* to) {
  if (!result) return answer(result.error());
  *to = static_cast<U>(*result);
  return GPUEMU_OK;
}
const char* last_error();

/// Beyond it struct_bytes is no sizeof of any version, and what lies there is not to be read.
inline constexpr size_t kStructBytesMax = 1024;

/// What a caller gave in a struct that begins with struct_bytes: `first_bytes`, the size of its
/// first version, at least. Members that the caller does not know yet are 0; InvalidArgument when
/// it has set ones that this library does not know.
template <typename T>
Result<T> known_members(const T& given, size_t first_bytes, const char* what) {
  const size_t bytes = given.struct_bytes;
  if (bytes < first_bytes || bytes > kStructBytesMax) {
    return error(ErrorCode::InvalidArgument, "{}.struct_bytes is {}, expected {}: its sizeof", what,
                 bytes, sizeof(T));
  }
  const auto* raw = reinterpret_cast<const unsigned char*>(&given);
  for (size_t i = sizeof(T); i < bytes; ++i) {
    if (raw[i] == 0) continue;
    return error(ErrorCode::InvalidArgument,
                 "{} has members behind byte {} that this library does not know; leave them 0, or "
                 "use the library of your header",
                 what, sizeof(T));
  }
  T known{};
  std::memcpy(&known, &given, std::min(bytes, sizeof(T)));
  return known;
}

/// GPUEMU_INVALID_ARGUMENT naming the argument that is NULL.
gpuemu_code missing(const char* argument);

inline bool is_usable(const gpuemu_context* context) {
  return context != nullptr && context->is_live.load(std::memory_order_acquire);
}
/// GPUEMU_INVALID_ARGUMENT: why the context is not usable.
gpuemu_code refuse(const gpuemu_context* context);

}  // namespace gpuemu::opcall
