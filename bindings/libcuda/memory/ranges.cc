#include "bindings/libcuda/memory/ranges.h"

#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

constexpr const char* kEnd = "gpuemu_range_end";

struct Range {
  uint64_t bytes = 0;
  std::string name;
  std::shared_ptr<const CallSite> made;
  bool is_applied = false;
};

struct Ranges {
  std::mutex mutex;
  std::map<uint64_t, Range> all;
  uint64_t number = 0;
};
/// Never destroyed, and may be used before cuInit.
Ranges& ranges() {
  static Ranges* const kRanges = new Ranges;
  return *kRanges;
}

bool overlaps(const std::map<uint64_t, Range>& all, uint64_t address, uint64_t bytes) {
  const auto after = all.lower_bound(address);
  if (after != all.end() && after->first - address < bytes) return true;
  return after != all.begin() && address - std::prev(after)->first < std::prev(after)->second.bytes;
}

/// Calls `work` for the devices whose kernels access the allocation by its own address.
template <typename Work>
void each_device(Process& driver, const Allocation& of, const Work& work) {
  for (size_t i = 0; i < driver.devices.size(); ++i) {
    const bool is_everywhere = is_host(of.kind) && !of.is_variable;
    if (is_everywhere || static_cast<int>(i) == of.device) work(*driver.devices[i]->device);
  }
}

bool apply(Process& driver, const Allocation& in, uint64_t address, Range& range) {
  if (range.bytes > in.bytes - (address - in.address)) return false;
  bool is_done = true;
  each_device(driver, in, [&](Device& device) {
    is_done = bool(device.divide(address, range.bytes, range.name)) && is_done;
  });
  if (!is_done) return false;
  Allocation part = in;
  part.address = address;
  part.bytes = range.bytes;
  part.name = range.name;
  part.made = range.made;
  driver.allocations.add_part(std::move(part));
  range.is_applied = true;
  return true;
}

void take_back(Process& driver, const Allocation& in, uint64_t address) {
  each_device(driver, in, [&](Device& device) { (void)code_of(device.undivide(address)); });
  driver.allocations.remove_part(address, call_site(kEnd));
}

int begin_range(uint64_t address, uint64_t bytes, const char* name) {
  constexpr const char* kCall = "gpuemu_range_begin";
  const CallScope scope(kCall);
  if (address == 0 || bytes == 0 || address + bytes < address) return CUDA_ERROR_INVALID_VALUE;
  Ranges& known = ranges();
  const std::lock_guard lock(known.mutex);
  if (overlaps(known.all, address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  Range made;
  made.bytes = bytes;
  made.name = name != nullptr ? name : fmt::format("range {}", ++known.number);
  made.made = call_site(kCall);
  if (Process* const driver = process()) {
    const auto in = driver->allocations.holding(address);
    if (in != nullptr && !apply(*driver, *in, address, made)) return CUDA_ERROR_INVALID_VALUE;
  }
  known.all[address] = std::move(made);
  return CUDA_SUCCESS;
}

int end_range(uint64_t address) {
  const CallScope scope(kEnd);
  Ranges& known = ranges();
  const std::lock_guard lock(known.mutex);
  const auto found = known.all.find(address);
  if (found == known.all.end()) return CUDA_ERROR_INVALID_VALUE;
  Process* const driver = process();
  if (driver != nullptr && found->second.is_applied) {
    if (const auto part = driver->allocations.part_at(address)) take_back(*driver, *part, address);
  }
  known.all.erase(found);
  return CUDA_SUCCESS;
}

}  // namespace

void apply_ranges(Process& driver, const Allocation& made) {
  Ranges& known = ranges();
  const std::lock_guard lock(known.mutex);
  const auto end = known.all.lower_bound(made.address + made.bytes);
  for (auto one = known.all.lower_bound(made.address); one != end; ++one) {
    if (!one->second.is_applied) (void)apply(driver, made, one->first, one->second);
  }
}

void end_ranges_of(Process& driver, const Allocation& gone) {
  // Memory that is registered again has the same parts.
  if (gone.kind == MemoryKind::Registered) return;
  Ranges& known = ranges();
  const std::lock_guard lock(known.mutex);
  const auto end = known.all.lower_bound(gone.address + gone.bytes);
  for (auto one = known.all.lower_bound(gone.address); one != end;) {
    if (one->second.is_applied) take_back(driver, gone, one->first);
    one = known.all.erase(one);
  }
}

}  // namespace gpuemu::libcuda

GPUEMU_DRIVER_API int gpuemu_driver_range_begin(const void* pointer, size_t bytes,
                                                const char* name) {
  return gpuemu::libcuda::begin_range(reinterpret_cast<uint64_t>(pointer), bytes, name);
}

GPUEMU_DRIVER_API int gpuemu_driver_range_end(const void* pointer) {
  return gpuemu::libcuda::end_range(reinterpret_cast<uint64_t>(pointer));
}
