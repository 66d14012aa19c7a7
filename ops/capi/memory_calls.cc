// C interface: memory.
#include <initializer_list>

#include "ops/capi/context.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

namespace {

using Allocation = gpuemu_context::Allocation;

constexpr char kUnnamed[] = "op_call memory";

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

gpuemu_code keep(gpuemu_context& context, const gpuemu::Result<uint64_t>& made,
                 const Allocation& allocation, void** address) {
  if (!made) return answer(made.error());
  const std::unique_lock lock(context.mutex);
  context.allocations[*made] = allocation;
  gpuemu::opcall::note_allocated(context, allocation);
  *address = reinterpret_cast<void*>(*made);
  return GPUEMU_OK;
}

/// Allocates from the device; if it has too little, frees unused cached memory first.
gpuemu::Result<uint64_t> allocate_own(gpuemu_context& context, size_t bytes) {
  auto made = context.device->allocate(bytes, kUnnamed);
  const bool is_out = !made && made.error().code == gpuemu::ErrorCode::ResourceExhausted;
  if (!is_out || context.pool == nullptr) return made;
  GPUEMU_TRY(context.pool->empty());
  return context.device->allocate(bytes, kUnnamed);
}

/// Removes the record before freeing, because another thread may then get, and record, the same
/// address. Restores it if freeing fails.
template <typename Free>
gpuemu_code release(gpuemu_context& context, uint64_t address, Free free) {
  std::map<uint64_t, Allocation>::node_type record;
  {
    const std::unique_lock lock(context.mutex);
    record = context.allocations.extract(address);
    ++context.operands.generation;
  }
  // Copied, because the record goes back into the map if nothing was freed.
  const Allocation gone = record.empty() ? Allocation{} : record.mapped();
  const gpuemu::Status freed = free(gone);
  if (!record.empty()) {
    const std::unique_lock lock(context.mutex);
    if (freed) {
      gpuemu::opcall::note_freed(context, gone);
    } else {
      context.allocations.insert(std::move(record));
    }
  }
  return answer(freed);
}

gpuemu::Status free_in_order(gpuemu_context& context, uint64_t address,
                             const Allocation& allocation, gpuemu::StreamId stream) {
  if (!allocation.is_async) {
    return gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                         "{:#x} was not allocated by gpuemu_memory_allocate_async", address);
  }
  if (!allocation.is_pools) return context.device->free(address);
  GPUEMU_TRY(context.pool->used_by(address, stream));
  return context.pool->free(address);
}

gpuemu_code allocate_in_order(gpuemu_context& context, size_t bytes, gpuemu::StreamId stream,
                              const std::string& name, void** address) {
  // Refuse an unknown stream here, not when the memory changes its owner.
  if (const auto known = context.streams->is_capturing(stream); !known) {
    return answer(known.error());
  }
  const bool is_pools = context.pool != nullptr;
  const auto made = is_pools ? context.pool->allocate(bytes, name, stream)
                             : context.device->allocate(bytes, name);
  return keep(context, made, {.bytes = bytes, .is_async = true, .is_pools = is_pools, .name = name},
              address);
}

gpuemu::Result<uint64_t> allocate_host(gpuemu_context& context, gpuemu::opcall::MemoryKind kind,
                                       size_t bytes) {
  if (kind == gpuemu::opcall::MemoryKind::Managed) {
    return address_of(GPUEMU_TRY(context.streams->allocate_managed(bytes)));
  }
  return address_of(GPUEMU_TRY(context.streams->allocate_host(bytes)));
}

struct Argument {
  const char* name;
  const void* pointer;
};

/// Returns the result of a stream's call. If an address was refused, explains whose memory it is.
gpuemu_code answer_for(gpuemu_context& context, const gpuemu::Status& done,
                       std::initializer_list<Argument> arguments, size_t bytes) {
  if (done || done.error().code != gpuemu::ErrorCode::InvalidArgument) return answer(done);
  for (const Argument& one : arguments) {
    const auto in_range = context.check_range(one.name, address_of(one.pointer), bytes);
    if (!in_range) return answer(in_range);
  }
  return answer(done);
}

}  // namespace

extern "C" {

gpuemu_code gpuemu_memory_allocate(gpuemu_context* context, size_t bytes, void** address) {
  if (!is_usable(context)) return refuse(context);
  if (address == nullptr) return missing("address");
  return keep(*context, allocate_own(*context, bytes), {.bytes = bytes, .name = kUnnamed}, address);
}

gpuemu_code gpuemu_memory_allocate_async(gpuemu_context* context, size_t bytes,
                                         gpuemu_stream stream, void** address) {
  return gpuemu_memory_allocate_named(context, GPUEMU_MEMORY_DEVICE, bytes, stream, kUnnamed,
                                      address);
}

// NOLINTNEXTLINE(readability-function-size): the C interface passes six values one by one.
gpuemu_code gpuemu_memory_allocate_named(gpuemu_context* context, uint32_t kind, size_t bytes,
                                         gpuemu_stream stream, const char* name, void** address) {
  if (!is_usable(context)) return refuse(context);
  if (address == nullptr) return missing("address");
  if (kind >= gpuemu::opcall::kMemoryKinds) {
    return answer(gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                                "kind {}, expected 0 (device), 1 (pinned) or 2 (managed)", kind));
  }
  const std::string called = name == nullptr ? "" : name;
  const auto wanted = static_cast<gpuemu::opcall::MemoryKind>(kind);
  if (wanted == gpuemu::opcall::MemoryKind::Device) {
    return allocate_in_order(*context, bytes, context->stream_of(stream), called, address);
  }
  return keep(*context, allocate_host(*context, wanted, bytes),
              {.bytes = bytes, .kind = wanted, .name = called}, address);
}

gpuemu_code gpuemu_memory_free(gpuemu_context* context, void* address) {
  if (!is_usable(context)) return refuse(context);
  if (address == nullptr) return GPUEMU_OK;
  return release(*context, address_of(address),
                 [&](const Allocation& allocation) -> gpuemu::Status {
                   if (allocation.kind != gpuemu::opcall::MemoryKind::Device) {
                     return context->streams->free_host(address);
                   }
                   if (!allocation.is_pools) return context->device->free(address_of(address));
                   GPUEMU_TRY(context->streams->synchronize_all());
                   return context->pool->free(address_of(address));
                 });
}

gpuemu_code gpuemu_memory_free_async(gpuemu_context* context, void* address, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  if (address == nullptr) return GPUEMU_OK;
  const gpuemu::StreamId after = context->stream_of(stream);
  const auto is_captured = context->streams->is_capturing(after);
  if (!is_captured) return answer(is_captured.error());
  if (*is_captured) {
    return answer(
        gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                      "the stream is captured; free memory after the graph is destroyed"));
  }
  return release(*context, address_of(address), [&](const Allocation& allocation) {
    return free_in_order(*context, address_of(address), allocation, after);
  });
}

gpuemu_code gpuemu_memory_trim(gpuemu_context* context, size_t bytes) {
  if (!is_usable(context)) return refuse(context);
  return context->pool == nullptr ? GPUEMU_OK : answer(context->pool->trim(bytes));
}

gpuemu_code gpuemu_memory_check(gpuemu_context* context) {
  if (!is_usable(context)) return refuse(context);
  if (context->pool == nullptr) return answer(context->streams->synchronize_all());
  const auto damages = context->pool->check_guards();
  if (!damages) return answer(damages.error());
  if (damages->empty()) return GPUEMU_OK;
  const gpuemu::GuardDamage& first = damages->front();
  return answer(gpuemu::error(gpuemu::ErrorCode::Corruption,
                              "{} bytes beside '{}' were written, the first at {}; {} allocations "
                              "have such bytes",
                              first.bytes, first.name, first.byte_offset, damages->size()));
}

gpuemu_code gpuemu_memory_upload(gpuemu_context* context, void* to, const void* from, size_t bytes,
                                 gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  if (from == nullptr && bytes > 0) return missing("from");
  const gpuemu::Status done = context->streams->upload(
      context->stream_of(stream), address_of(to), {static_cast<const std::byte*>(from), bytes});
  return answer_for(*context, done, {{"to", to}}, bytes);
}

gpuemu_code gpuemu_memory_download(gpuemu_context* context, void* to, const void* from,
                                   size_t bytes, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  if (to == nullptr && bytes > 0) return missing("to");
  const gpuemu::Status done = context->streams->download(
      context->stream_of(stream), {static_cast<std::byte*>(to), bytes}, address_of(from));
  return answer_for(*context, done, {{"from", from}}, bytes);
}

gpuemu_code gpuemu_memory_copy(gpuemu_context* context, void* to, const void* from, size_t bytes,
                               gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  const gpuemu::Status done =
      context->streams->copy(context->stream_of(stream), address_of(to), address_of(from), bytes);
  return answer_for(*context, done, {{"to", to}, {"from", from}}, bytes);
}

gpuemu_code gpuemu_memory_fill(gpuemu_context* context, void* to, uint8_t value, size_t bytes,
                               gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  const gpuemu::Status done = context->streams->fill(context->stream_of(stream), address_of(to),
                                                     static_cast<std::byte>(value), bytes);
  return answer_for(*context, done, {{"to", to}}, bytes);
}

}  // extern "C"
