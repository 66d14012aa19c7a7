#include "bindings/libcuda/memory/transfer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>

#include "bindings/libcuda/memory/graph_memory.h"
#include "bindings/libcuda/memory/memory.h"
#include "bindings/libcuda/memory/reach.h"

namespace gpuemu::libcuda {
namespace {

bool is_pinned(Process& driver, uint64_t address) {
  return driver.allocations.holding(address) != nullptr;
}

/// Uploads from a copy of the source, because the host may change pageable memory after the call.
Status upload_staged(const Place& place, uint64_t to, std::span<const std::byte> from) {
  auto staged = std::make_shared<std::vector<std::byte>>(from.begin(), from.end());
  GPUEMU_TRY(place.slot->streams->upload(place.stream, to, *staged));
  return place.slot->streams->host_call(place.stream, [staged] {});
}

/// Returns true if the host can read memory at this address without a call.
bool is_of_host(Process& driver, const End& end) {
  if (end.of_host) return true;
  const auto known = driver.allocations.holding(end.address);
  return known != nullptr && is_host(known->kind);
}

/// Records undefined values for this call when a copy in a stream reaches the host.
UndefinedCopied undefined_copied(Process& driver, const Place& place, const Transfer& transfer) {
  if (!driver.settings.checks.has(DeviceCheck::Init)) return {};
  return [&driver, device = place.device,
          site = call_site(transfer.call)](const std::vector<UndefinedBytes>& bytes) {
    driver.recorder.undefined().host_gets(device, bytes, *site, driver.recorder);
  };
}

Status issue(Process& driver, const Place& place, End to, End from, uint64_t bytes,
             const Transfer& transfer) {
  const bool waits = transfer.waits;
  Streams& streams = *place.slot->streams;
  const UndefinedCopied undefined = !from.of_host && is_of_host(driver, to)
                                        ? undefined_copied(driver, place, transfer)
                                        : UndefinedCopied{};
  if (to.of_host && from.of_host) {
    return streams.host_call(
        place.stream, [=] { std::memmove(bytes_at(to.address), bytes_at(from.address), bytes); });
  }
  if (to.of_host) {
    return streams.download(place.stream, {bytes_at(to.address), bytes}, from.address, undefined);
  }
  if (!from.of_host) {
    return streams.copy(place.stream, to.address, from.address, bytes, undefined);
  }
  const std::span<const std::byte> source(bytes_at(from.address), bytes);
  const bool stays = waits || is_pinned(driver, from.address) || place.is_of_graph;
  return stays ? streams.upload(place.stream, to.address, source)
               : upload_staged(place, to.address, source);
}

/// Copies between host and device without a stream, for synchronous copies on the legacy stream.
Status copy_now(const Place& place, End to, End from, uint64_t bytes) {
  Device& device = *place.slot->device;
  if (to.of_host) return device.download({bytes_at(to.address), bytes}, from.address);
  return device.upload(to.address, {bytes_at(from.address), bytes});
}

/// Describes a copy of consecutive bytes as a copy of one row.
Copy3d row_copy(End to, End from, uint64_t bytes) {
  const auto describe = [&](const End& given) {
    Copy3d::End end{};
    end.type = given.of_host ? MemoryType::Host : MemoryType::Device;
    if (given.of_host) {
      end.host = bytes_at(given.address);
    } else {
      end.device = given.address;
    }
    return end;
  };
  Copy3d what{};
  what.from = describe(from);
  what.to = describe(to);
  what.width_bytes = bytes;
  what.height = what.depth = 1;
  return what;
}

int issue_fill(Process& driver, const Place& place, uint64_t address, unsigned value,
               unsigned bytes, uint64_t count) {
  Streams& streams = *place.slot->streams;
  if (bytes == 1) {
    return code_in_stream(
        driver, place, streams.fill(place.stream, address, static_cast<std::byte>(value), count));
  }
  auto pattern = std::make_shared<std::vector<std::byte>>(count * bytes);
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(pattern->data() + i * bytes, &value, bytes);
  }
  const Status issued = streams.upload(place.stream, address, *pattern);
  if (!issued) return code_in_stream(driver, place, issued);
  return code_in_stream(driver, place, streams.host_call(place.stream, [pattern] {}));
}

int wait(const Place& place) {
  const Status waited = place.slot->streams->synchronize(place.stream);
  if (!waited && waited.error().code != ErrorCode::Launch) return code_of(waited);
  process()->races.host_waited_for(line_of(place));
  return take_fault(*place.slot, place.stream);
}

}  // namespace

void add_ranges(Process& driver, End to, End from, uint64_t bytes,
                std::vector<TouchedRange>& ranges) {
  const auto add = [&](const End& end, Touch touch) {
    if (end.of_host && !is_pinned(driver, end.address)) return;
    ranges.push_back({end.address, bytes, touch});
  };
  add(from, Touch::Read);
  add(to, Touch::Write);
}

void note_transfer(Process& driver, const Place& place, const Transfer& transfer,
                   const std::vector<TouchedRange>& ranges) {
  if (place.is_of_graph) return;
  driver.races.transfer(line_of(place), transfer.call, ranges);
}

void let_finish(Process& driver, const Place& place) {
  struct Done {
    std::mutex mutex;
    std::condition_variable told;
    bool is_told = false;
  };
  constexpr auto kPatience = std::chrono::seconds(2);
  constexpr int kTriesMax = 3;
  // Waits in a row that timed out; more would only delay the program.
  static std::atomic<int> vain = 0;
  if (vain >= kTriesMax || is_captured(place)) return;
  {
    const std::lock_guard lock(driver.listening_mutex);
    if (!driver.listening.empty()) return;
  }
  Streams& streams = *place.slot->streams;
  if (driver.settings.schedule_seed != 0) {
    // Work is done when the program waits for it.
    (void)code_of(streams.synchronize(place.stream));
    return;
  }
  const auto done = std::make_shared<Done>();
  const Status issued = streams.host_call(place.stream, [done] {
    const std::lock_guard lock(done->mutex);
    done->is_told = true;
    done->told.notify_one();
  });
  if (!issued) return;
  std::unique_lock lock(done->mutex);
  vain = done->told.wait_for(lock, kPatience, [&] { return done->is_told; }) ? 0 : vain + 1;
}

void finish_if_shared(Process& driver, const Place& place,
                      const std::vector<TouchedRange>& ranges) {
  if (place.is_of_graph || !driver.races.follows_host()) return;
  const bool is_shared = std::ranges::any_of(ranges, [&](const TouchedRange& one) {
    const auto in = driver.allocations.holding(one.address);
    return in != nullptr && is_host(in->kind);
  });
  if (is_shared) let_finish(driver, place);
}

void host_gets(Process& driver, const Place& place, uint64_t address, uint64_t bytes,
               const char* call) {
  const std::vector<UndefinedBytes> found = place.slot->device->undefined_in(address, bytes);
  if (found.empty()) return;
  driver.recorder.undefined().host_gets(place.device, found, *call_site(call), driver.recorder);
}

End any_end(uint64_t address) {
  Process& driver = *process();
  if (const auto known = driver.allocations.holding(address)) {
    return known->kind == MemoryKind::Registered ? host_end(bytes_at(address))
                                                 : device_end(address);
  }
  if (driver.allocations.freed_holding(address) != nullptr) return device_end(address);
  if (graph_memory_holding(address) != nullptr) return device_end(address);
  const bool is_variable = std::ranges::any_of(
      driver.devices, [&](const auto& slot) { return slot->device->download({}, address).ok(); });
  return {!is_variable, address};
}

int capture_work(const Place& place, NodeWork work, const char* call) {
  auto site = call_site(call);
  const std::lock_guard lock(graphs_mutex());
  Captured& captured = place.state->captured;
  // Another thread may have ended the capture meanwhile.
  if (captured.capture == nullptr || captured.capture->is_invalid) {
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  add_node(captured, std::move(work), std::move(site));
  return CUDA_SUCCESS;
}

bool began_capture(const StreamState& stream) {
  const std::lock_guard lock(graphs_mutex());
  return stream.captured.capture != nullptr && stream.captured.is_origin;
}

void invalidate_capture(StreamState& stream) {
  const std::lock_guard lock(graphs_mutex());
  if (stream.captured.capture != nullptr) stream.captured.capture->is_invalid = true;
}

int refuse_capture(Process& driver, const Place& place) {
  if (is_captured(place)) {
    invalidate_capture(*place.state);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (place.stream != kDefaultStream) return CUDA_SUCCESS;
  int code = CUDA_SUCCESS;
  for (const Stream one : driver.streams.which([&](const StreamState& stream) {
         return stream.captures && stream.device == place.device &&
                (stream.flags & kStreamNonBlocking) == 0;
       })) {
    if (const auto stream = driver.streams.find(one)) invalidate_capture(*stream);
    code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return code;
}

int code_in_stream(Process& driver, const Place& place, const Status& status) {
  if (status) return CUDA_SUCCESS;
  if (status.error().code == ErrorCode::InvalidArgument) {
    const int captured = refuse_implicit(driver, place);
    if (captured != CUDA_SUCCESS) return captured;
  }
  return code_of(status);
}

int copy(const Place& place, End to, End from, uint64_t bytes, Transfer transfer) {
  if (place.code != CUDA_SUCCESS) return place.code;
  if (bytes == 0) return CUDA_SUCCESS;
  Process& driver = *process();
  if (to.address == 0 || from.address == 0) return CUDA_ERROR_INVALID_VALUE;
  if (transfer.waits || place.stream == kDefaultStream) {
    if (const int code = refuse_capture(driver, place); code != CUDA_SUCCESS) return code;
  }
  const auto checked = [&](const End& end) {
    return end.of_host ? check_host_range(driver, end.address, bytes, transfer.call)
                       : check_device_range(driver, end.address, bytes, transfer.call);
  };
  const bool fits = checked(to) && checked(from);
  if (!fits) return CUDA_ERROR_INVALID_VALUE;
  if (is_captured(place)) {
    return capture_work(place, CopyWork{row_copy(to, from, bytes), place.context}, transfer.call);
  }
  const bool is_noted = !transfer.is_part && driver.races.is_on();
  std::vector<TouchedRange> ranges;
  if (is_noted) {
    add_ranges(driver, to, from, bytes, ranges);
    note_transfer(driver, place, transfer, ranges);
  }
  if (device_of(driver, place, to) != place.device ||
      device_of(driver, place, from) != place.device) {
    return copy_across(driver, place, to, from, bytes, transfer);
  }
  const bool crosses = to.of_host != from.of_host;
  if (transfer.waits && crosses && place.stream == kDefaultStream) {
    const Status done = copy_now(place, to, from, bytes);
    if (!done) return code_of(done);
    if (to.of_host) host_gets(driver, place, from.address, bytes, transfer.call);
    driver.races.host_waited_for(line_of(place));
    return take_fault(*place.slot, std::nullopt);
  }
  const Status issued = issue(driver, place, to, from, bytes, transfer);
  if (!issued) return code_in_stream(driver, place, issued);
  // A copy within the device never waits; a copy to pageable memory always does.
  const bool pageable = to.of_host && !is_pinned(driver, to.address) && !place.is_of_graph;
  const bool is_host_involved = is_of_host(driver, to) || is_of_host(driver, from);
  const bool waits = (transfer.waits && is_host_involved) || pageable;
  if (waits) return wait(place);
  finish_if_shared(driver, place, ranges);
  return CUDA_SUCCESS;
}

int fill(const Place& place, uint64_t address, unsigned value, unsigned bytes, uint64_t count,
         Transfer transfer) {
  if (place.code != CUDA_SUCCESS) return place.code;
  Process& driver = *process();
  if (address % bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  if (count == 0) return CUDA_SUCCESS;
  if (const int code = refuse_implicit(driver, place); code != CUDA_SUCCESS) return code;
  if (count > ~uint64_t{0} / bytes ||
      !check_device_range(driver, address, count * bytes, transfer.call)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (is_captured(place)) {
    const FillNode what{address, 0, value, bytes, count, 1};
    return capture_work(place, FillWork{what, place.context}, transfer.call);
  }
  const std::vector<TouchedRange> ranges = {{address, count * bytes, Touch::Write}};
  if (!transfer.is_part && driver.races.is_on()) note_transfer(driver, place, transfer, ranges);
  if (const int device = device_of(driver, place, device_end(address)); device != place.device) {
    return fill_across(driver, place, device, address, value, bytes, count);
  }
  const int issued = issue_fill(driver, place, address, value, bytes, count);
  // The host may read its own memory after the call.
  const bool waits = transfer.waits && is_of_host(driver, device_end(address));
  if (issued == CUDA_SUCCESS && waits) return wait(place);
  finish_if_shared(driver, place, ranges);
  return issued;
}

}  // namespace gpuemu::libcuda
