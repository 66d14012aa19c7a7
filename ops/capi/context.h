// The state of a gpuemu_context, and the conversion of errors to C.
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

/// Thread-safe.
struct gpuemu_context {
  /// After destruction only this member remains valid, so that using the context is an error
  /// instead of a crash.
  std::atomic<bool> is_live = true;
  std::unique_ptr<gpuemu::Device> device;
  gpuemu::Streams* streams = nullptr;
  /// Null on a device that checks bounds, because it would check those of the segments.
  std::unique_ptr<gpuemu::Pool> pool = nullptr;
  gpuemu::OpRegistry registry;
  std::unique_ptr<gpuemu::Dispatcher> dispatcher;
  std::atomic<bool> is_profiling = false;  ///< Avoids the lock for ranges.
  std::shared_mutex mutex;                 ///< Guards the members below.
  /// Shared, because a range may outlive the profile.
  std::shared_ptr<gpuemu::Profiler> profiler = nullptr;
  struct Allocation {
    uint64_t bytes = 0;
    bool is_async = false, is_pools = false;
    gpuemu::opcall::MemoryKind kind = gpuemu::opcall::MemoryKind::Device;
    std::string name = {};
  };
  std::map<uint64_t, Allocation> allocations = {};  ///< By address.
  struct Adopted {
    uint64_t bytes = 0;  ///< The largest size adopted at the address.
    uint64_t count = 0;
    bool is_readonly = true;
    bool is_own = false;  ///< Inside an allocation of this context.
    std::string name = {};
  };
  std::map<uint64_t, Adopted> adopted = {};  ///< By address.
  gpuemu::opcall::MemoryBook memory = {};
  struct Graph {
    uint64_t nodes = 0;
    std::vector<uint64_t> workspaces = {};  ///< Addresses, owned by the graph.
  };
  std::map<gpuemu_graph, Graph> graphs = {};
  std::string last_profile = {};  ///< JSON of the profile that was stopped last.
  gpuemu::DeviceChecks checks = gpuemu::kUsualChecks;
  std::vector<gpuemu::DeviceFinding> findings = {};  ///< Findings not yet returned.
  gpuemu::opcall::LogBook logs = {};                 ///< Has a lock of its own.
  /// Streams with a capture begun here, and the registry generation at that time.
  std::map<gpuemu::StreamId, uint64_t> captures = {};
  std::atomic<size_t> capture_count = 0;  ///< Size of `captures`, readable without the lock.
  class Operands final : public gpuemu::OperandCheck {
   public:
    explicit Operands(gpuemu_context& context) : context_(context) {}
    gpuemu::Status check(const gpuemu::OpCall& call) override;

   private:
    gpuemu_context& context_;
  };
  /// Its generation changes with every range that leaves `allocations` or `adopted`, or that
  /// becomes read-only.
  Operands operands{*this};
  struct Kernel {
    const gpuemu::OpKind* op = nullptr;
    const gpuemu::KernelVariant* variant = nullptr;
  };
  std::map<gpuemu_kernel, Kernel> kernels = {};
  gpuemu_kernel last_kernel = 0;

  gpuemu::StreamId stream_of(gpuemu_stream stream) const {
    return stream == 0 ? gpuemu::current_stream(*device) : stream;
  }
  /// Returns the registry generation whose kernels a call on the stream may use.
  uint64_t generation_of(gpuemu::StreamId stream);
  /// Requires `mutex` to be held.
  gpuemu::opcall::MemoryNow memory_now() const;
  /// InvalidArgument if the bytes cross the end of the allocation in which they begin or, on a
  /// device without other memory, begin in none.
  gpuemu::Status check_range(const char* what, uint64_t address, uint64_t bytes);
  struct Use {  // No default values: a call has room for many and uses a few.
    uint64_t address, bytes;
    bool writes;
  };
  /// Returns whether all ranges are in allocations of this context and none in adopted memory.
  /// Other ranges may be valid too.
  bool holds(std::span<const Use> uses);
  /// InvalidArgument for memory that was adopted as read-only.
  gpuemu::Status check_writable(const char* what, uint64_t address, uint64_t bytes);
  /// Returns adopted memory that contains the whole range; null if there is none. Requires `mutex`
  /// to be held.
  const Adopted* adopted_at(uint64_t address, uint64_t bytes) const;
};

namespace gpuemu::opcall {

/// Returns the code, and keeps the message for gpuemu_last_error().
gpuemu_code answer(const Error& failure);
inline gpuemu_code answer(const Status& status) {
  return status ? GPUEMU_OK : answer(status.error());
}
/// Stores the value in `to`, unless the call failed.
template <typename T, typename U>
gpuemu_code answer(const Result<T>& result, U* to) {
  if (!result) return answer(result.error());
  *to = static_cast<U>(*result);
  return GPUEMU_OK;
}
const char* last_error();

/// A larger struct_bytes is not the sizeof of any version, so its memory must not be read.
inline constexpr size_t kStructBytesMax = 1024;

/// Reads a caller's struct that begins with struct_bytes, which must be at least `first_bytes`, the
/// size of its first version. Members that the caller does not know become 0. InvalidArgument if it
/// has set members that this library does not know.
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

/// Copies `text` and its final 0 to `to`, as for the functions with (to, room, bytes) in op_call.h.
gpuemu_code give_text(const std::string& text, char* to, size_t room, size_t* bytes);

/// Updates the memory book and a running profile. Requires the context's mutex to be held.
void note_allocated(gpuemu_context& context, const gpuemu_context::Allocation& allocation);
void note_freed(gpuemu_context& context, const gpuemu_context::Allocation& allocation);
void begin_memory_profile(gpuemu_context& context);
MemoryProfile end_memory_profile(gpuemu_context& context);
gpuemu_memory_statistics statistics_of(gpuemu_context& context);

/// Returns GPUEMU_INVALID_ARGUMENT, naming the argument that is NULL.
gpuemu_code missing(const char* argument);

inline bool is_usable(const gpuemu_context* context) {
  return context != nullptr && context->is_live.load(std::memory_order_acquire);
}
/// Returns GPUEMU_INVALID_ARGUMENT, saying why the context cannot be used.
gpuemu_code refuse(const gpuemu_context* context);

}  // namespace gpuemu::opcall
