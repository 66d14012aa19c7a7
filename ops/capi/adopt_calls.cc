// C interface: memory and streams allocated elsewhere.
#include <algorithm>
#include <mutex>

#include "ops/capi/context.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

namespace gpuemu::opcall {
namespace {

constexpr uint32_t kReadOnly = 1;

/// Returns whether the context allocated the memory of these bytes. Requires its mutex to be held.
bool is_allocated(const gpuemu_context& context, uint64_t address, uint64_t bytes) {
  const auto after = context.allocations.upper_bound(address);
  if (after == context.allocations.begin()) return false;
  const auto& [begin, allocation] = *std::prev(after);
  return address - begin <= allocation.bytes && bytes <= allocation.bytes - (address - begin);
}

Status adopt(gpuemu_context& context, uint64_t address, uint64_t bytes, uint32_t flags,
             const std::string& name) {
  const std::unique_lock lock(context.mutex);
  const auto known = context.adopted.find(address);
  gpuemu_context::Adopted made =
      known == context.adopted.end() ? gpuemu_context::Adopted{} : known->second;
  if (made.count == 0 || bytes > made.bytes) {
    made.is_own = is_allocated(context, address, bytes);
    if (!made.is_own) GPUEMU_TRY(context.streams->adopt_memory(address, bytes, name));
    // The smaller extent was adopted at the same address.
    if (made.count > 0 && !known->second.is_own) {
      GPUEMU_TRY(context.streams->release_memory(address, made.bytes));
    }
    made.bytes = bytes;
    made.name = name;
  }
  ++made.count;
  made.is_readonly = made.is_readonly && (flags & kReadOnly) != 0;
  context.adopted[address] = std::move(made);
  ++context.operands.generation;
  return ok_status();
}

Status release(gpuemu_context& context, uint64_t address) {
  const std::unique_lock lock(context.mutex);
  const auto known = context.adopted.find(address);
  if (known == context.adopted.end()) {
    return error(ErrorCode::InvalidArgument, "{:#x} was not adopted, or is released already",
                 address);
  }
  if (--known->second.count > 0) return ok_status();
  const gpuemu_context::Adopted gone = known->second;
  context.adopted.erase(known);
  ++context.operands.generation;
  return gone.is_own ? ok_status() : context.streams->release_memory(address, gone.bytes);
}

}  // namespace
}  // namespace gpuemu::opcall

extern "C" {

gpuemu_code gpuemu_memory_adopt(gpuemu_context* context, void* address, size_t bytes,
                                uint32_t flags, const char* name) {
  if (!is_usable(context)) return refuse(context);
  if (address == nullptr) return missing("address");
  if (flags > gpuemu::opcall::kReadOnly || bytes == 0) {
    return answer(gpuemu::error(
        gpuemu::ErrorCode::InvalidArgument,
        "flags {} and bytes {}, expected flags 0 or 1 (read-only) and bytes from 1", flags, bytes));
  }
  const std::string called = name == nullptr || *name == 0 ? "adopted memory" : name;
  return answer(
      gpuemu::opcall::adopt(*context, reinterpret_cast<uint64_t>(address), bytes, flags, called));
}

gpuemu_code gpuemu_memory_release(gpuemu_context* context, void* address) {
  if (!is_usable(context)) return refuse(context);
  if (address == nullptr) return missing("address");
  return answer(gpuemu::opcall::release(*context, reinterpret_cast<uint64_t>(address)));
}

gpuemu_code gpuemu_stream_adopt(gpuemu_context* context, void* native, gpuemu_stream* stream) {
  if (!is_usable(context)) return refuse(context);
  if (stream == nullptr) return missing("stream");
  return answer(context->streams->adopt_stream(native), stream);
}

gpuemu_code gpuemu_stream_native(gpuemu_context* context, gpuemu_stream stream, void** native) {
  if (!is_usable(context)) return refuse(context);
  if (native == nullptr) return missing("native");
  if (context->device->properties().checks_bounds) {
    return answer(gpuemu::error(gpuemu::ErrorCode::Unsupported,
                                "a stream of the emulator has no cudaStream_t"));
  }
  const gpuemu::StreamId found = context->stream_of(stream);
  const auto known = context->streams->is_capturing(found);
  if (!known) return answer(known.error());
  *native = reinterpret_cast<void*>(found);
  return GPUEMU_OK;
}

}  // extern "C"
