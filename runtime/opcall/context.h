// What a gpuemu_context is, and how errors cross into C.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "runtime/device/current.h"
#include "runtime/device/stream.h"
#include "runtime/dispatch/dispatcher.h"
#include "runtime/opcall/op_call.h"
#include "runtime/profile/profiler.h"

/// Any thread.
struct gpuemu_context {
  std::unique_ptr<gpuemu::Device> device;
  gpuemu::Streams* streams = nullptr;
  gpuemu::OpRegistry registry;
  std::unique_ptr<gpuemu::Dispatcher> dispatcher;
  std::unique_ptr<gpuemu::Profiler> profiler = nullptr;
  std::shared_mutex mutex;                        ///< Of `allocations`.
  std::map<uint64_t, uint64_t> allocations = {};  ///< Address to bytes.

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

/// GPUEMU_INVALID_ARGUMENT naming the argument that is NULL.
gpuemu_code missing(const char* argument);

}  // namespace gpuemu::opcall
