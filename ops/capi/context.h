// What a gpuemu_context is, and how errors cross into C.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "ops/capi/log_book.h"
#include "ops/capi/memory_book.h"
#include "ops/capi/op_call.h"
#include "ops/dispatch/dispatcher.h"
#include "ops/memory/pool.h"
#include "ops/profile/profiler.h"
#include "runtime/device/current.h"
#include "runtime/device/device_finding.h"
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
    gpuemu::opcall::MemoryKind kind = gpuemu::opcall::MemoryKind::Device;
    std::string name = {};
  };
  std::map<uint64_t, Allocation> allocations = {};  ///< By address.
  struct Adopted {
    uint64_t bytes = 0;  ///< The most that was adopted at the address.
    uint64_t count = 0;
    bool is_readonly = true;
    bool is_own = false;  ///< In an allocation of this context.
    std::string name = {};
  };
  std::map<uint64_t, Adopted> adopted = {};  ///< By address.
  gpuemu::opcall::MemoryBook memory = {};
  struct Graph {
    uint64_t nodes = 0;
    std::vector<uint64_t> workspaces = {};  ///< Addresses; its own.
  };
  std::map<gpuemu_graph, Graph> graphs = {};
  std::string last_profile = {};  ///< JSON of the one that was stopped last.
  gpuemu::DeviceChecks checks = gpuemu::kUsualChecks;
  std::vector<gpuemu::DeviceFinding> findings = {};  ///< That no caller had room for yet.
  gpuemu::opcall::LogBook logs = {};                 ///< Guards itself.
  /// Streams whose capture has begun here, and the registry's generation then.
  std::map<gpuemu::StreamId, uint64_t> captures = {};
  std::atomic<size_t> capture_count = 0;  ///< Size of `captures`, readable without the lock.
  struct Kernel {
    const gpuemu::OpKind* op = nullptr;
    const gpuemu::KernelVariant* variant = nullptr;
  };
  std::map<gpuemu_kernel, Kernel> kernels = {};
  gpuemu_kernel last_kernel = 0;

  gpuemu::StreamId stream_of(gpuemu_stream stream) const {
    return stream == 0 ? gpuemu::current_stream(*device) : stream;
  }
  /// Up to which generation of the registry a call of the stream sees kernels.
  uint64_t generation_of(gpuemu::StreamId stream);
  /// REQUIRES: `mutex` is held.
  gpuemu::opcall::MemoryNow memory_now() const;
  /// InvalidArgument when the bytes leave the allocation that they begin in, or, on a device that
  /// has no other memory, begin in none.
  gpuemu::Status check_range(const char* what, uint64_t address, uint64_t bytes);
  struct Use {  // Without values at first: a call has room for many and uses a few.
    uint64_t address, bytes;
    bool writes;
  };
  /// Whether all of it lies in allocations of this context and none of it in adopted memory. What
  /// is not may be legal, too.
  bool holds(std::span<const Use> uses);
  /// InvalidArgument for what lies in memory that was adopted for reading alone.
  gpuemu::Status check_writable(const char* what, uint64_t address, uint64_t bytes);
  /// Memory of others that holds all of it; null where there is none. REQUIRES: `mutex` is held.
  const Adopted* adopted_at(uint64_t address, uint64_t bytes) const;
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

/// `text` with its final 0 into `to`, as the functions with (to, room, bytes) of op_call.h do.
gpuemu_code give_text(const std::string& text, char* to, size_t room, size_t* bytes);

/// The book and a running profile follow. REQUIRES: the context's mutex is held.
void note_allocated(gpuemu_context& context, const gpuemu_context::Allocation& allocation);
void note_freed(gpuemu_context& context, const gpuemu_context::Allocation& allocation);
void begin_memory_profile(gpuemu_context& context);
MemoryProfile end_memory_profile(gpuemu_context& context);
gpuemu_memory_statistics statistics_of(gpuemu_context& context);

/// GPUEMU_INVALID_ARGUMENT naming the argument that is NULL.
gpuemu_code missing(const char* argument);

inline bool is_usable(const gpuemu_context* context) {
  return context != nullptr && context->is_live.load(std::memory_order_acquire);
}
/// GPUEMU_INVALID_ARGUMENT: why the context is not usable.
gpuemu_code refuse(const gpuemu_context* context);

}  // namespace gpuemu::opcall
